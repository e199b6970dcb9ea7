//! Consul: cluster choice, mesh sidecars and gateways.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use super::*;
use crate::wire::{List, Map, Nanos};

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Consul {
    pub namespace: String,
    pub cluster: String,
    pub partition: String,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulConnect {
    pub native: bool,
    pub gateway: Option<ConsulGateway>,
    pub sidecar_service: Option<ConsulSidecarService>,
    pub sidecar_task: Option<SidecarTask>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulSidecarService {
    pub tags: List<String>,
    pub port: String,
    pub proxy: Option<ConsulProxy>,
    #[serde(rename = "DisableDefaultTCPCheck")]
    pub disable_default_tcp_check: bool,
    pub meta: Map<String>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SidecarTask {
    pub name: String,
    pub driver: String,
    pub user: String,
    pub config: Map<Value>,
    pub env: Map<String>,
    pub resources: Option<Resources>,
    pub meta: Map<String>,
    pub kill_timeout: Option<Nanos>,
    pub log_config: Option<LogConfig>,
    pub shutdown_delay: Option<Nanos>,
    pub kill_signal: String,
    pub volume_mounts: List<VolumeMount>,
    pub identities: List<WorkloadIdentity>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulProxy {
    pub local_service_address: String,
    pub local_service_port: i64,
    pub expose: Option<ConsulExposeConfig>,
    pub expose_config: Option<ConsulExposeConfig>,
    pub upstreams: List<ConsulUpstream>,
    pub transparent_proxy: Option<ConsulTransparentProxy>,
    pub config: Map<Value>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshGateway {
    pub mode: String,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulUpstream {
    pub destination_name: String,
    pub destination_namespace: String,
    pub destination_peer: String,
    pub destination_partition: String,
    pub destination_type: String,
    pub local_bind_port: i64,
    pub datacenter: String,
    pub local_bind_address: String,
    pub local_bind_socket_path: String,
    pub local_bind_socket_mode: String,
    pub mesh_gateway: Option<ConsulMeshGateway>,
    pub config: Map<Value>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTransparentProxy {
    #[serde(rename = "UID")]
    pub uid: String,
    pub outbound_port: u16,
    pub exclude_inbound_ports: List<String>,
    pub exclude_outbound_ports: List<u16>,
    #[serde(rename = "ExcludeOutboundCIDRs")]
    pub exclude_outbound_cid_rs: List<String>,
    #[serde(rename = "ExcludeUIDs")]
    pub exclude_u_ids: List<String>,
    #[serde(rename = "NoDNS")]
    pub no_dns: bool,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposeConfig {
    pub paths: List<ConsulExposePath>,
    pub path: List<ConsulExposePath>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulExposePath {
    pub path: String,
    pub protocol: String,
    pub local_path_port: i64,
    pub listener_port: String,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGateway {
    pub proxy: Option<ConsulGatewayProxy>,
    pub ingress: Option<ConsulIngressConfigEntry>,
    pub terminating: Option<ConsulTerminatingConfigEntry>,
    pub mesh: Option<ConsulMeshConfigEntry>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayBindAddress {
    pub name: String,
    pub address: String,
    pub port: i64,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayProxy {
    pub connect_timeout: Option<Nanos>,
    pub envoy_gateway_bind_tagged_addresses: bool,
    pub envoy_gateway_bind_addresses: Map<ConsulGatewayBindAddress>,
    pub envoy_gateway_no_default_bind: bool,
    #[serde(rename = "EnvoyDNSDiscoveryType")]
    pub envoy_dns_discovery_type: String,
    pub config: Map<Value>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTLSSDSConfig {
    pub cluster_name: String,
    pub cert_resource: String,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulGatewayTLSConfig {
    pub enabled: bool,
    #[serde(rename = "TLSMinVersion")]
    pub tls_min_version: String,
    #[serde(rename = "TLSMaxVersion")]
    pub tls_max_version: String,
    pub cipher_suites: List<String>,
    #[serde(rename = "SDS")]
    pub sds: Option<ConsulGatewayTLSSDSConfig>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulHTTPHeaderModifiers {
    pub add: Map<String>,
    pub set: Map<String>,
    pub remove: List<String>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressService {
    pub name: String,
    pub hosts: List<String>,
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTLSConfig>,
    pub request_headers: Option<ConsulHTTPHeaderModifiers>,
    pub response_headers: Option<ConsulHTTPHeaderModifiers>,
    pub max_connections: Option<u32>,
    pub max_pending_requests: Option<u32>,
    pub max_concurrent_requests: Option<u32>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressListener {
    pub port: i64,
    pub protocol: String,
    pub services: List<ConsulIngressService>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulIngressConfigEntry {
    #[serde(rename = "TLS")]
    pub tls: Option<ConsulGatewayTLSConfig>,
    pub listeners: List<ConsulIngressListener>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulLinkedService {
    pub name: String,
    #[serde(rename = "CAFile")]
    pub ca_file: String,
    pub cert_file: String,
    pub key_file: String,
    #[serde(rename = "SNI")]
    pub sni: String,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulTerminatingConfigEntry {
    pub services: List<ConsulLinkedService>,
}

/// Wire form of the block of this name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConsulMeshConfigEntry {}
