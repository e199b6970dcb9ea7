//! A running task as its driver shows it, and the values around it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A task that was started or found again. All methods may be called at any time and from several
/// places at once; after the end, `wait` keeps answering.
#[async_trait]
pub trait RunningTask: Send + Sync {
    /// Waits for the end without polling.
    async fn wait(&self) -> ExitResult;

    /// Sends a signal to the main process.
    async fn signal(&self, number: i32) -> Result<(), TaskError>;

    /// Sends `signal`, waits up to `timeout` for the end, then kills all processes of the task.
    async fn stop(&self, signal: i32, timeout: Duration) -> Result<ExitResult, TaskError>;

    async fn stats(&self) -> Result<TaskStats, TaskError>;

    /// Changes the limits of the log files from the next output on.
    async fn update_logs(&self, max_files: u32, max_file_size_bytes: u64) -> Result<(), TaskError>;

    /// Gives back everything the task holds: processes (a running task is killed), cgroup, state
    /// directory. May be repeated. Log files stay. The exit is forgotten, so record it before.
    async fn destroy(&self) -> Result<(), TaskError>;
}

/// What the caller keeps on disk to find the task again after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskHandle {
    pub driver: String,
    /// Layout of `state`, the driver's own affair.
    pub version: u32,
    pub started_at_unix_nanos: u64,
    pub state: Value,
}

impl TaskHandle {
    /// The driver's part, if it is this driver's and of the layout it reads.
    pub(crate) fn state_of<T: serde::de::DeserializeOwned>(
        &self,
        driver: &'static str,
        version: u32,
    ) -> Result<T, RecoverError> {
        if self.driver != driver {
            return Err(RecoverError::OtherDriver { found: self.driver.clone(), expected: driver });
        }
        if self.version != version {
            return Err(RecoverError::OtherVersion { found: self.version, expected: version });
        }
        T::deserialize(&self.state).map_err(RecoverError::Malformed)
    }
}

/// A task that runs now.
pub struct Started {
    pub handle: TaskHandle,
    pub task: Arc<dyn RunningTask>,
    /// An address of the task's own, where the driver gives it one.
    pub network: Option<DriverNetwork>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverNetwork {
    pub ip: String,
    /// Whether services should be announced with this address.
    pub advertise: bool,
    pub port_map: BTreeMap<String, u16>,
}

/// Why a task did not start; the message is shown to users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    /// Whether trying again may help, so that the restart policy decides.
    pub recoverable: bool,
    pub message: String,
}

impl StartError {
    pub(crate) fn recoverable(message: impl Into<String>) -> Self {
        Self { recoverable: true, message: message.into() }
    }

    pub(crate) fn fatal(message: impl Into<String>) -> Self {
        Self { recoverable: false, message: message.into() }
    }
}

/// A task found again, whatever became of it.
pub struct Recovered {
    pub task: Arc<dyn RunningTask>,
    pub state: RecoveredState,
    pub network: Option<DriverNetwork>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveredState {
    Running,
    /// It ended while nobody listened.
    AlreadyExited(ExitResult),
    /// Its supervisor is gone without a word. All its processes have been ended.
    Lost(ExitResult),
}

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("the task belongs to driver {found}, not {expected}")]
    OtherDriver { found: String, expected: &'static str },
    #[error("the task's handle is of version {found}, this agent reads {expected}")]
    OtherVersion { found: u32, expected: u32 },
    #[error("the task's handle cannot be read")]
    Malformed(#[source] serde_json::Error),
    #[error("the task was never started")]
    NotStarted,
    #[error("cannot end what is left of the task: {0}")]
    Cleanup(String),
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExitResult {
    /// 128 plus the signal when one ended the task, as a shell would say.
    pub exit_code: i32,
    /// 0 for none.
    pub signal: i32,
    pub oom_killed: bool,
    /// Why the driver could not run the task to its end or does not know the status.
    pub err: Option<String>,
    /// The status is unknown: the supervisor was lost.
    pub lost: bool,
    pub finished_at_unix_nanos: u64,
}

impl ExitResult {
    pub fn is_success(&self) -> bool {
        self.exit_code == 0 && self.signal == 0 && self.err.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    #[error("the task has ended")]
    Ended,
    #[error("{0}")]
    Refused(String),
    #[error("the task's processes are still alive after {0:?}")]
    StillAlive(Duration),
    #[error("{0}")]
    Io(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskStats {
    pub cpu_nanos_total: u64,
    /// The part of it that was spent in the kernel.
    pub cpu_system_nanos_total: u64,
    pub memory_rss_bytes: u64,
    pub memory_swap_bytes: u64,
    pub processes: u64,
}

/// What a driver can do with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    pub send_signals: bool,
    pub exec: bool,
    pub filesystem_isolation: FilesystemIsolation,
    /// Network modes the driver accepts, as in job files.
    pub network_modes: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesystemIsolation {
    None,
    Chroot,
    Image,
}

/// Whether a driver works on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub detected: bool,
    pub healthy: bool,
    pub description: String,
    /// Node attributes to set.
    pub attributes: BTreeMap<String, String>,
}

impl Fingerprint {
    /// Of a driver that needs nothing but to be enabled.
    pub(crate) fn by_setting(name: &str, enabled: bool) -> Self {
        let attributes = BTreeMap::from([(format!("driver.{name}"), "1".to_owned())]);
        Self {
            detected: enabled,
            healthy: enabled,
            description: if enabled { "Healthy" } else { "disabled" }.to_owned(),
            attributes: if enabled { attributes } else { BTreeMap::new() },
        }
    }
}

/// Now, as a number that can be stored.
pub(crate) fn unix_nanos_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
