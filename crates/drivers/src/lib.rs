//! Ways to run a task: the [`Driver`] trait and one file for each driver.
//!
//! Purpose: hide behind one trait what differs between programs, containers and pretence.
//! Entry points: [`Registry`] finds a driver by name; [`Driver::start`] and [`Driver::recover`]
//! give a [`RunningTask`]; a [`TaskHandle`] is what the caller must keep on disk in between.
//! Never: no knowledge of allocations' lives, restart policies or servers.
//! Reading order: `plan`, `task`, `raw_exec`, `exec`, `supervisor`.
//! Limits: constants at the head of each file. A dropped [`RunningTask`] is let go, not ended:
//! that is what makes the agent's restart harmless. To end a task, `stop`; to give everything
//! back, `destroy`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod config;
#[cfg(test)]
mod conformance;
mod exec;
mod id_ranges;
mod mock;
mod plan;
mod raw_exec;
mod registry;
mod supervisor;
mod task;
mod user;

use async_trait::async_trait;
use serde_json::{Map, Value};

pub use exec::{Exec, ExecOptions, ExecTexts, ISOLATED_USER};
pub use id_ranges::IdRanges;
pub use mock::Mock;
pub use plan::{LaunchPlan, LogPlan, MemoryMax, TaskResources};
pub use raw_exec::{RawExec, RawExecOptions};
pub use registry::{Registry, RegistryOptions};
pub use supervisor::task_cgroup_name;
pub use task::{
    Capabilities, DriverNetwork, ExitResult, FilesystemIsolation, Fingerprint, RecoverError,
    Recovered, RecoveredState, RunningTask, StartError, Started, TaskError, TaskHandle, TaskStats,
};
pub use user::DeniedIds;

/// One way to run tasks. Values are shared by all tasks of a node.
#[async_trait]
pub trait Driver: Send + Sync {
    /// The name in job files.
    fn name(&self) -> &'static str;

    fn capabilities(&self) -> Capabilities;

    /// Names what is wrong with a task's `config`: unknown keys, missing ones, wrong types. The
    /// first entry is a heading.
    fn check_config(&self, config: &Map<String, Value>) -> Result<(), Vec<String>>;

    /// Whether tasks can be run on this node.
    fn fingerprint(&self) -> Fingerprint;

    /// What is known of a start before it is made. Kept by the caller before it calls
    /// [`Driver::start`], it lets [`Driver::recover`] find a task whose start was never confirmed,
    /// because the agent died in between: so no task runs unknown, and none is started twice.
    /// `None` for drivers whose tasks end with the agent.
    fn intend(&self, _plan: &LaunchPlan) -> Option<TaskHandle> {
        None
    }

    /// Starts the task. If the returned future is dropped before it is ready, what was begun is
    /// undone.
    async fn start(&self, plan: LaunchPlan) -> Result<Started, StartError>;

    /// Finds a task again by what [`Started`] said. In every case but an error the task that comes
    /// back answers `wait` and must be given back with `destroy` once its end is recorded.
    async fn recover(&self, handle: &TaskHandle) -> Result<Recovered, RecoverError>;
}
