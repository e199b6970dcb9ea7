//! What a task or group asks of a node: cpu, memory, networks, devices.

use serde::{Deserialize, Serialize};

use super::*;
use crate::wire::{List, Map};

/// What a task asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Resources {
    #[serde(rename = "CPU")]
    pub cpu: Option<i64>,
    pub cores: Option<i64>,
    #[serde(rename = "MemoryMB")]
    pub memory_mb: Option<i64>,
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: Option<i64>,
    #[serde(rename = "DiskMB")]
    pub disk_mb: Option<i64>,
    pub networks: List<NetworkResource>,
    pub devices: List<RequestedDevice>,
    #[serde(rename = "NUMA")]
    pub numa: Option<Numa>,
    #[serde(rename = "SecretsMB")]
    pub secrets_mb: Option<i64>,
    #[serde(rename = "IOPS")]
    pub iops: Option<i64>,
}

/// NUMA affinity of reserved cores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Numa {
    pub affinity: String,
    pub devices: List<String>,
}

/// A network with its ports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NetworkResource {
    pub mode: String,
    pub device: String,
    #[serde(rename = "CIDR")]
    pub cidr: String,
    #[serde(rename = "IP")]
    pub ip: String,
    #[serde(rename = "DNS")]
    pub dns: Option<DnsConfig>,
    pub reserved_ports: List<Port>,
    pub dynamic_ports: List<Port>,
    pub hostname: String,
    #[serde(rename = "MBits")]
    pub mbits: Option<i64>,
    #[serde(rename = "CNI")]
    pub cni: Option<CniConfig>,
}

/// One port of a network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Port {
    pub label: String,
    pub value: i64,
    pub to: i64,
    pub host_network: String,
    pub ignore_collision: bool,
}

/// Name resolution inside the task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DnsConfig {
    pub servers: List<String>,
    pub searches: List<String>,
    pub options: List<String>,
}

/// Arguments for CNI plugins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CniConfig {
    pub args: Map<String>,
}

/// A device a task asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RequestedDevice {
    pub name: String,
    pub count: Option<u64>,
    pub constraints: List<Constraint>,
    pub affinities: List<Affinity>,
}
