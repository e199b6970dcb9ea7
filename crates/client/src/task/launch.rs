//! Puts together what a driver needs to start a task. Runs where the disk may be waited for.

use std::io::Write;
use std::path::{Component, Path};

use drivers::{FilesystemIsolation, LaunchPlan, LogPlan, MemoryMax, TaskResources};
use model::alloc::{Alloc, AllocatedTask, TaskEvent};
use model::job::{LogConfig, Task, TaskGroup};
use rustix::fs::{Mode, OFlags, openat};
use sandbox::MemoryDir;

use crate::alloc::directory::AllocDir;
use crate::clock;
use crate::shared::Shared;
use crate::task::env::{Sources, TaskPaths, build};
use crate::task::events;
use crate::task::interpolate::Values;

const LOG_FILES: u32 = 10;
const LOG_FILE_MB: u64 = 10;
/// Room for a task's secrets.
const SECRETS_BYTES: u64 = 1 << 20;
const ROOT: &str = "root";

/// The task to prepare, by its place in the group.
pub(crate) struct Wanted<'a> {
    pub(crate) alloc: &'a Alloc,
    pub(crate) group: &'a TaskGroup,
    pub(crate) task: &'a Task,
    pub(crate) index: usize,
    pub(crate) start: u64,
}

/// Makes the directories and the plan; or the event that says why that is not possible.
pub(crate) fn prepare(shared: &Shared, wanted: &Wanted<'_>) -> Result<LaunchPlan, TaskEvent> {
    let task = wanted.task;
    let setup_failure = |problem: String| events::setup_failure(clock::now(), &problem);
    if let Some(block) = unsupported(task) {
        return Err(setup_failure(format!("this agent does not support \"{block}\" blocks yet")));
    }
    let directory = shared.alloc_dir(wanted.alloc);
    directory.build(&task.name).map_err(|error| {
        setup_failure(format!("failed to build task directory for \"{}\": {error}", task.name))
    })?;
    let task_dir = directory.task(&task.name);
    write_payload(wanted, &task_dir).map_err(&setup_failure)?;
    let seen_from_inside = is_isolated(shared, task);
    let (alloc_dir, local, secrets) =
        (directory.shared(), task_dir.join("local"), directory.secrets(&task.name));
    let paths = match seen_from_inside {
        true => TaskPaths {
            alloc: Path::new("/alloc"),
            local: Path::new("/local"),
            secrets: Path::new("/secrets"),
        },
        false => TaskPaths { alloc: &alloc_dir, local: &local, secrets: &secrets },
    };
    let env = build(&Sources {
        alloc: wanted.alloc,
        group: wanted.group,
        task,
        paths,
        node: &shared.facts,
        inherited: &shared.inherited,
    });
    let values = Values { env, node: Some(&shared.facts) };
    let user = Some(values.fill(&task.user)).filter(|user| !user.is_empty());
    let config = driver_config(shared, task, &values)?;
    keep_secrets_in_memory(shared, &directory, task, user.as_deref()).map_err(|error| {
        setup_failure(format!("failed to create the secrets directory: {error}"))
    })?;
    let given = wanted.alloc.resources.tasks.get(&task.name);
    let (max_files, max_file_size_bytes) = log_limits(task.log_config.as_ref());
    Ok(LaunchPlan {
        node_id: shared.node_id.to_string(),
        alloc_id: wanted.alloc.id.to_string(),
        task_name: task.name.clone(),
        config,
        env: values.env,
        user,
        task_dir,
        alloc_dir,
        logs: LogPlan {
            dir: directory.logs(),
            stdout: format!("{}.stdout", task.name),
            stderr: format!("{}.stderr", task.name),
            max_files,
            max_file_size_bytes,
        },
        state_dir: shared.start_dir(wanted.alloc, wanted.index, wanted.start),
        resources: resources(task, given),
    })
}

/// Where the agent may mount. The directory is the task's user's own; a user that is not known is
/// for the driver to report.
fn keep_secrets_in_memory(
    shared: &Shared,
    directory: &AllocDir,
    task: &Task,
    user: Option<&str>,
) -> std::io::Result<()> {
    if sandbox::isolation::unavailable().is_some() {
        return Ok(());
    }
    let by_default = if is_isolated(shared, task) { drivers::ISOLATED_USER } else { ROOT };
    let owner = sandbox::lookup_user(user.unwrap_or(by_default));
    let (uid, gid) = owner.map_or((0, 0), |user| (user.uid, user.gid));
    let node_id = shared.node_id.to_string();
    let wanted = MemoryDir { node_id: &node_id, uid, gid, size_bytes: SECRETS_BYTES };
    directory.keep_secrets_in_memory(&task.name, &wanted)
}

/// Whether the task has a root of its own, in which its directories have other paths.
fn is_isolated(shared: &Shared, task: &Task) -> bool {
    let driver = shared.drivers.get(&task.driver);
    driver.is_some_and(|driver| {
        driver.capabilities().filesystem_isolation != FilesystemIsolation::None
    })
}

fn resources(task: &Task, given: Option<&AllocatedTask>) -> TaskResources {
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let cpu = given.map_or_else(|| task.cpu(), |given| given.cpu.cpu_shares);
    let memory = given.map_or_else(|| task.memory_mb(), |given| given.memory.memory_mb);
    let most = given.map_or(0, |given| given.memory.memory_max_mb);
    TaskResources {
        cpu_shares: positive(cpu),
        memory_mb: positive(memory),
        memory_max: match most {
            ..0 => MemoryMax::Unlimited,
            0 => MemoryMax::Same,
            most => MemoryMax::Mb(positive(most)),
        },
    }
}

/// Files kept, and bytes in each.
pub(crate) fn log_limits(config: Option<&LogConfig>) -> (u32, u64) {
    let files = config.and_then(|logs| logs.max_files).and_then(|n| u32::try_from(n).ok());
    let size = config.and_then(|logs| logs.max_file_size_mb).and_then(|n| u64::try_from(n).ok());
    (files.unwrap_or(LOG_FILES).max(1), size.unwrap_or(LOG_FILE_MB).max(1) << 20)
}

/// A block whose silent absence would surprise: better no task than one without its secrets.
fn unsupported(task: &Task) -> Option<&'static str> {
    let blocks = [
        ("artifact", !task.artifacts.is_empty()),
        ("template", !task.templates.is_empty()),
        ("vault", task.vault.is_some()),
        ("secret", !task.secrets.is_empty()),
        ("volume_mount", !task.volume_mounts.is_empty()),
        ("csi_plugin", task.csi_plugin_config.is_some()),
    ];
    blocks.into_iter().find(|(_, is_used)| *is_used).map(|(name, _)| name)
}

fn driver_config(
    shared: &Shared,
    task: &Task,
    values: &Values<'_>,
) -> Result<serde_json::Map<String, serde_json::Value>, TaskEvent> {
    let refused = |problems: &[String]| {
        let list: String = problems.iter().map(|problem| format!("\t* {problem}\n")).collect();
        let word = if problems.len() == 1 { "error" } else { "errors" };
        let text = format!("{} {word} occurred:\n{list}\n", problems.len());
        events::failed_validation(clock::now(), &text)
    };
    let driver = shared
        .drivers
        .get(&task.driver)
        .ok_or_else(|| refused(&[format!("failed to find driver \"{}\"", task.driver)]))?;
    let mut problems = vec!["failed to parse config: ".to_owned()];
    let filled = task
        .config
        .iter()
        .map(|(key, value)| (key.clone(), values.fill_config(value, &mut problems)))
        .collect();
    if problems.len() > 1 {
        return Err(refused(&problems));
    }
    driver.check_config(&filled).map_err(|problems| refused(&problems))?;
    Ok(filled)
}

/// What a dispatch brought, where the task wants it.
fn write_payload(wanted: &Wanted<'_>, task_dir: &Path) -> Result<(), String> {
    let file = wanted.task.dispatch_payload.as_ref().map(|payload| payload.file.as_str());
    let (Some(file), Some(payload)) = (file, &wanted.alloc.spec.payload) else { return Ok(()) };
    let failed = |error: std::io::Error| format!("failed to write the dispatch payload: {error}");
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if file.is_empty() || !Path::new(file).components().all(plain) {
        return Err(format!("dispatch payload file \"{file}\" is outside of the task's directory"));
    }
    let local = task_dir.join("local");
    let folder = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut parent =
        rustix::fs::open(&local, folder, Mode::empty()).map_err(|error| failed(error.into()))?;
    // Step by step, following no link: an earlier run of the task may have put one there.
    for part in Path::new(file).parent().into_iter().flat_map(Path::components) {
        match rustix::fs::mkdirat(&parent, part.as_os_str(), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
        parent = openat(&parent, part.as_os_str(), folder, Mode::empty())
            .map_err(|error| failed(error.into()))?;
    }
    let name = Path::new(file).file_name().unwrap_or_default();
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = openat(&parent, name, flags, Mode::from_raw_mode(0o755))
        .map_err(|error| failed(error.into()))?;
    std::fs::File::from(opened).write_all(&payload.0).map_err(failed)
}
