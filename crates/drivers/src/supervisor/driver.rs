//! What all drivers with a supervisor do alike: the handle before a start and after it, and finding
//! a task again.

use std::sync::Arc;

use super::launch::Failure;
use super::{Found, SupervisedHandle, TaskLaunch, attach, launch, task_cgroup_name};
use crate::plan::LaunchPlan;
use crate::task::{
    RecoverError, Recovered, RecoveredState, RunningTask, StartError, Started, TaskHandle,
    unix_nanos_now,
};

const HANDLE_VERSION: u32 = 1;

/// Handles of the driver of this name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Supervision(pub(crate) &'static str);

impl Supervision {
    fn handle(self, state: &SupervisedHandle) -> Result<TaskHandle, serde_json::Error> {
        Ok(TaskHandle {
            driver: self.0.to_owned(),
            version: HANDLE_VERSION,
            started_at_unix_nanos: unix_nanos_now(),
            state: serde_json::to_value(state)?,
        })
    }

    pub(crate) fn intend(self, plan: &LaunchPlan) -> Option<TaskHandle> {
        let name = task_cgroup_name(&plan.alloc_id, &plan.task_name);
        let intended = SupervisedHandle::intended(&plan.node_id, name, plan.state_dir.clone());
        self.handle(&intended).ok()
    }

    /// `failed` says what a failure after the looking up means.
    pub(crate) async fn start(
        self,
        look_up: impl FnOnce() -> Result<TaskLaunch, StartError> + Send + 'static,
        failed: impl Fn(Failure) -> StartError + Clone + Send + 'static,
    ) -> Result<Started, StartError> {
        let (state, task) = launch(look_up, failed.clone()).await?;
        let handle = self
            .handle(&state)
            .map_err(|error| failed(format!("cannot record the task: {error}").into()))?;
        Ok(Started { handle, task: Arc::new(task), network: None })
    }

    pub(crate) async fn recover(self, handle: &TaskHandle) -> Result<Recovered, RecoverError> {
        let state: SupervisedHandle = handle.state_of(self.0, HANDLE_VERSION)?;
        let (task, state) = match attach(state).await? {
            Found::Running(task) => (task, RecoveredState::Running),
            Found::Exited(task, result) => (task, RecoveredState::AlreadyExited(result)),
            Found::Lost(task, result) => (task, RecoveredState::Lost(result)),
        };
        let task: Arc<dyn RunningTask> = Arc::new(task);
        Ok(Recovered { task, state, network: None })
    }
}
