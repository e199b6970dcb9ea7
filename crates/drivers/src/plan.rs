//! Everything a driver needs to start one task, put together by the client's hooks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// One task to start.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    pub node_id: String,
    pub alloc_id: String,
    pub task_name: String,
    /// The `config` block with all interpolation done.
    pub config: Map<String, Value>,
    /// The whole environment of the task.
    pub env: BTreeMap<String, String>,
    /// A user of the host; none means the agent's own.
    pub user: Option<String>,
    /// The task's directory: working directory and first place to look for its program.
    pub task_dir: PathBuf,
    /// What the tasks of the allocation share.
    pub alloc_dir: PathBuf,
    pub logs: LogPlan,
    /// A directory for this start alone, created if absent and removed by `destroy`.
    pub state_dir: PathBuf,
    pub resources: TaskResources,
}

/// Where output goes. The directory must exist.
#[derive(Debug, Clone)]
pub struct LogPlan {
    pub dir: PathBuf,
    /// File names without number, such as `web.stdout`.
    pub stdout: String,
    pub stderr: String,
    pub max_files: u32,
    pub max_file_size_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskResources {
    /// Weight of the task when the processor is contended; the job's MHz.
    pub cpu_shares: u64,
    pub memory_mb: u64,
    pub memory_max: MemoryMax,
}

/// How far a task may go beyond its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryMax {
    /// Not at all.
    Same,
    Mb(u64),
    Unlimited,
}
