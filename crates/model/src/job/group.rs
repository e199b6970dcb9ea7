//! The task group: what is placed together, and the policies of its allocations.

use serde::{Deserialize, Serialize};

use super::*;
use crate::wire::{List, Map, Nanos};

/// Tasks that always share a node and an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    pub name: Option<String>,
    pub count: Option<i64>,
    pub constraints: List<Constraint>,
    pub affinities: List<Affinity>,
    pub tasks: List<Task>,
    pub spreads: List<Spread>,
    pub volumes: Map<VolumeRequest>,
    pub restart_policy: Option<RestartPolicy>,
    pub disconnect: Option<DisconnectStrategy>,
    pub reschedule_policy: Option<ReschedulePolicy>,
    pub ephemeral_disk: Option<EphemeralDisk>,
    pub update: Option<UpdateStrategy>,
    pub migrate: Option<MigrateStrategy>,
    pub networks: List<NetworkResource>,
    pub meta: Map<String>,
    pub services: List<Service>,
    pub shutdown_delay: Option<Nanos>,
    pub stop_after_client_disconnect: Option<Nanos>,
    pub max_client_disconnect: Option<Nanos>,
    pub scaling: Option<ScalingPolicy>,
    pub consul: Option<Consul>,
    pub prevent_reschedule_on_lost: Option<bool>,
}

/// How a new version replaces the old.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateStrategy {
    pub stagger: Option<Nanos>,
    pub max_parallel: Option<i64>,
    pub health_check: Option<String>,
    pub min_healthy_time: Option<Nanos>,
    pub healthy_deadline: Option<Nanos>,
    pub progress_deadline: Option<Nanos>,
    pub canary: Option<i64>,
    pub auto_revert: Option<bool>,
    pub auto_promote: Option<bool>,
}

/// How allocations leave a draining node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MigrateStrategy {
    pub max_parallel: Option<i64>,
    pub health_check: Option<String>,
    pub min_healthy_time: Option<Nanos>,
    pub healthy_deadline: Option<Nanos>,
}

/// What happens on the node when a task fails.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RestartPolicy {
    pub interval: Option<Nanos>,
    pub attempts: Option<i64>,
    pub delay: Option<Nanos>,
    pub mode: Option<String>,
    pub render_templates: Option<bool>,
}

/// What happens on the cluster when an allocation fails.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ReschedulePolicy {
    pub attempts: Option<i64>,
    pub interval: Option<Nanos>,
    pub delay: Option<Nanos>,
    pub delay_function: Option<String>,
    pub max_delay: Option<Nanos>,
    pub unlimited: Option<bool>,
}

/// What happens when the node is lost from sight.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisconnectStrategy {
    pub lost_after: Option<Nanos>,
    pub stop_on_client_after: Option<Nanos>,
    pub replace: Option<bool>,
    pub reconcile: Option<String>,
}

/// The disk an allocation's directory may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EphemeralDisk {
    pub sticky: Option<bool>,
    pub migrate: Option<bool>,
    #[serde(rename = "SizeMB")]
    pub size_mb: Option<i64>,
}

/// A volume a group asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeRequest {
    pub name: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub source: String,
    pub read_only: bool,
    pub sticky: bool,
    pub access_mode: String,
    pub attachment_mode: String,
    pub mount_options: Option<CsiMountOptions>,
    pub per_alloc: bool,
}

/// Mount options of a CSI volume.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiMountOptions {
    #[serde(rename = "FSType")]
    pub fs_type: String,
    pub mount_flags: List<String>,
}
