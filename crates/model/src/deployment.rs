//! The deployment: how one version of a service replaces another, with its figures.
//!
//! Counts of placed, healthy and unhealthy allocations are derived from the allocations when read;
//! only what cannot be derived is kept.

use serde::{Deserialize, Serialize};

use crate::ids::{AllocId, DeploymentId, JobKey, Name};
use crate::node::wire_struct;
use crate::wire::{List, Map, Nanos, Time};

/// Where a deployment stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentStatus {
    /// Going on.
    #[default]
    Running,
    /// Halted by an operator.
    Paused,
    /// All groups are healthy.
    Successful,
    /// Given up.
    Failed,
    /// A newer version, or the job's end, took its place.
    #[serde(rename = "cancelled")]
    Cancelled,
}

impl DeploymentStatus {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Successful => "successful",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it may still place or change allocations.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// The descriptions the wire shows.
pub mod description {
    pub const RUNNING: &str = "Deployment is running";
    pub const NEEDS_PROMOTION: &str = "Deployment is running but requires manual promotion";
    pub const AUTO_PROMOTION: &str = "Deployment is running pending automatic promotion";
    pub const PAUSED: &str = "Deployment is paused";
    pub const SUCCESSFUL: &str = "Deployment completed successfully";
    pub const NEW_VERSION: &str = "Cancelled due to newer version of job";
    pub const JOB_STOPPED: &str = "Cancelled because job is stopped";
    pub const FAILED_ALLOCS: &str = "Failed due to unhealthy allocations";
    pub const FAILED_DEADLINE: &str = "Failed due to progress deadline";
    pub const FAILED_BY_USER: &str = "Deployment marked as failed";
}

/// A deployment, wire form and store form in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Deployment {
    #[serde(rename = "ID")]
    pub id: DeploymentId,
    pub namespace: String,
    #[serde(rename = "JobID")]
    pub job_id: String,
    pub job_version: u64,
    pub job_modify_index: u64,
    pub job_spec_modify_index: u64,
    pub job_create_index: u64,
    pub is_multiregion: bool,
    pub task_groups: Map<DeploymentGroup>,
    pub status: DeploymentStatus,
    pub status_description: String,
    pub eval_priority: i64,
    pub create_index: u64,
    pub modify_index: u64,
    pub create_time: Nanos,
    pub modify_time: Nanos,
}

wire_struct!(
    /// One group of a deployment.
    DeploymentGroup {
        placed_canaries: List<AllocId>,
        auto_revert: bool,
        auto_promote: bool,
        progress_deadline: Nanos,
        require_progress_by: Time,
        promoted: bool,
        desired_canaries: u32,
        desired_total: u32,
        placed_allocs: u32,
        healthy_allocs: u32,
        unhealthy_allocs: u32,
    }
);

impl Deployment {
    /// The job it is for.
    pub fn job(&self) -> JobKey {
        JobKey {
            namespace: Name::from(self.namespace.as_str()),
            id: Name::from(self.job_id.as_str()),
        }
    }

    /// Whether canaries wait for somebody's promotion.
    pub fn requires_promotion(&self) -> bool {
        self.status.is_active()
            && self.task_groups.values().any(|g| g.desired_canaries > 0 && !g.promoted)
    }

    /// Whether every group with canaries promotes by itself.
    pub fn has_auto_promote(&self) -> bool {
        let mut canaried = self.task_groups.values().filter(|g| g.desired_canaries > 0).peekable();
        canaried.peek().is_some() && canaried.all(|g| g.auto_promote)
    }
}
