//! The agent's side of a supervised task: a connection to the small process that outlives it.
//!
//! [`launch::launch`] starts a supervisor with its task, [`attach::attach`] finds one again; both
//! give a [`Supervised`]. One asynchronous task per connection waits for the supervisor's words;
//! no thread is held and nothing is polled.

mod attach;
mod connection;
mod driver;
mod files;
mod launch;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::supervisor::LogLimits;
use ::supervisor::protocol::{Reply, Request, Running};
use async_trait::async_trait;
use rustix::process::geteuid;
use sandbox::{Cgroup, Hierarchies, ProcessId};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use crate::task::{ExitResult, RunningTask, TaskError, TaskStats};

use attach::{Found, attach};
pub(crate) use driver::Supervision;
use launch::launch;
pub(crate) use launch::{Failure, TaskIsolation, TaskLaunch};

/// Requests under way on one connection; further callers wait.
const CALLS_MAX: usize = 16;
/// How long all processes of a task may take to end once killed.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How long a supervisor may take to answer; it does nothing that takes long.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long a supervisor may linger after its last word.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Stands for a process that is not known yet; no process of a user has this number.
const UNKNOWN_PID: u32 = 0;

/// The name of a task's cgroup, for `sandbox::sweep`.
pub fn task_cgroup_name(alloc_id: &str, task_name: &str) -> String {
    format!("{alloc_id}-{task_name}")
}

/// What is kept on disk about a supervised task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SupervisedHandle {
    /// What the supervisor speaks; it stays when the agent is replaced by a newer one.
    pub(crate) protocol: u32,
    pub(crate) supervisor_pid: u32,
    pub(crate) supervisor_start_ticks: u64,
    pub(crate) task_pid: u32,
    pub(crate) task_start_ticks: u64,
    pub(crate) boot_id: String,
    pub(crate) state_dir: PathBuf,
    pub(crate) node_id: String,
    /// None where the machine or the agent's rights allow no cgroup.
    pub(crate) cgroup_name: Option<String>,
}

impl SupervisedHandle {
    /// The handle of a start that is about to be made: no process is known yet.
    pub(crate) fn intended(node_id: &str, cgroup_name: String, state_dir: PathBuf) -> Self {
        Self {
            protocol: ::supervisor::protocol::VERSION,
            supervisor_pid: UNKNOWN_PID,
            supervisor_start_ticks: 0,
            task_pid: UNKNOWN_PID,
            task_start_ticks: 0,
            boot_id: String::new(),
            state_dir,
            node_id: node_id.to_owned(),
            cgroup_name: usable_hierarchies().map(|_| cgroup_name),
        }
    }

    /// Whether the start was made and its processes are known.
    fn is_confirmed(&self) -> bool {
        self.supervisor_pid != UNKNOWN_PID
    }

    fn confirmed(self, running: Running) -> Self {
        Self {
            supervisor_pid: running.supervisor_pid,
            supervisor_start_ticks: running.supervisor_start_ticks,
            task_pid: running.task_pid,
            task_start_ticks: running.task_start_ticks,
            boot_id: running.boot_id,
            ..self
        }
    }

    fn is_of(&self, running: &Running) -> bool {
        self.supervisor_pid == running.supervisor_pid
            && self.supervisor_start_ticks == running.supervisor_start_ticks
            && self.task_pid == running.task_pid
            && self.task_start_ticks == running.task_start_ticks
            && self.boot_id == running.boot_id
    }

    fn supervisor(&self) -> ProcessId {
        ProcessId {
            pid: self.supervisor_pid,
            start_ticks: self.supervisor_start_ticks,
            boot_id: self.boot_id.clone(),
        }
    }

    fn task(&self) -> ProcessId {
        ProcessId {
            pid: self.task_pid,
            start_ticks: self.task_start_ticks,
            boot_id: self.boot_id.clone(),
        }
    }

    fn cgroup(&self) -> Option<Cgroup> {
        let name = self.cgroup_name.as_ref()?;
        Some(Cgroup::named(hierarchies(), &self.node_id, name))
    }
}

/// The trees of this machine, looked at once.
fn hierarchies() -> &'static Hierarchies {
    static FOUND: OnceLock<Hierarchies> = OnceLock::new();
    FOUND.get_or_init(Hierarchies::detect)
}

/// The trees to use; none for an agent that is not root, whose tasks are then held together by
/// parentage alone.
fn usable_hierarchies() -> Option<&'static Hierarchies> {
    (geteuid().is_root() && !hierarchies().is_empty()).then(hierarchies)
}

/// A task with a supervisor. Dropping it closes the connection and nothing else.
pub(crate) struct Supervised {
    handle: Arc<SupervisedHandle>,
    calls: mpsc::Sender<Call>,
    exit: watch::Receiver<Option<ExitResult>>,
    supervisor_ended: watch::Receiver<bool>,
}

/// A request with the place for its answer, if it has one.
struct Call {
    request: Request,
    answer: Option<oneshot::Sender<Reply>>,
}

impl Supervised {
    async fn ask(&self, request: Request) -> Result<Reply, TaskError> {
        let (answer, answered) = oneshot::channel();
        let call = Call { request, answer: Some(answer) };
        let asked = async {
            self.calls.send(call).await.map_err(|_| TaskError::Ended)?;
            answered.await.map_err(|_| TaskError::Ended)
        };
        match tokio::time::timeout(ANSWER_LIMIT, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(TaskError::Io("the supervisor does not answer".to_owned())),
        }
    }

    async fn wait_limited(&self, limit: Duration) -> Option<ExitResult> {
        tokio::time::timeout(limit, self.wait()).await.ok()
    }

    /// Has the supervisor end the task, or ends it from here if that does not help.
    async fn kill(&self) -> Result<ExitResult, TaskError> {
        // A connection that has ended will report the task's end without this, and one that takes
        // no more is dealt with below.
        let call = self.calls.send(Call { request: Request::Kill, answer: None });
        let _ = tokio::time::timeout(ANSWER_LIMIT, call).await;
        if let Some(result) = self.wait_limited(KILL_LIMIT).await {
            return Ok(result);
        }
        // The supervisor hangs. Without it the connection ends, which is followed up as a loss.
        if let Ok(Some(process)) = self.handle.supervisor().open() {
            let _ = process.signal(9);
        }
        self.wait_limited(KILL_LIMIT).await.ok_or(TaskError::StillAlive(KILL_LIMIT * 2))
    }

    async fn wait_supervisor_end(&self) {
        let mut ended = self.supervisor_ended.clone();
        let waited = tokio::time::timeout(END_LIMIT, ended.wait_for(|ended| *ended)).await;
        if waited.is_err()
            && let Ok(Some(process)) = self.handle.supervisor().open()
        {
            tracing::warn!(pid = self.handle.supervisor_pid, "killed a supervisor that lingered");
            let _ = process.signal(9);
        }
    }
}

#[async_trait]
impl RunningTask for Supervised {
    async fn wait(&self) -> ExitResult {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await.map(|result| result.clone()) {
            Ok(Some(result)) => result,
            // The runtime is shutting down; nobody acts on this answer.
            _ => files::lost("the agent is shutting down"),
        }
    }

    async fn signal(&self, number: i32) -> Result<(), TaskError> {
        match self.ask(Request::Signal { number }).await? {
            Reply::Signalled { errno: 0 } => Ok(()),
            Reply::Signalled { errno } if errno == rustix::io::Errno::SRCH.raw_os_error() => {
                Err(TaskError::Ended)
            }
            Reply::Signalled { errno } => {
                let error = std::io::Error::from_raw_os_error(errno);
                Err(TaskError::Refused(format!("cannot send signal {number}: {error}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn stop(&self, signal: i32, timeout: Duration) -> Result<ExitResult, TaskError> {
        match self.signal(signal).await {
            // What cannot be signalled is waited for and killed all the same.
            Ok(()) | Err(TaskError::Ended) => {}
            Err(error) => tracing::warn!(%error, signal, "the task could not be signalled"),
        }
        match self.wait_limited(timeout).await {
            Some(result) => Ok(result),
            None => self.kill().await,
        }
    }

    async fn stats(&self) -> Result<TaskStats, TaskError> {
        if self.exit.borrow().is_some() {
            return Err(TaskError::Ended);
        }
        let Some(cgroup) = self.handle.cgroup() else { return Ok(TaskStats::default()) };
        let stats = blocking(move || cgroup.stats()).await.map_err(|_| TaskError::Ended)?;
        Ok(TaskStats {
            cpu_nanos_total: stats.cpu_nanos,
            cpu_system_nanos_total: stats.cpu_system_nanos,
            memory_rss_bytes: stats.memory_bytes,
            memory_swap_bytes: stats.swap_bytes,
            processes: stats.processes,
        })
    }

    async fn update_logs(&self, max_files: u32, max_file_size_bytes: u64) -> Result<(), TaskError> {
        let limits = LogLimits { files_max: max_files, file_bytes_max: max_file_size_bytes };
        match self.ask(Request::SetLogs(limits)).await? {
            Reply::LogsSet => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    async fn destroy(&self) -> Result<(), TaskError> {
        if self.exit.borrow().is_none() {
            self.kill().await?;
        }
        self.wait_supervisor_end().await;
        let handle = self.handle.clone();
        blocking(move || files::give_back(&handle)).await.map_err(TaskError::Io)
    }
}

fn unexpected(reply: &Reply) -> TaskError {
    TaskError::Io(format!("the supervisor gave an answer to another question: {reply:?}"))
}

/// Runs what may wait for the kernel away from the asynchronous threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Only the runtime's shutdown cancels such work; this future is about to be dropped.
        Err(_) => std::future::pending().await,
    }
}

fn text_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}
