//! The evaluation: the request to bring a job's allocations to what is wanted.

use serde::{Deserialize, Serialize};

use crate::alloc::AllocMetric;
use crate::ids::{AllocId, DeploymentId, EvalId, JobKey, Name, NodeId};
use crate::plan::PlanAnnotations;
use crate::wire::{List, Map, Nanos, Time, is_default};

/// Where an evaluation stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvalStatus {
    /// Waits for a worker, or for its time.
    #[default]
    Pending,
    /// Waits for room.
    Blocked,
    /// Done.
    Complete,
    /// Given up after too many attempts.
    Failed,
    /// A newer one took its place.
    #[serde(rename = "canceled")]
    Cancelled,
}

impl EvalStatus {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Blocked => "blocked",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Cancelled => "canceled",
        }
    }

    /// Whether nothing will happen to it any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Cancelled)
    }
}

/// Why evaluations are made; the wire's names.
pub mod trigger {
    pub const JOB_REGISTER: &str = "job-register";
    pub const JOB_DEREGISTER: &str = "job-deregister";
    pub const NODE_UPDATE: &str = "node-update";
    pub const NODE_DRAIN: &str = "node-drain";
    pub const ALLOC_STOP: &str = "alloc-stop";
    pub const ALLOC_FAILURE: &str = "alloc-failure";
    pub const ROLLING_UPDATE: &str = "rolling-update";
    pub const DEPLOYMENT_WATCHER: &str = "deployment-watcher";
    pub const FAILED_FOLLOW_UP: &str = "failed-follow-up";
    pub const QUEUED_ALLOCS: &str = "queued-allocs";
    pub const RETRY_FAILED_ALLOC: &str = "alloc-failure";
    pub const MAX_PLANS: &str = "max-plan-attempts";
    pub const SCALING: &str = "job-scaling";
    pub const RECONNECT: &str = "reconnect";
}

/// An evaluation, wire form and store form in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Evaluation {
    #[serde(rename = "ID")]
    pub id: EvalId,
    pub namespace: String,
    pub priority: i64,
    #[serde(rename = "Type")]
    pub kind: String,
    pub triggered_by: String,
    #[serde(rename = "JobID")]
    pub job_id: String,
    #[serde(skip_serializing_if = "is_default")]
    pub job_modify_index: u64,
    #[serde(rename = "NodeID", skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "is_default")]
    pub node_modify_index: u64,
    #[serde(rename = "DeploymentID", skip_serializing_if = "Option::is_none")]
    pub deployment_id: Option<DeploymentId>,
    pub status: EvalStatus,
    #[serde(skip_serializing_if = "is_default")]
    pub status_description: String,
    #[serde(skip_serializing_if = "is_default")]
    pub wait_until: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_eval: Option<EvalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_eval: Option<EvalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_eval: Option<EvalId>,
    #[serde(rename = "FailedTGAllocs", skip_serializing_if = "is_default")]
    pub failed_tg_allocs: Map<AllocMetric>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_annotations: Option<PlanAnnotations>,
    #[serde(skip_serializing_if = "is_default")]
    pub class_eligibility: Map<bool>,
    #[serde(skip_serializing_if = "is_default")]
    pub escaped_computed_class: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub queued_allocations: Map<i64>,
    #[serde(skip_serializing_if = "is_default")]
    pub snapshot_index: u64,
    pub create_index: u64,
    pub modify_index: u64,
    pub create_time: Nanos,
    pub modify_time: Nanos,
}

impl Evaluation {
    /// The job it is for.
    pub fn job(&self) -> JobKey {
        JobKey {
            namespace: Name::from(self.namespace.as_str()),
            id: Name::from(self.job_id.as_str()),
        }
    }
}

/// What `eval delete` and collection answer with, and what a stop of allocations returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocStop {
    /// The allocations asked to end.
    pub allocs: List<AllocId>,
}
