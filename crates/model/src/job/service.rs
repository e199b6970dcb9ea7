//! Services and their checks.

use serde::{Deserialize, Serialize};

use super::*;
use crate::wire::{List, Map, Nanos};

/// A service that a group or task offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Service {
    pub id: String,
    pub name: String,
    pub tags: List<String>,
    pub canary_tags: List<String>,
    pub enable_tag_override: bool,
    pub port_label: String,
    pub address_mode: String,
    pub address: String,
    pub checks: List<ServiceCheck>,
    pub check_restart: Option<CheckRestart>,
    pub connect: Option<ConsulConnect>,
    pub meta: Map<String>,
    pub canary_meta: Map<String>,
    pub tagged_addresses: Map<String>,
    pub task_name: String,
    pub on_update: String,
    pub identity: Option<WorkloadIdentity>,
    pub weights: Option<ServiceWeights>,
    pub provider: String,
    pub cluster: String,
    pub kind: String,
}

/// Weights for DNS answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceWeights {
    pub passing: i64,
    pub warning: i64,
}

/// A check of a service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceCheck {
    pub id: String,
    pub name: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub command: String,
    pub args: List<String>,
    pub path: String,
    pub protocol: String,
    pub port_label: String,
    pub expose: bool,
    pub address_mode: String,
    pub advertise: String,
    pub interval: Nanos,
    pub timeout: Nanos,
    pub initial_status: String,
    pub notes: String,
    #[serde(rename = "TLSServerName")]
    pub tls_server_name: String,
    #[serde(rename = "TLSSkipVerify")]
    pub tls_skip_verify: bool,
    pub header: Map<List<String>>,
    pub method: String,
    pub check_restart: Option<CheckRestart>,
    #[serde(rename = "GRPCService")]
    pub grpc_service: String,
    #[serde(rename = "GRPCUseTLS")]
    pub grpc_use_tls: bool,
    pub task_name: String,
    pub success_before_passing: i64,
    pub failures_before_critical: i64,
    pub failures_before_warning: i64,
    pub body: String,
    pub on_update: String,
}

/// When failing checks restart the task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CheckRestart {
    pub limit: i64,
    pub grace: Option<Nanos>,
    pub ignore_warnings: bool,
}
