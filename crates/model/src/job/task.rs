//! The task: one process under one driver.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use super::*;
use crate::wire::{List, Map, Nanos};

/// One process, its driver and everything it is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Task {
    pub name: String,
    pub driver: String,
    pub user: String,
    pub lifecycle: Option<TaskLifecycle>,
    pub config: Map<Value>,
    pub constraints: List<Constraint>,
    pub affinities: List<Affinity>,
    pub env: Map<String>,
    pub services: List<Service>,
    pub resources: Option<Resources>,
    pub restart_policy: Option<RestartPolicy>,
    pub meta: Map<String>,
    pub kill_timeout: Option<Nanos>,
    pub log_config: Option<LogConfig>,
    pub artifacts: List<TaskArtifact>,
    pub vault: Option<Vault>,
    pub consul: Option<Consul>,
    pub templates: List<Template>,
    pub dispatch_payload: Option<DispatchPayloadConfig>,
    pub volume_mounts: List<VolumeMount>,
    #[serde(rename = "CSIPluginConfig")]
    pub csi_plugin_config: Option<CsiPluginConfig>,
    pub leader: bool,
    pub shutdown_delay: Nanos,
    pub kill_signal: String,
    pub kind: String,
    pub scaling_policies: List<ScalingPolicy>,
    pub secrets: List<Secret>,
    pub identity: Option<WorkloadIdentity>,
    pub identities: List<WorkloadIdentity>,
    pub actions: List<Action>,
    pub schedule: Option<TaskSchedule>,
}

/// How much of a task's output is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LogConfig {
    pub max_files: Option<i64>,
    #[serde(rename = "MaxFileSizeMB")]
    pub max_file_size_mb: Option<i64>,
    pub enabled: Option<bool>,
    pub disabled: Option<bool>,
}

/// Where a dispatch's payload is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DispatchPayloadConfig {
    pub file: String,
}

/// When in the allocation's life a task runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskLifecycle {
    pub hook: String,
    pub sidecar: bool,
}

/// Something fetched before the task starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskArtifact {
    pub getter_source: Option<String>,
    pub getter_options: Map<String>,
    pub getter_headers: Map<String>,
    pub getter_mode: Option<String>,
    pub getter_insecure: Option<bool>,
    pub relative_dest: Option<String>,
    pub chown: bool,
}

/// How long template changes are gathered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WaitConfig {
    pub min: Option<Nanos>,
    pub max: Option<Nanos>,
}

/// What a template change runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChangeScript {
    pub command: Option<String>,
    pub args: List<String>,
    pub timeout: Option<Nanos>,
    pub fail_on_error: Option<bool>,
}

/// A file rendered from data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Template {
    pub source_path: Option<String>,
    pub dest_path: Option<String>,
    pub embedded_tmpl: Option<String>,
    pub change_mode: Option<String>,
    pub change_script: Option<ChangeScript>,
    pub change_signal: Option<String>,
    pub once: Option<bool>,
    pub splay: Option<Nanos>,
    pub perms: Option<String>,
    pub uid: Option<i64>,
    pub gid: Option<i64>,
    pub left_delim: Option<String>,
    pub right_delim: Option<String>,
    pub envvars: Option<bool>,
    pub vault_grace: Option<Nanos>,
    pub wait: Option<WaitConfig>,
    pub err_missing_key: Option<bool>,
}

/// What a task may ask of Vault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Vault {
    pub policies: List<String>,
    pub role: String,
    pub namespace: Option<String>,
    pub cluster: String,
    pub env: Option<bool>,
    pub disable_file: Option<bool>,
    pub change_mode: Option<String>,
    pub change_signal: Option<String>,
    pub allow_token_expiration: Option<bool>,
}

/// A secret read before the task starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Secret {
    pub name: String,
    pub provider: String,
    pub path: String,
    pub config: Map<Value>,
    pub env: Map<String>,
}

/// Marks a task as a CSI plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiPluginConfig {
    #[serde(rename = "ID")]
    pub id: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub mount_dir: String,
    pub stage_publish_base_dir: String,
    pub health_timeout: Nanos,
}

/// A signed identity handed to a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WorkloadIdentity {
    pub name: String,
    pub audience: List<String>,
    pub change_mode: String,
    pub change_signal: String,
    pub env: bool,
    pub file: bool,
    pub filepath: String,
    pub service_name: String,
    #[serde(rename = "TTL")]
    pub ttl: Nanos,
}

/// A command an operator may run in the task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    pub name: String,
    pub command: String,
    pub args: List<String>,
}

/// Where a group's volume appears in a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeMount {
    pub volume: Option<String>,
    pub destination: Option<String>,
    pub read_only: Option<bool>,
    pub propagation_mode: Option<String>,
    #[serde(rename = "SELinuxLabel")]
    pub se_linux_label: Option<String>,
}

/// Enterprise: when a task runs and when it is paused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskSchedule {
    pub cron: Option<TaskScheduleCron>,
}

/// Enterprise: the cron form of [`TaskSchedule`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskScheduleCron {
    pub start: String,
    pub end: String,
    pub timezone: String,
}
