//! Runs a program in a root of its own: namespaces, read-only parts of the host, limits.
//!
//! The root is the task's directory. What the program needs of the host is bound into it in the
//! mount namespace of the task, so a start costs the same however large `/usr` is, and nothing of
//! it is left when the last process of the task has ended.

mod power;
mod root;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use sandbox::{Hierarchies, Limits, isolation};
use serde_json::{Map, Value};

use crate::Driver;
use crate::config::{self, Key, Kind, key, required};
use crate::id_ranges::IdRanges;
use crate::plan::{LaunchPlan, MemoryMax, TaskResources};
use crate::supervisor::{Failure, Supervision, TaskIsolation, TaskLaunch, task_cgroup_name};
use crate::task::{
    Capabilities, FilesystemIsolation, Fingerprint, RecoverError, Recovered, StartError, Started,
    TaskHandle,
};
use crate::user::{DeniedIds, LAUNCH_FAILED};

const NAME: &str = "exec";
const SUPERVISION: Supervision = Supervision(NAME);
/// Who isolated tasks run as that name no user.
pub const ISOLATED_USER: &str = "nobody";
/// Where a bare name is looked for after the task's own directories.
const SEARCHED: [&str; 5] = ["/local", "/", "/usr/local/bin", "/usr/bin", "/bin"];

const KEYS: [Key; 7] = [
    required("command", Kind::Text),
    key("args", Kind::Texts),
    key("pid_mode", Kind::Text),
    key("ipc_mode", Kind::Text),
    key("cap_add", Kind::Texts),
    key("cap_drop", Kind::Texts),
    key("work_dir", Kind::Text),
];

/// What the agent's configuration says.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// Paths of the host and where they are in the root; none for the usual ones.
    pub chroot_env: Option<BTreeMap<String, String>>,
    /// The directories of all allocations, which no task gets to see.
    pub alloc_root: PathBuf,
    pub share_pids: bool,
    pub share_ipc: bool,
    pub allowed_capabilities: sandbox::Capabilities,
    pub denied_ids: DeniedIds,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            chroot_env: None,
            alloc_root: PathBuf::new(),
            share_pids: false,
            share_ipc: false,
            allowed_capabilities: power::default_allowed_capabilities(),
            denied_ids: DeniedIds::default(),
        }
    }
}

/// The plugin's settings as they are written.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExecTexts<'a> {
    pub default_pid_mode: Option<&'a str>,
    pub default_ipc_mode: Option<&'a str>,
    pub allow_caps: Option<&'a [String]>,
    pub denied_host_uids: &'a str,
    pub denied_host_gids: &'a str,
}

impl ExecOptions {
    /// The error names the setting that makes no sense.
    pub fn read(texts: &ExecTexts<'_>) -> Result<Self, String> {
        let shares = |name: &str, mode: Option<&str>| match mode {
            None | Some("private" | "") => Ok(false),
            Some("host") => Ok(true),
            Some(other) => Err(format!("{name} must be \"private\" or \"host\", got \"{other}\"")),
        };
        let capability = |name: &String| {
            sandbox::Capabilities::named(name)
                .ok_or_else(|| format!("allow_caps: there is no capability \"{name}\""))
        };
        let allowed = texts.allow_caps.map(|names| {
            names.iter().map(capability).try_fold(sandbox::Capabilities::NONE, |set, named| {
                named.map(|named| set.with(named))
            })
        });
        Ok(Self {
            chroot_env: None,
            alloc_root: PathBuf::new(),
            share_pids: shares("default_pid_mode", texts.default_pid_mode)?,
            share_ipc: shares("default_ipc_mode", texts.default_ipc_mode)?,
            allowed_capabilities: allowed
                .transpose()?
                .unwrap_or_else(power::default_allowed_capabilities),
            denied_ids: DeniedIds {
                uids: IdRanges::parse(texts.denied_host_uids)?,
                gids: IdRanges::parse(texts.denied_host_gids)?,
            },
        })
    }
}

#[derive(Debug)]
pub struct Exec {
    options: ExecOptions,
}

impl Exec {
    pub fn new(options: ExecOptions) -> Self {
        Self { options }
    }

    fn prepare(&self, plan: LaunchPlan) -> Result<TaskLaunch, StartError> {
        let config = &plan.config;
        self.check_config(config).map_err(|problems| StartError::fatal(problems.join("; ")))?;
        let command = config::text(config, "command").unwrap_or_default();
        let args = config::texts(config, "args").unwrap_or_default();
        let power =
            power::wanted(config, self.options.allowed_capabilities).map_err(StartError::fatal)?;
        let asked_user = plan.user.as_deref().filter(|name| !name.is_empty());
        let user = self.options.denied_ids.user(asked_user.unwrap_or(ISOLATED_USER))?;
        let mut env = plan.env;
        if let Some(name) = asked_user {
            env.insert("USER".to_owned(), name.to_owned());
            env.insert("LOGNAME".to_owned(), name.to_owned());
            env.insert("HOME".to_owned(), user.home.clone());
        }
        let mounts = root::furnish(&self.options, &plan.task_dir, &plan.alloc_dir)
            .map_err(|problem| StartError::fatal(format!("{LAUNCH_FAILED} {problem}")))?;
        let share = |key: &str, by_default: bool| {
            config::text(config, key).map_or(by_default, |mode| mode == "host")
        };
        let isolation = TaskIsolation {
            root: root::bytes(&plan.task_dir),
            mounts,
            private_pids: !share("pid_mode", self.options.share_pids),
            private_ipc: !share("ipc_mode", self.options.share_ipc),
            capabilities_most: power.most.0,
            capabilities_held: power.held.0,
        };
        let directory = config::text(config, "work_dir").filter(|text| !text.is_empty());
        Ok(TaskLaunch {
            cgroup_name: task_cgroup_name(&plan.alloc_id, &plan.task_name),
            node_id: plan.node_id,
            cpu_shares: plan.resources.cpu_shares,
            limits: Some(limits(&plan.resources)),
            programs: candidates(&command),
            // The first is replaced by the path at which the program is found.
            argv: [command].into_iter().chain(args).collect(),
            env,
            directory: directory.map_or_else(|| "/".into(), PathBuf::from),
            isolation: Some(isolation),
            user: Some(user),
            oom_score_adj: None,
            state_dir: plan.state_dir,
            logs: plan.logs,
        })
    }
}

/// Paths in the task's root.
fn candidates(command: &str) -> Vec<PathBuf> {
    if command.starts_with('/') {
        return vec![command.into()];
    }
    SEARCHED.iter().map(|folder| Path::new(folder).join(command)).collect()
}

fn limits(resources: &TaskResources) -> Limits {
    let memory_bytes = resources.memory_mb << 20;
    Limits {
        memory_bytes,
        memory_bytes_max: match resources.memory_max {
            MemoryMax::Same => Some(memory_bytes),
            MemoryMax::Mb(most) => Some(most << 20),
            MemoryMax::Unlimited => None,
        },
        processes_max: processes_max(),
    }
}

/// No task may use up the machine's process numbers, without which nobody can log in to end it.
fn processes_max() -> u64 {
    const USUAL: u64 = 32_768;
    let text = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    text.trim().parse().unwrap_or(USUAL) / 2
}

#[async_trait]
impl Driver for Exec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            send_signals: true,
            exec: false,
            filesystem_isolation: FilesystemIsolation::Chroot,
            network_modes: &["host", "group"],
        }
    }

    fn check_config(&self, config: &Map<String, Value>) -> Result<(), Vec<String>> {
        config::check(&KEYS, config)?;
        let mut problems = Vec::new();
        for key in ["pid_mode", "ipc_mode"] {
            if let Some(mode) = config::text(config, key)
                && !["private", "host"].contains(&mode.as_str())
            {
                problems.push(format!("{key} must be \"private\" or \"host\", got \"{mode}\""));
            }
        }
        if let Some(directory) = config::text(config, "work_dir")
            && !directory.is_empty()
            && !directory.starts_with('/')
        {
            problems.push(format!("work_dir must be an absolute path, not \"{directory}\""));
        }
        problems.extend(power::wanted(config, self.options.allowed_capabilities).err());
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn fingerprint(&self) -> Fingerprint {
        let missing = Hierarchies::detect().missing_controllers();
        let reason = match isolation::unavailable() {
            Some(reason) => Some(reason.to_owned()),
            None if missing.is_empty() => None,
            None => Some(format!("cgroup controllers are missing: {}", missing.join(", "))),
        };
        match reason {
            None => Fingerprint::by_setting(NAME, true),
            Some(description) => {
                Fingerprint { description, ..Fingerprint::by_setting(NAME, false) }
            }
        }
    }

    fn intend(&self, plan: &LaunchPlan) -> Option<TaskHandle> {
        SUPERVISION.intend(plan)
    }

    async fn start(&self, plan: LaunchPlan) -> Result<Started, StartError> {
        let this = Self::new(self.options.clone());
        let command = config::text(&plan.config, "command").unwrap_or_default();
        let task_dir = plan.task_dir.clone();
        let failed = move |failure: Failure| launch_failed(failure, &command, &task_dir);
        SUPERVISION.start(move || this.prepare(plan), failed).await
    }

    async fn recover(&self, handle: &TaskHandle) -> Result<Recovered, RecoverError> {
        SUPERVISION.recover(handle).await
    }
}

fn launch_failed(failure: Failure, command: &str, task_dir: &Path) -> StartError {
    match failure.step {
        Some(sandbox::SpawnStep::FindProgram) => StartError::fatal(format!(
            "{LAUNCH_FAILED} file {command} not found under path {}",
            task_dir.display()
        )),
        _ => StartError::recoverable(format!("{LAUNCH_FAILED} {}", failure.message)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mistakes_in_the_configuration_are_named() {
        let driver = Exec::new(ExecOptions::default());
        let check = |config: Value| driver.check_config(config.as_object().unwrap());
        check(json!({"command": "x", "pid_mode": "host", "work_dir": "/tmp"})).unwrap();
        let wrong = json!({"command": "x", "pid_mode": "other", "work_dir": "tmp",
                           "cap_add": ["sys_admin"]});
        let problems = check(wrong).unwrap_err();
        assert_eq!(
            problems,
            [
                "pid_mode must be \"private\" or \"host\", got \"other\"",
                "work_dir must be an absolute path, not \"tmp\"",
                "driver does not allow the following capabilities: sys_admin",
            ]
        );
    }

    #[test]
    fn settings_of_the_node_are_read() {
        let caps = ["net_raw".to_owned()];
        let texts = ExecTexts {
            default_pid_mode: Some("host"),
            allow_caps: Some(&caps),
            denied_host_uids: "0",
            ..ExecTexts::default()
        };
        let options = ExecOptions::read(&texts).unwrap();
        assert!(options.share_pids && !options.share_ipc && options.denied_ids.uids.contains(0));
        assert_eq!(options.allowed_capabilities.names(), ["net_raw"]);
        let wrong = ExecTexts { default_ipc_mode: Some("x"), ..ExecTexts::default() };
        let problem = ExecOptions::read(&wrong).unwrap_err();
        assert_eq!(problem, "default_ipc_mode must be \"private\" or \"host\", got \"x\"");
    }

    #[test]
    fn a_bare_name_is_looked_for_in_the_documented_order() {
        let paths: Vec<String> =
            candidates("a/b").iter().map(|path| path.display().to_string()).collect();
        assert_eq!(paths, ["/local/a/b", "/a/b", "/usr/local/bin/a/b", "/usr/bin/a/b", "/bin/a/b"]);
        assert_eq!(candidates("/bin/sh"), [PathBuf::from("/bin/sh")]);
    }
}
