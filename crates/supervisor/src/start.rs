//! Starts the task: logs, pipes, listening socket, cgroup, process.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::pipe::{PipeFlags, pipe_with};
use sandbox::isolation::kernel_mounts;
use sandbox::{
    Capabilities, Cgroup, Hierarchies, Isolation, Mount, Power, ProcessId, Program, Spawn,
    SpawnError,
};
use supervisor::protocol::{Launch, LaunchCgroup, LaunchIsolation, LaunchMount, Reply, Running};
use supervisor::{RotatingLog, SOCKET_FILE};

/// What a task's process gets, as everywhere.
const TASK_UMASK: u32 = 0o022;
/// Nobody but the owner may connect to the socket.
const OWN_UMASK: u32 = 0o077;
const SIGKILL: i32 = 9;

/// A running task with everything that belongs to it.
pub(crate) struct Task {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
    pub(crate) running: Running,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    pub(crate) listener: UnixListener,
    pub(crate) state_directory: PathBuf,
}

/// One output of the task: the pipe until its end, and where it goes.
pub(crate) struct Stream {
    pub(crate) pipe: Option<OwnedFd>,
    pub(crate) log: RotatingLog,
}

/// An error is the reply to the agent.
pub(crate) fn start(launch: &Launch) -> Result<Task, Reply> {
    let state_directory = path(&launch.state_directory);
    let logs_directory = path(&launch.logs_directory);
    rustix::process::umask(Mode::from_raw_mode(TASK_UMASK));
    let open_log = |name: &str| {
        RotatingLog::open(&logs_directory, name, launch.log_limits).map_err(failed("open the log"))
    };
    let (stdout_log, stderr_log) = (open_log(&launch.stdout_name)?, open_log(&launch.stderr_name)?);
    rustix::process::umask(Mode::from_raw_mode(OWN_UMASK));
    let listener = listen(&state_directory).map_err(failed("listen in the state directory"))?;
    // Later log files get the rights of the first.
    rustix::process::umask(Mode::from_raw_mode(TASK_UMASK));
    let (stdout, stdout_writer) = pipe().map_err(failed("create a pipe"))?;
    let (stderr, stderr_writer) = pipe().map_err(failed("create a pipe"))?;
    let cgroup = launch
        .cgroup
        .as_ref()
        .map(|cgroup| Cgroup::named(&trees_of(cgroup), &cgroup.node_id, &cgroup.name));
    let placement = cgroup
        .as_ref()
        .map(Cgroup::placement)
        .transpose()
        .map_err(|error| failed("open the cgroup")(io::Error::other(error)))?;
    let programs = texts(&launch.programs)?;
    let isolation = launch.isolation.as_ref().map(isolation).transpose()?;
    let directory = text(&launch.directory)?;
    let argv = texts(&launch.argv)?;
    let env = texts(&launch.env)?;
    let child = Spawn {
        program: match (&isolation, programs.first()) {
            (None, Some(program)) => Program::Path(program),
            _ => Program::FirstOf(&programs),
        },
        argv: &argv,
        env: &env,
        // Standard output of this process is /dev/null.
        descriptors: &[std::io::stdout().as_fd(), stdout_writer.as_fd(), stderr_writer.as_fd()],
        directory: Some(&directory),
        isolation: isolation.as_ref(),
        power: launch.isolation.as_ref().map(|wanted| Power {
            most: Capabilities(wanted.capabilities_most),
            held: Capabilities(wanted.capabilities_held),
        }),
        user: launch.user.as_ref().map(|user| sandbox::Credentials {
            uid: user.uid,
            gid: user.gid,
            groups: &user.groups,
        }),
        umask: TASK_UMASK,
        oom_score_adj: launch.oom_score_adj,
        parent_death_signal: Some(SIGKILL),
        placement: placement.as_ref(),
    }
    .start()
    .map_err(|error| spawn_failed(&error))?;
    let running = identities(child.pid()).map_err(failed("read the process's identity"))?;
    Ok(Task {
        pid: child.pid(),
        pidfd: child.into_pidfd(),
        running,
        cgroup,
        stdout: Stream { pipe: Some(stdout), log: stdout_log },
        stderr: Stream { pipe: Some(stderr), log: stderr_log },
        listener,
        state_directory,
    })
}

fn trees_of(cgroup: &LaunchCgroup) -> Hierarchies {
    let found = Hierarchies::detect();
    if cgroup.has_limits { found } else { found.without_limits() }
}

fn isolation(wanted: &LaunchIsolation) -> Result<Isolation, Reply> {
    let mount = |mount: &LaunchMount| {
        let target = text(&mount.target)?;
        if mount.source.is_empty() {
            return Ok(Mount::Hidden { target });
        }
        Ok(Mount::Bind { source: text(&mount.source)?, target, read_only: mount.read_only })
    };
    let mut mounts = wanted.mounts.iter().map(mount).collect::<Result<Vec<_>, Reply>>()?;
    mounts.extend(kernel_mounts());
    Ok(Isolation {
        root: text(&wanted.root)?,
        mounts,
        private_pids: wanted.private_pids,
        private_ipc: wanted.private_ipc,
    })
}

/// The child has not been waited for, so its pid is its own even if it has ended already.
fn identities(task_pid: u32) -> io::Result<Running> {
    let own = ProcessId::of(std::process::id())?;
    let task = ProcessId::of(task_pid)?;
    Ok(Running {
        supervisor_pid: own.pid,
        supervisor_start_ticks: own.start_ticks,
        task_pid: task.pid,
        task_start_ticks: task.start_ticks,
        boot_id: own.boot_id,
    })
}

/// A socket's path is limited to 107 bytes, so the way goes through an open directory.
fn listen(directory: &Path) -> io::Result<UnixListener> {
    let opened = File::open(directory)?;
    let socket = format!("/proc/self/fd/{}/{SOCKET_FILE}", opened.as_raw_fd());
    let listener = match UnixListener::bind(&socket) {
        // Of an earlier start; the agent has seen to it that nobody listens any more.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            fs::remove_file(&socket)?;
            UnixListener::bind(&socket)?
        }
        other => other?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Only the reading end must not block: the task expects an ordinary pipe.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

fn text(bytes: &[u8]) -> Result<CString, Reply> {
    CString::new(bytes).map_err(|_| {
        failed("use a text with a zero byte")(io::Error::from(rustix::io::Errno::INVAL))
    })
}

fn texts(list: &[Vec<u8>]) -> Result<Vec<CString>, Reply> {
    list.iter().map(|bytes| text(bytes)).collect()
}

fn failed(attempt: &'static str) -> impl Fn(io::Error) -> Reply {
    move |error| Reply::StartFailed {
        step: 0,
        errno: error.raw_os_error().unwrap_or(0),
        message: format!("cannot {attempt}: {error}"),
    }
}

fn spawn_failed(error: &SpawnError) -> Reply {
    Reply::StartFailed {
        step: error.step as u8,
        errno: error.source.raw_os_error().unwrap_or(0),
        message: format!("{error}: {}", error.source),
    }
}
