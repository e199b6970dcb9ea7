//! The job: what a user submits, its wire JSON and its store form in one.

use serde::{Deserialize, Serialize};

use super::*;
use crate::wire::{Base64, List, Map};

/// A job: named groups of tasks, with the rules that place, run and update them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Job {
    pub region: Option<String>,
    pub namespace: Option<String>,
    #[serde(rename = "ID")]
    pub id: Option<String>,
    pub name: Option<String>,
    #[serde(rename = "Type")]
    pub kind: Option<String>,
    pub priority: Option<i64>,
    pub all_at_once: Option<bool>,
    pub datacenters: List<String>,
    pub node_pool: Option<String>,
    pub constraints: List<Constraint>,
    pub affinities: List<Affinity>,
    pub task_groups: List<TaskGroup>,
    pub update: Option<UpdateStrategy>,
    pub multiregion: Option<Multiregion>,
    pub spreads: List<Spread>,
    pub periodic: Option<PeriodicConfig>,
    pub parameterized_job: Option<ParameterizedJobConfig>,
    pub reschedule: Option<ReschedulePolicy>,
    pub migrate: Option<MigrateStrategy>,
    pub meta: Map<String>,
    #[serde(rename = "UI")]
    pub ui: Option<JobUi>,
    pub stop: Option<bool>,
    #[serde(rename = "ParentID")]
    pub parent_id: Option<String>,
    pub dispatched: bool,
    pub dispatch_idempotency_token: Option<String>,
    pub payload: Option<Base64>,
    pub consul_namespace: Option<String>,
    pub vault_namespace: Option<String>,
    #[serde(rename = "NomadTokenID")]
    pub nomad_token_id: Option<String>,
    pub status: Option<String>,
    pub status_description: Option<String>,
    pub stable: Option<bool>,
    pub version: Option<u64>,
    pub submit_time: Option<i64>,
    pub create_index: Option<u64>,
    pub modify_index: Option<u64>,
    pub job_modify_index: Option<u64>,
    pub version_tag: Option<JobVersionTag>,
}

/// When a periodic job launches a child.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicConfig {
    pub enabled: Option<bool>,
    pub spec: Option<String>,
    pub specs: List<String>,
    pub spec_type: Option<String>,
    pub prohibit_overlap: Option<bool>,
    pub time_zone: Option<String>,
}

/// What a dispatch of a parameterized job must bring.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ParameterizedJobConfig {
    pub payload: String,
    pub meta_required: List<String>,
    pub meta_optional: List<String>,
}

/// What the web interface shows beside a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUi {
    pub description: String,
    pub links: List<JobUiLink>,
}

/// One link of [`JobUi`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiLink {
    pub label: String,
    #[serde(rename = "URL")]
    pub url: String,
}

/// A name that an operator gave a version; a tagged version is not pruned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionTag {
    pub name: String,
    pub description: String,
    pub tagged_time: i64,
}

/// Enterprise: one job over several regions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Multiregion {
    pub strategy: Option<MultiregionStrategy>,
    pub regions: List<MultiregionRegion>,
}

/// Enterprise: how regions follow one another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionStrategy {
    pub max_parallel: Option<i64>,
    pub on_failure: Option<String>,
}

/// Enterprise: one region of a multiregion job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionRegion {
    pub name: String,
    pub count: Option<i64>,
    pub datacenters: List<String>,
    pub node_pool: String,
    pub meta: Map<String>,
}

/// The source a job was registered from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSubmission {
    pub source: String,
    pub format: String,
    pub variable_flags: Map<String>,
    pub variables: String,
}
