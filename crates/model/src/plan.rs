//! The plan: what the scheduler proposes, and what of it the one writer accepted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::alloc::{Alloc, ClientStatus, DesiredStatus};
use crate::deployment::{Deployment, DeploymentStatus};
use crate::ids::{AllocId, DeploymentId, EvalId, JobKey};
use crate::node::wire_struct;
use crate::wire::{List, Map};

/// Changes to allocations and deployments, proposed for one evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub eval_id: EvalId,
    /// The job and version it is for; apply refuses it when the job has moved on.
    pub job: Option<JobKey>,
    pub job_version: u64,
    pub priority: i64,
    /// All or nothing.
    pub all_at_once: bool,
    /// New allocations, and updates in place of existing ones (same id).
    pub place: Vec<Arc<Alloc>>,
    pub stop: Vec<StopAlloc>,
    /// A deployment to create, or whose canaries are recorded.
    pub deployment: Option<Deployment>,
    pub deployment_updates: Vec<DeploymentUpdate>,
    /// Failed allocations whose next attempt is due later, with the evaluation that makes it.
    pub delayed: Vec<(AllocId, EvalId)>,
    pub annotations: Option<PlanAnnotations>,
}

impl Plan {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.place.is_empty()
            && self.stop.is_empty()
            && self.deployment.is_none()
            && self.deployment_updates.is_empty()
            && self.delayed.is_empty()
    }
}

/// One allocation that should end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopAlloc {
    pub id: AllocId,
    pub desired: DesiredStatus,
    pub description: String,
    /// `Lost` when the node is gone and will not say it itself.
    pub client_status: Option<ClientStatus>,
    pub followup_eval: Option<EvalId>,
    pub preempted_by: Option<AllocId>,
}

/// A new status of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeploymentUpdate {
    pub id: DeploymentId,
    pub status: DeploymentStatus,
    pub description: String,
}

wire_struct!(
    /// What a plan would do, per group.
    PlanAnnotations {
        #[serde(rename = "DesiredTGUpdates")]
        desired_tg_updates: Map<DesiredUpdates>,
        preempted_allocs: List<serde_json::Value>,
    }
);
wire_struct!(
    /// Counts of what happens to a group's allocations.
    DesiredUpdates {
        ignore: u64,
        place: u64,
        migrate: u64,
        stop: u64,
        in_place_update: u64,
        destructive_update: u64,
        canary: u64,
        preemptions: u64,
        disconnect: u64,
        reconnect: u64,
        reschedule_now: u64,
        reschedule_later: u64,
    }
);
