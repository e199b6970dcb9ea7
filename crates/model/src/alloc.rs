//! The allocation: one placement of a group on a node, as it is kept.
//!
//! It refers to its job by version and shares that version in memory; the wire form, which shows
//! the whole job, is joined at the edge (`api::allocation`).
//! What is wanted of it and what is observed of it have different types; only the observation
//! frees resources.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{AllocId, DeploymentId, EvalId, JobKey, Name, NodeId};
use crate::job::{DnsConfig, Job, NetworkResource};
use crate::node::wire_struct;
use crate::wire::{List, Map, Nanos, Time, is_default, null_time};

/// What the servers want of an allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DesiredStatus {
    /// It runs.
    #[default]
    Run,
    /// It ends.
    Stop,
    /// It made room for a more important one.
    Evict,
}

/// What the node says of an allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientStatus {
    /// Not started yet.
    #[default]
    Pending,
    /// Its tasks run.
    Running,
    /// It ended well.
    Complete,
    /// It ended badly.
    Failed,
    /// Its node is gone.
    Lost,
    /// Its node is out of sight and may come back.
    Unknown,
}

impl DesiredStatus {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Stop => "stop",
            Self::Evict => "evict",
        }
    }
}

impl ClientStatus {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the node is done with it: nothing of it runs, its resources are free.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Failed | Self::Lost)
    }
}

/// An allocation as the store, the log and the RPC have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alloc {
    pub id: AllocId,
    pub job: JobKey,
    /// The version it was placed for (or last updated to in place).
    pub job_version: u64,
    /// Tells a job from an earlier one of the same id that was purged.
    pub job_create_index: u64,
    /// The version itself, shared by all its allocations; never written out with one.
    #[serde(skip, default = "unlinked_job")]
    pub spec: Arc<Job>,
    pub group: Name,
    /// The slot it fills: `job.group[index]`.
    pub index: u32,
    pub eval_id: EvalId,
    pub node_id: NodeId,
    pub node_name: Name,
    pub resources: Arc<AllocatedResources>,
    pub metrics: Option<Arc<AllocMetric>>,
    pub desired: DesiredStatus,
    pub desired_description: String,
    pub transition: DesiredTransition,
    pub observed: Observed,
    pub deployment_id: Option<DeploymentId>,
    pub deployment_status: Option<AllocDeploymentStatus>,
    pub followup_eval: Option<EvalId>,
    pub previous: Option<AllocId>,
    pub next: Option<AllocId>,
    pub reschedule: Option<Arc<RescheduleTracker>>,
    pub preempted: Vec<AllocId>,
    pub preempted_by: Option<AllocId>,
    pub create_index: u64,
    pub modify_index: u64,
    /// Index of the last change by a server, not by the node.
    pub alloc_modify_index: u64,
    pub create_time: Nanos,
    pub modify_time: Nanos,
}

/// What the node reports of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    pub status: ClientStatus,
    pub description: String,
    pub tasks: Arc<Map<TaskState>>,
    pub network: Option<AllocNetworkStatus>,
}

fn unlinked_job() -> Arc<Job> {
    Arc::new(Job::default())
}

impl Alloc {
    /// `job.group[index]`.
    pub fn name(&self) -> String {
        format!("{}.{}[{}]", self.job.id, self.group, self.index)
    }

    /// Whether servers want it ended.
    pub fn is_server_terminal(&self) -> bool {
        self.desired != DesiredStatus::Run
    }

    /// Whether the node is done with it.
    pub fn is_client_terminal(&self) -> bool {
        self.observed.status.is_terminal()
    }

    /// Whether it counts as ended for either side.
    pub fn is_terminal(&self) -> bool {
        self.is_server_terminal() || self.is_client_terminal()
    }

    /// Whether it holds resources of its node. Only the observation frees them.
    pub fn holds_resources(&self) -> bool {
        !self.is_client_terminal()
    }

    /// Whether its tasks all ended well.
    pub fn ran_successfully(&self) -> bool {
        self.observed.status == ClientStatus::Complete
            && !self.observed.tasks.is_empty()
            && self.observed.tasks.values().all(|t| t.state == TaskPhase::Dead && !t.failed)
    }

    /// Whether it is a canary of its deployment.
    pub fn is_canary(&self) -> bool {
        self.deployment_status.as_ref().is_some_and(|d| d.canary)
    }

    /// Healthy, unhealthy, or not known yet.
    pub fn health(&self) -> Option<bool> {
        self.deployment_status.as_ref().and_then(|d| d.healthy)
    }

    /// When its last task ended; zero if none has.
    pub fn finished_at(&self) -> Nanos {
        self.observed.tasks.values().map(|t| t.finished_at.0).max().unwrap_or(0)
    }
}

wire_struct!(
    /// What an operator or a drain asked for.
    DesiredTransition {
        migrate: Option<bool>,
        reschedule: Option<bool>,
        force_reschedule: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        no_shutdown_delay: Option<bool>,
    }
);

impl DesiredTransition {
    /// Whether it has to move.
    pub fn should_migrate(&self) -> bool {
        self.migrate == Some(true)
    }
    /// Whether a new attempt is due even against the policy.
    pub fn should_force_reschedule(&self) -> bool {
        self.force_reschedule == Some(true)
    }
}

wire_struct!(
    /// Health in a deployment.
    AllocDeploymentStatus {
        healthy: Option<bool>,
        timestamp: Time,
        canary: bool,
        modify_index: u64,
    }
);
wire_struct!(
    /// The address of the allocation's own network.
    AllocNetworkStatus {
        interface_name: String,
        address: String,
        #[serde(rename = "AddressIPv6")]
        address_ipv6: String,
        #[serde(rename = "DNS")]
        dns: Option<DnsConfig>,
    }
);
wire_struct!(
    /// Earlier attempts of this slot.
    RescheduleTracker {
        events: List<RescheduleEvent>,
        #[serde(skip_serializing_if = "is_default")]
        last_reschedule: String,
    }
);
wire_struct!(
    /// One earlier attempt.
    RescheduleEvent {
        reschedule_time: Nanos,
        #[serde(rename = "PrevAllocID")]
        prev_alloc_id: AllocId,
        #[serde(rename = "PrevNodeID")]
        prev_node_id: NodeId,
        delay: Nanos,
    }
);
wire_struct!(
    /// What the scheduler gave to an allocation.
    AllocatedResources {
        tasks: Map<AllocatedTask>,
        task_lifecycles: Map<Option<crate::job::TaskLifecycle>>,
        shared: AllocatedShared,
    }
);
wire_struct!(
    /// What one task got.
    AllocatedTask {
        cpu: AllocatedCpu,
        memory: AllocatedMemory,
        networks: List<NetworkResource>,
        devices: Option<()>,
    }
);
wire_struct!(
    /// CPU in MHz, and reserved cores.
    AllocatedCpu {
        cpu_shares: i64,
        reserved_cores: List<u16>,
    }
);
wire_struct!(
    /// Memory in MiB; the second figure is the oversubscription limit.
    AllocatedMemory {
        #[serde(rename = "MemoryMB")]
        memory_mb: i64,
        #[serde(rename = "MemoryMaxMB")]
        memory_max_mb: i64,
    }
);
wire_struct!(
    /// What the tasks share.
    AllocatedShared {
        #[serde(rename = "DiskMB")]
        disk_mb: i64,
        networks: List<NetworkResource>,
        ports: List<PortMapping>,
    }
);
wire_struct!(
    /// A port of the host given to a label.
    PortMapping {
        label: String,
        value: i64,
        to: i64,
        #[serde(rename = "HostIP")]
        host_ip: String,
    }
);

impl AllocatedResources {
    /// CPU of all tasks, in MHz.
    pub fn cpu(&self) -> i64 {
        self.tasks.values().map(|t| t.cpu.cpu_shares).sum()
    }

    /// Memory of all tasks, in MiB.
    pub fn memory_mb(&self) -> i64 {
        self.tasks.values().map(|t| t.memory.memory_mb).sum()
    }

    /// Every host port held: shared ones and those of task networks.
    pub fn host_ports(&self) -> impl Iterator<Item = (&str, i64)> {
        let shared = self.shared.ports.iter().map(|p| (p.host_ip.as_str(), p.value));
        let tasks = self.tasks.values().flat_map(|t| t.networks.iter()).flat_map(|n| {
            n.reserved_ports.iter().chain(n.dynamic_ports.iter()).map(|p| (n.ip.as_str(), p.value))
        });
        shared.chain(tasks)
    }
}

wire_struct!(
    /// How the scheduler came to a placement, or why it could not place.
    AllocMetric {
        nodes_evaluated: i64,
        nodes_filtered: i64,
        nodes_in_pool: i64,
        #[serde(skip_serializing_if = "is_default")]
        node_pool: String,
        nodes_available: Map<i64>,
        class_filtered: Map<i64>,
        constraint_filtered: Map<i64>,
        nodes_exhausted: i64,
        class_exhausted: Map<i64>,
        dimension_exhausted: Map<i64>,
        quota_exhausted: List<String>,
        resources_exhausted: Map<crate::job::Resources>,
        scores: Map<f64>,
        allocation_time: Nanos,
        coalesced_failures: i64,
        score_meta_data: List<NodeScoreMeta>,
    }
);
wire_struct!(
    /// The scores of one node.
    NodeScoreMeta {
        #[serde(rename = "NodeID")]
        node_id: NodeId,
        scores: Map<f64>,
        norm_score: f64,
    }
);

/// Where a task stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskPhase {
    /// Not started.
    #[default]
    Pending,
    /// Its process runs.
    Running,
    /// It ended and will not start again.
    Dead,
}

impl TaskPhase {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Dead => "dead",
        }
    }
}

wire_struct!(
    /// What is known of one task.
    TaskState {
        state: TaskPhase,
        failed: bool,
        restarts: u64,
        #[serde(with = "null_time")]
        last_restart: Time,
        #[serde(with = "null_time")]
        started_at: Time,
        #[serde(with = "null_time")]
        finished_at: Time,
        events: List<TaskEvent>,
    }
);

/// How many events a task keeps; the oldest go first.
pub const TASK_EVENTS_MAX: usize = 10;

wire_struct!(
    /// Something that happened to a task. The wire's many old fields are made from the details.
    TaskEvent {
        #[serde(rename = "Type")]
        kind: String,
        time: Nanos,
        message: String,
        display_message: String,
        details: Map<String>,
    }
);

/// What a node reports of one allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AllocUpdate {
    pub id: AllocId,
    pub node: NodeId,
    pub status: ClientStatus,
    pub description: String,
    pub tasks: Map<TaskState>,
    pub network: Option<AllocNetworkStatus>,
    /// Health in the deployment, once it is known, and since when.
    pub health: Option<(bool, Time)>,
}
