//! The node: a machine that runs allocations, as its agent reports it and as operators steer it.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::job::NetworkResource;
use crate::wire::{List, Map, Nanos, Time, is_default};

/// Where the cluster stands with a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    /// Registered, first heartbeat not seen.
    #[default]
    Initializing,
    /// Heartbeats arrive.
    Ready,
    /// Heartbeats are overdue.
    Down,
    /// Heartbeats are overdue, and its allocations may outlast that.
    Disconnected,
}

impl NodeStatus {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initializing => "initializing",
            Self::Ready => "ready",
            Self::Down => "down",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Whether new allocations may be placed.
pub const ELIGIBLE: &str = "eligible";
/// Nothing new is placed.
pub const INELIGIBLE: &str = "ineligible";

/// A node, wire form and store form in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Node {
    /// Unique and kept over restarts.
    #[serde(rename = "ID")]
    pub id: NodeId,
    /// Proves that a request comes from the node itself; never shown.
    #[serde(rename = "SecretID")]
    pub secret_id: String,
    pub datacenter: String,
    pub name: String,
    /// Where the node's own HTTP API listens.
    #[serde(rename = "HTTPAddr")]
    pub http_addr: String,
    #[serde(rename = "TLSEnabled")]
    pub tls_enabled: bool,
    pub attributes: Map<String>,
    pub node_resources: NodeResources,
    pub reserved_resources: NodeReservedResources,
    pub links: Map<String>,
    pub meta: Map<String>,
    pub node_class: String,
    pub node_pool: String,
    pub computed_class: String,
    pub cgroup_parent: String,
    pub drain: bool,
    pub drain_strategy: Option<DrainStrategy>,
    pub scheduling_eligibility: String,
    pub status: NodeStatus,
    pub status_description: String,
    /// Seconds since 1970.
    pub status_updated_at: i64,
    pub events: List<NodeEvent>,
    pub drivers: Map<DriverInfo>,
    pub host_volumes: Map<HostVolume>,
    pub host_networks: Map<HostNetwork>,
    pub last_drain: Option<DrainMetadata>,
    pub create_index: u64,
    pub modify_index: u64,
    pub node_max_allocs: i64,
    #[serde(rename = "CSIControllerPlugins")]
    pub csi_controller_plugins: Option<()>,
    #[serde(rename = "CSINodePlugins")]
    pub csi_node_plugins: Option<()>,
}

impl Node {
    /// Whether the scheduler may place new allocations here.
    pub fn accepts_work(&self) -> bool {
        self.status == NodeStatus::Ready && !self.drain && self.scheduling_eligibility == ELIGIBLE
    }

    /// Whether its allocations have to be given up.
    pub fn is_gone(&self) -> bool {
        self.status == NodeStatus::Down
    }

    /// CPU that allocations may use, in MHz.
    pub fn usable_cpu(&self) -> i64 {
        self.node_resources.cpu.cpu_shares - self.reserved_resources.cpu.cpu_shares
    }

    /// Memory that allocations may use, in MiB.
    pub fn usable_memory_mb(&self) -> i64 {
        self.node_resources.memory.memory_mb - self.reserved_resources.memory.memory_mb
    }

    /// Disk that allocations may use, in MiB.
    pub fn usable_disk_mb(&self) -> i64 {
        self.node_resources.disk.disk_mb - self.reserved_resources.disk.disk_mb
    }
}

macro_rules! wire_struct {
    ($(#[$doc:meta])* $name:ident { $($(#[$f:meta])* $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "PascalCase", default)]
        pub struct $name { $($(#[$f])* pub $field: $ty),* }
    };
}
pub(crate) use wire_struct;

wire_struct!(
    /// What a node has.
    NodeResources {
        cpu: NodeCpu,
        memory: NodeMemory,
        disk: NodeDisk,
        networks: List<NetworkResource>,
        node_networks: List<NodeNetwork>,
        devices: Option<()>,
        min_dynamic_port: i64,
        max_dynamic_port: i64,
    }
);
wire_struct!(
    /// CPU of a node: MHz in all, cores, and the cores that may be reserved.
    NodeCpu {
        cpu_shares: i64,
        total_cpu_cores: u16,
        reservable_cpu_cores: List<u16>,
    }
);
wire_struct!(
    /// Memory of a node, in MiB.
    NodeMemory {
        #[serde(rename = "MemoryMB")]
        memory_mb: i64,
    }
);
wire_struct!(
    /// Disk of a node, in MiB.
    NodeDisk {
        #[serde(rename = "DiskMB")]
        disk_mb: i64,
    }
);
wire_struct!(
    /// A network interface of a node.
    NodeNetwork {
        mode: String,
        device: String,
        mac_address: String,
        speed: i64,
        addresses: List<NodeNetworkAddress>,
    }
);
wire_struct!(
    /// An address of an interface, and the host network it belongs to.
    NodeNetworkAddress {
        family: String,
        alias: String,
        address: String,
        reserved_ports: String,
        gateway: String,
    }
);
wire_struct!(
    /// What a node keeps for itself.
    NodeReservedResources {
        cpu: NodeCpuReserved,
        memory: NodeMemory,
        disk: NodeDisk,
        networks: NodeReservedNetworks,
    }
);
wire_struct!(
    /// CPU kept back, in MHz.
    NodeCpuReserved {
        cpu_shares: i64,
        #[serde(skip_serializing_if = "is_default")]
        reserved_cpu_cores: List<u16>,
    }
);
wire_struct!(
    /// Ports kept back, as ranges: `22,80,8500-8600`.
    NodeReservedNetworks {
        reserved_host_ports: String,
    }
);
wire_struct!(
    /// What a driver says of itself on this node.
    DriverInfo {
        attributes: Map<String>,
        detected: bool,
        healthy: bool,
        health_description: String,
        update_time: Time,
    }
);
wire_struct!(
    /// A directory of the node offered as a volume.
    HostVolume {
        name: String,
        path: String,
        read_only: bool,
    }
);
wire_struct!(
    /// A named set of addresses of the node.
    HostNetwork {
        name: String,
        #[serde(rename = "CIDR")]
        cidr: String,
        interface: String,
        reserved_ports: String,
    }
);
wire_struct!(
    /// Something that happened to the node.
    NodeEvent {
        message: String,
        subsystem: String,
        details: Map<String>,
        timestamp: Time,
        create_index: u64,
    }
);
wire_struct!(
    /// How a node is being emptied.
    DrainStrategy {
        deadline: Nanos,
        ignore_system_jobs: bool,
        force_deadline: Time,
        started_at: Time,
    }
);
wire_struct!(
    /// The last drain of a node.
    DrainMetadata {
        started_at: Time,
        updated_at: Time,
        status: String,
        #[serde(rename = "AccessorID")]
        accessor_id: String,
        meta: Map<String>,
    }
);

/// How many events a node keeps.
pub const NODE_EVENTS_MAX: usize = 10;
/// Lowest dynamic port where the node names none.
pub const MIN_DYNAMIC_PORT: i64 = 20_000;
/// Highest dynamic port where the node names none.
pub const MAX_DYNAMIC_PORT: i64 = 32_000;
