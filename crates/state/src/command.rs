//! The vocabulary of writes: one variant per write, the only way the state changes.
//!
//! A log entry is a format byte followed by one command as named msgpack, so that fields can be
//! added with defaults. Uniqueness, idempotency and compare-and-set are checked inside apply.

use serde::{Deserialize, Serialize};

use model::alloc::{AllocUpdate, DesiredTransition};
use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, EvalId, JobKey, NodeId};
use model::job::{Job, JobSubmission};
use model::node::{Node, NodeEvent, NodeStatus};
use model::plan::{DeploymentUpdate, Plan};
use model::wire::Nanos;

/// The format number that starts every log entry; readers refuse a later one.
pub const COMMAND_FORMAT: u8 = 1;

/// One write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// A node registers, or registers anew with other facts.
    RegisterNode { node: Box<Node>, now: Nanos },
    /// Nodes change their status together.
    NodeStatus {
        nodes: Vec<NodeId>,
        status: NodeStatus,
        event: Option<NodeEvent>,
        /// Evaluations for the jobs that this touches.
        evals: Vec<Evaluation>,
        now: Nanos,
    },
    /// An operator opens or closes a node for new work.
    NodeEligibility {
        node: NodeId,
        eligible: bool,
        event: Option<NodeEvent>,
        evals: Vec<Evaluation>,
        now: Nanos,
    },
    /// A job is registered.
    RegisterJob {
        job: Box<Job>,
        submission: Option<Box<JobSubmission>>,
        eval: Option<Box<Evaluation>>,
        /// The job's modify index the caller saw; 0 means it must not exist.
        enforce_index: Option<u64>,
        now: Nanos,
    },
    /// A job is stopped, and forgotten if `purge` is set.
    DeregisterJob {
        job: JobKey,
        purge: bool,
        /// Its allocations end without the delays of their groups and tasks.
        #[serde(default)]
        no_shutdown_delay: bool,
        eval: Option<Box<Evaluation>>,
        now: Nanos,
    },
    /// An operator says whether a version is good.
    JobStability { job: JobKey, version: u64, stable: bool },
    /// Evaluations are made or change their status.
    UpsertEvals { evals: Vec<Evaluation>, now: Nanos },
    /// A verified plan, the outcome of its evaluation and what follows from it, in one entry.
    ApplyPlan { plan: Box<Plan>, evals: Vec<Evaluation>, now: Nanos },
    /// Nodes report on their allocations.
    UpdateAllocs { updates: Vec<AllocUpdate>, evals: Vec<Evaluation>, now: Nanos },
    /// An operator or a drain asks allocations to move or restart.
    Transition { allocs: Vec<(AllocId, DesiredTransition)>, evals: Vec<Evaluation>, now: Nanos },
    /// A deployment changes its status; a failed one may bring an older job version back.
    DeploymentStatus {
        update: DeploymentUpdate,
        eval: Option<Box<Evaluation>>,
        /// The version to bring back, registered as a new one.
        revert: Option<Box<Job>>,
        /// Marks the deployed version as stable.
        stable: bool,
        now: Nanos,
    },
    /// Canaries of these groups (all when empty) become the version that runs.
    DeploymentPromote {
        id: DeploymentId,
        groups: Vec<String>,
        eval: Option<Box<Evaluation>>,
        now: Nanos,
    },
    /// An operator says which allocations are healthy.
    DeploymentHealth {
        id: DeploymentId,
        healthy: Vec<AllocId>,
        unhealthy: Vec<AllocId>,
        eval: Option<Box<Evaluation>>,
        now: Nanos,
    },
    /// The scheduler's settings.
    SetSchedulerConfig { config: SchedulerConfig, enforce_index: Option<u64> },
    /// Objects past their retention are forgotten. What has come back to life meanwhile stays.
    Collect {
        evals: Vec<EvalId>,
        allocs: Vec<AllocId>,
        deployments: Vec<DeploymentId>,
        jobs: Vec<JobKey>,
        nodes: Vec<NodeId>,
    },
}

/// How the scheduler works, for the whole region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SchedulerConfig {
    pub scheduler_algorithm: String,
    pub preemption_config: PreemptionConfig,
    pub memory_oversubscription_enabled: bool,
    pub reject_job_registration: bool,
    pub pause_eval_broker: bool,
    pub create_index: u64,
    pub modify_index: u64,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            scheduler_algorithm: "binpack".to_owned(),
            preemption_config: PreemptionConfig::default(),
            memory_oversubscription_enabled: false,
            reject_job_registration: false,
            pause_eval_broker: false,
            create_index: 0,
            modify_index: 0,
        }
    }
}

/// For which job types less important work may be evicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PreemptionConfig {
    pub system_scheduler_enabled: bool,
    pub sys_batch_scheduler_enabled: bool,
    pub batch_scheduler_enabled: bool,
    pub service_scheduler_enabled: bool,
}

impl Default for PreemptionConfig {
    fn default() -> Self {
        Self {
            system_scheduler_enabled: true,
            sys_batch_scheduler_enabled: false,
            batch_scheduler_enabled: false,
            service_scheduler_enabled: false,
        }
    }
}

/// What apply answers the one who proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Response {
    /// Done.
    Done,
    /// Nothing was changed, and why.
    Refused(Refusal),
}

/// Why apply changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    #[error("Enforcing job modify index 0: job already exists")]
    JobExists { modify_index: u64 },
    #[error("Enforcing job modify index {wanted}: job does not exist")]
    JobMissingForIndex { wanted: u64 },
    #[error(
        "Enforcing job modify index {wanted}: job exists with conflicting job modify index: {actual}"
    )]
    JobIndexConflict { wanted: u64, actual: u64 },
    #[error("job {0:?} not found")]
    JobNotFound(String),
    #[error("job version not found")]
    VersionNotFound,
    #[error("node not found")]
    NodeNotFound,
    #[error("deployment not found")]
    DeploymentNotFound,
    #[error("deployment is not active any more")]
    DeploymentInactive,
    #[error("{0}")]
    Promotion(String),
    #[error("the job has changed since the plan was made")]
    PlanStale,
    #[error("scheduler configuration was changed meanwhile: index {actual}")]
    ConfigConflict { actual: u64 },
}

/// A log entry that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the log entry is empty")]
    Empty,
    #[error("the log entry has format {0}, this version reads up to {COMMAND_FORMAT}")]
    Format(u8),
    #[error("the log entry cannot be decoded")]
    Body(#[source] rmp_serde::decode::Error),
}

impl Command {
    /// The bytes of a log entry.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![COMMAND_FORMAT];
        rmp_serde::encode::write_named(&mut out, self).expect("writing to memory cannot fail");
        out
    }

    /// The command of a log entry.
    ///
    /// # Errors
    /// The bytes are of a later format or damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (format, body) = bytes.split_first().ok_or(DecodeError::Empty)?;
        if *format > COMMAND_FORMAT {
            return Err(DecodeError::Format(*format));
        }
        rmp_serde::from_slice(body).map_err(DecodeError::Body)
    }
}

impl Response {
    /// The bytes handed back through the log.
    pub fn encode(&self) -> Vec<u8> {
        rmp_serde::to_vec_named(self).expect("writing to memory cannot fail")
    }

    /// The response in those bytes.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        rmp_serde::from_slice(bytes).map_err(DecodeError::Body)
    }
}
