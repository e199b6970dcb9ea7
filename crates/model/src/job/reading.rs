//! What a canonical job says: accessors and predicates, so that nobody unwraps options elsewhere.

use super::*;
use crate::ids::{JobKey, Name};
use crate::wire::Nanos;

/// Where jobs go that name no namespace.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The node pool of nodes and jobs that name none.
pub const DEFAULT_NODE_POOL: &str = "default";
/// The pool that holds every node.
pub const ALL_NODE_POOL: &str = "all";
/// The priority of a job that names none; jobs run from 1 to 100.
pub const DEFAULT_PRIORITY: i64 = 50;

/// Which scheduler serves a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobType {
    /// Keeps `count` allocations running.
    Service,
    /// Runs `count` allocations to completion.
    Batch,
    /// One allocation on every feasible node.
    System,
    /// Runs once on every feasible node.
    SysBatch,
}

impl JobType {
    /// The type of this wire name.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "service" => Self::Service,
            "batch" => Self::Batch,
            "system" => Self::System,
            "sysbatch" => Self::SysBatch,
            _ => return None,
        })
    }

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Batch => "batch",
            Self::System => "system",
            Self::SysBatch => "sysbatch",
        }
    }

    /// Whether a finished allocation fills its slot for good.
    pub fn runs_to_completion(self) -> bool {
        matches!(self, Self::Batch | Self::SysBatch)
    }
}

impl Job {
    /// The job's id, unique in its namespace.
    pub fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// The namespace, `default` when none is named.
    pub fn namespace(&self) -> &str {
        match self.namespace.as_deref() {
            None | Some("") => DEFAULT_NAMESPACE,
            Some(name) => name,
        }
    }

    /// The display name.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id())
    }

    /// Namespace and id.
    pub fn key(&self) -> JobKey {
        JobKey { namespace: Name::from(self.namespace()), id: Name::from(self.id()) }
    }

    /// The scheduler type; a job that names none is a service.
    pub fn job_type(&self) -> JobType {
        self.kind.as_deref().and_then(JobType::parse).unwrap_or(JobType::Service)
    }

    /// The priority, from 1 to 100.
    pub fn priority(&self) -> i64 {
        self.priority.unwrap_or(DEFAULT_PRIORITY)
    }

    /// The version, from 0.
    pub fn version(&self) -> u64 {
        self.version.unwrap_or(0)
    }

    /// Whether an operator stopped it.
    pub fn is_stopped(&self) -> bool {
        self.stop.unwrap_or(false)
    }

    /// The node pool it runs in.
    pub fn node_pool(&self) -> &str {
        match self.node_pool.as_deref() {
            None | Some("") => DEFAULT_NODE_POOL,
            Some(pool) => pool,
        }
    }

    /// Raft index of the entry that created it.
    pub fn create_index(&self) -> u64 {
        self.create_index.unwrap_or(0)
    }

    /// Raft index of its last change of any kind.
    pub fn modify_index(&self) -> u64 {
        self.modify_index.unwrap_or(0)
    }

    /// Raft index of the last change of its specification.
    pub fn job_modify_index(&self) -> u64 {
        self.job_modify_index.unwrap_or(0)
    }

    /// Whether it launches children by the clock.
    pub fn is_periodic(&self) -> bool {
        self.periodic.is_some()
    }

    /// Whether it waits for dispatches.
    pub fn is_parameterized(&self) -> bool {
        self.parameterized_job.is_some() && !self.dispatched
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&TaskGroup> {
        self.task_groups.iter().find(|g| g.name() == name)
    }
}

impl TaskGroup {
    /// The group's name, unique in its job.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// How many allocations are wanted.
    pub fn count(&self) -> u32 {
        u32::try_from(self.count.unwrap_or(1)).unwrap_or(0)
    }

    /// The task of this name.
    pub fn task(&self, name: &str) -> Option<&Task> {
        self.tasks.iter().find(|t| t.name == name)
    }

    /// MiB of disk the allocation directory may use.
    pub fn disk_mb(&self) -> i64 {
        self.ephemeral_disk.as_ref().and_then(|d| d.size_mb).unwrap_or(300)
    }

    /// How a new version replaces the old; `None` means at once.
    pub fn rolling_update(&self) -> Option<&UpdateStrategy> {
        self.update.as_ref().filter(|u| u.max_parallel.unwrap_or(1) > 0)
    }
}

impl UpdateStrategy {
    /// How many allocations may change at a time.
    pub fn max_parallel(&self) -> u32 {
        u32::try_from(self.max_parallel.unwrap_or(1)).unwrap_or(0)
    }

    /// How many canaries a change starts with.
    pub fn canary(&self) -> u32 {
        u32::try_from(self.canary.unwrap_or(0)).unwrap_or(0)
    }
}

/// Where in the allocation's life a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LifecycleHook {
    /// Before the main tasks.
    Prestart,
    /// With no hook: the allocation's purpose.
    Main,
    /// Once the main tasks run.
    Poststart,
    /// After the main tasks.
    Poststop,
}

impl Task {
    /// When the task runs.
    pub fn hook(&self) -> LifecycleHook {
        match self.lifecycle.as_ref().map(|l| l.hook.as_str()) {
            Some("prestart") => LifecycleHook::Prestart,
            Some("poststart") => LifecycleHook::Poststart,
            Some("poststop") => LifecycleHook::Poststop,
            _ => LifecycleHook::Main,
        }
    }

    /// Whether it stays beside the main tasks.
    pub fn is_sidecar(&self) -> bool {
        self.lifecycle.as_ref().is_some_and(|l| l.sidecar)
    }

    /// How long it may take to end after its kill signal, in nanoseconds.
    pub fn kill_timeout(&self) -> Nanos {
        self.kill_timeout.unwrap_or(5_000_000_000)
    }

    /// CPU asked for, in MHz.
    pub fn cpu(&self) -> i64 {
        self.resources.as_ref().and_then(|r| r.cpu).unwrap_or(100)
    }

    /// Memory asked for, in MiB.
    pub fn memory_mb(&self) -> i64 {
        self.resources.as_ref().and_then(|r| r.memory_mb).unwrap_or(300)
    }
}
