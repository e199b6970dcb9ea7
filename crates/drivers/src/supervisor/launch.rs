//! Starts a supervisor and its task.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use ::supervisor::protocol::{
    Launch, LaunchCgroup, LaunchIsolation, LaunchUser, Reply, Request, Running, VERSION,
    VERSION_MIN,
};
use ::supervisor::{EXIT_FILE, LogLimits, SOCKET_FILE};
use sandbox::cgroup::SUPERVISORS;
use sandbox::{Cgroup, Limits, Process, Program, Spawn, SpawnStep, User, sealed_program};
use tokio::sync::watch;

use super::connection::{Frames, connected, watch_end};
use super::{
    KILL_LIMIT, Supervised, SupervisedHandle, blocking, files, text_bytes, usable_hierarchies,
};
use crate::plan::LogPlan;
use crate::task::StartError;

/// The program, built by this crate's build script.
static IMAGE: &[u8] = include_bytes!(env!("MUSTER_SUPERVISOR"));
/// How long a start may take in the supervisor; it takes a millisecond.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A task for a supervisor, with everything looked up.
pub(crate) struct TaskLaunch {
    pub(crate) node_id: String,
    pub(crate) cgroup_name: String,
    pub(crate) cpu_shares: u64,
    pub(crate) limits: Option<Limits>,
    /// Where the program may be; without isolation only the first counts.
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) directory: PathBuf,
    pub(crate) isolation: Option<TaskIsolation>,
    pub(crate) user: Option<User>,
    pub(crate) oom_score_adj: Option<i32>,
    pub(crate) state_dir: PathBuf,
    pub(crate) logs: LogPlan,
}

/// As the supervisor takes it; what it needs in the root is there.
pub(crate) type TaskIsolation = LaunchIsolation;

/// A start that did not come about.
#[derive(Debug)]
pub(crate) struct Failure {
    /// None before the process existed.
    pub(crate) step: Option<SpawnStep>,
    pub(crate) message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { step: None, message }
    }
}

/// `look_up` may ask the disk or the network, and runs where that is allowed. `failed` puts a
/// heading to what goes wrong after it.
pub(super) async fn launch(
    look_up: impl FnOnce() -> Result<TaskLaunch, StartError> + Send + 'static,
    failed: impl Fn(Failure) -> StartError + Clone + Send + 'static,
) -> Result<(SupervisedHandle, Supervised), StartError> {
    let of_preparation = failed.clone();
    let starting =
        blocking(move || prepare(look_up()?).map_err(|message| of_preparation(message.into())));
    started(starting.await?).await.map_err(failed)
}

async fn started(mut starting: Starting) -> Result<(SupervisedHandle, Supervised), Failure> {
    let socket = starting.socket.take().expect("just prepared with a socket");
    let mut frames = Frames::new(socket).map_err(text)?;
    let reply = match tokio::time::timeout(START_LIMIT, frames.next()).await {
        Ok(reply) => reply.map_err(|error| format!("the supervisor has ended: {error}"))?,
        Err(_) => {
            return Err(format!("the supervisor has not answered within {START_LIMIT:?}").into());
        }
    };
    match reply {
        Reply::Started(running) => {
            let (handle, ended) = starting.done(running);
            Ok((handle.clone(), connected(frames, handle, ended)))
        }
        Reply::StartFailed { step, message, .. } => {
            Err(Failure { step: SpawnStep::from_number(step), message })
        }
        other => Err(format!("the supervisor said something unexpected: {other:?}").into()),
    }
}

/// A start under way. Dropped before [`Starting::done`], it takes everything back.
struct Starting {
    node_id: String,
    state_dir: PathBuf,
    cgroup: Option<(String, Cgroup)>,
    socket: Option<UnixStream>,
    supervisor: Option<(OwnedFd, watch::Receiver<bool>)>,
}

impl Starting {
    fn done(mut self, running: Running) -> (SupervisedHandle, watch::Receiver<bool>) {
        let (_, ended) = self.supervisor.take().expect("started before it could answer");
        let cgroup_name = self.cgroup.take().map(|(name, _)| name);
        let handle = SupervisedHandle {
            protocol: VERSION,
            supervisor_pid: running.supervisor_pid,
            supervisor_start_ticks: running.supervisor_start_ticks,
            task_pid: running.task_pid,
            task_start_ticks: running.task_start_ticks,
            boot_id: running.boot_id,
            state_dir: std::mem::take(&mut self.state_dir),
            node_id: std::mem::take(&mut self.node_id),
            cgroup_name,
        };
        (handle, ended)
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.state_dir.as_os_str().is_empty() {
            return; // handed over
        }
        if let Some((pidfd, _)) = self.supervisor.take() {
            let process = Process::from_pidfd(pidfd);
            // It may have ended by itself, as after a refused start.
            let _ = process.signal(9);
            let _ = process.wait_end(KILL_LIMIT);
        }
        if let Some((name, cgroup)) = self.cgroup.take()
            && let Err(error) = cgroup.kill_all(KILL_LIMIT).and_then(|()| cgroup.remove())
        {
            tracing::warn!(cgroup = name, error = files::chain(&error), "cgroup left behind");
        }
        if let Err(error) = files::remove_state(&self.state_dir) {
            tracing::warn!(%error, "state directory left behind");
        }
    }
}

/// Everything that may wait for the kernel, up to the request on its way.
fn prepare(launch: TaskLaunch) -> Result<Starting, String> {
    if !create_state_directory(&launch.state_dir).map_err(text)? {
        end_predecessor(&launch)?;
    }
    let mut starting = Starting {
        node_id: launch.node_id.clone(),
        state_dir: launch.state_dir.clone(),
        cgroup: None,
        socket: None,
        supervisor: None,
    };
    let hierarchies = usable_hierarchies();
    let mut supervisors = None;
    if hierarchies.is_none() && launch.limits.is_some() {
        return Err("limits need root and mounted cgroups".to_owned());
    }
    if let Some(on) = hierarchies {
        let trees = if launch.limits.is_some() { on.clone() } else { on.without_limits() };
        let cgroup =
            Cgroup::create(&trees, &launch.node_id, &launch.cgroup_name).map_err(cgroup_text)?;
        let (_, cgroup) = starting.cgroup.insert((launch.cgroup_name.clone(), cgroup));
        if cgroup.pids().is_ok_and(|pids| !pids.is_empty()) {
            cgroup.kill_all(KILL_LIMIT).map_err(cgroup_text)?;
        }
        cgroup.set_cpu_shares(launch.cpu_shares).map_err(cgroup_text)?;
        if let Some(limits) = &launch.limits {
            cgroup.set_limits(limits).map_err(cgroup_text)?;
        }
        let own = Cgroup::create(&on.membership_only(), &launch.node_id, SUPERVISORS);
        supervisors = Some(own.and_then(|group| group.placement()).map_err(cgroup_text)?);
    }
    let (mut socket, other_end) = UnixStream::pair().map_err(text)?;
    let null = null_device().map_err(text)?;
    let image = image().map_err(text)?;
    // The second word is there for people who look at the list of processes.
    let argv = [c"muster-supervisor".to_owned(), c_text(&launch.cgroup_name)?];
    let child = Spawn {
        program: Program::Open(image.as_fd()),
        argv: &argv,
        env: &[],
        descriptors: &[other_end.as_fd(), null.as_fd(), null.as_fd()],
        directory: Some(c"/"),
        isolation: None,
        user: None,
        power: None,
        umask: 0o022,
        oom_score_adj: None,
        parent_death_signal: None,
        placement: supervisors.as_ref(),
    }
    .start()
    .map_err(|error| format!("cannot start the supervisor: {error}: {}", error.source))?;
    drop(other_end);
    let pidfd = child.into_pidfd();
    let watched = pidfd.try_clone().map_err(text)?;
    starting.supervisor = Some((pidfd, watch_end(watched, true)));
    let request = Request::Launch(Box::new(protocol_launch(launch, starting.cgroup.is_some())));
    socket.set_write_timeout(Some(START_LIMIT)).map_err(text)?;
    socket.write_all(&request.encode()).map_err(text)?;
    starting.socket = Some(socket);
    Ok(starting)
}

/// Whether the directory is new.
fn create_state_directory(path: &Path) -> io::Result<bool> {
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    match builder.create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            builder.recursive(true).create(path).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

/// A task of the same name that still runs is ended first: there are never two copies.
fn end_predecessor(launch: &TaskLaunch) -> Result<(), String> {
    if launch.state_dir.join(SOCKET_FILE).exists()
        && let Ok(mut socket) = files::connect(&launch.state_dir)
    {
        tracing::warn!(cgroup = launch.cgroup_name, "ending an earlier copy of the task");
        socket.set_read_timeout(Some(KILL_LIMIT)).map_err(text)?;
        let sent = [Request::Attach { version: VERSION_MIN }, Request::Kill]
            .iter()
            .try_for_each(|request| socket.write_all(&request.encode()));
        // The stream ends when the supervisor does; one that is ending already closes it early.
        if sent.is_ok() {
            let mut buffer = [0; 512];
            while socket.read(&mut buffer).map_err(text)? > 0 {}
        }
    }
    match fs::remove_file(launch.state_dir.join(EXIT_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(text(error)),
        _ => Ok(()),
    }
}

fn protocol_launch(launch: TaskLaunch, has_cgroup: bool) -> Launch {
    let env = launch.env.iter().map(|(name, value)| format!("{name}={value}").into_bytes());
    Launch {
        programs: launch.programs.iter().map(|path| text_bytes(path)).collect(),
        argv: launch.argv.into_iter().map(String::into_bytes).collect(),
        env: env.collect(),
        directory: text_bytes(&launch.directory),
        isolation: launch.isolation,
        user: launch.user.map(|user| LaunchUser {
            uid: user.uid,
            gid: user.gid,
            groups: user.groups,
        }),
        oom_score_adj: launch.oom_score_adj,
        cgroup: has_cgroup.then_some(LaunchCgroup {
            node_id: launch.node_id,
            name: launch.cgroup_name,
            has_limits: launch.limits.is_some(),
        }),
        state_directory: text_bytes(&launch.state_dir),
        logs_directory: text_bytes(&launch.logs.dir),
        stdout_name: launch.logs.stdout,
        stderr_name: launch.logs.stderr,
        log_limits: LogLimits {
            files_max: launch.logs.max_files,
            file_bytes_max: launch.logs.max_file_size_bytes,
        },
    }
}

/// The program in memory, sealed; one for the agent's whole life, shared by all supervisors.
fn image() -> io::Result<&'static OwnedFd> {
    static SEALED: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(sealed) = SEALED.get() {
        return Ok(sealed);
    }
    let sealed = sealed_program("muster-supervisor", IMAGE)?;
    Ok(SEALED.get_or_init(|| sealed))
}

fn null_device() -> io::Result<&'static File> {
    static NULL: OnceLock<File> = OnceLock::new();
    if let Some(null) = NULL.get() {
        return Ok(null);
    }
    let null = File::options().read(true).write(true).open("/dev/null")?;
    Ok(NULL.get_or_init(|| null))
}

fn c_text(value: &str) -> Result<CString, String> {
    CString::new(value).map_err(|_| format!("{value:?} contains a zero byte"))
}

fn text(error: io::Error) -> String {
    error.to_string()
}

fn cgroup_text(error: sandbox::CgroupError) -> String {
    files::chain(&error)
}
