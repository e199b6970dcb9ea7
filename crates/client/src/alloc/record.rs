//! What is kept on disk of an allocation, and what everybody may know of it in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use drivers::TaskHandle;
use model::alloc::{Alloc, AllocUpdate, ClientStatus, TaskState};
use model::ids::{AllocId, JobKey, NodeId};
use model::wire::{Map, Nanos, Time};
use serde::{Deserialize, Serialize};

use crate::alloc::health::Verdict;
use crate::task::machine::Phase;
use crate::task::restart::Tracker;

/// Names one version of a job; all allocations of it share its copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct JobVersion {
    pub(crate) job: JobKey,
    pub(crate) create_index: u64,
    pub(crate) version: u64,
}

impl JobVersion {
    pub(crate) fn of(alloc: &Alloc) -> Self {
        Self {
            job: alloc.job.clone(),
            create_index: alloc.job_create_index,
            version: alloc.job_version,
        }
    }

    /// Its key on disk. Namespaces and ids hold no zero byte.
    pub(crate) fn key(&self) -> String {
        let Self { job, create_index, version } = self;
        format!("{}\0{}\0{create_index}\0{version}", job.namespace, job.id)
    }
}

/// A task that may go on after a restart of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskRecord {
    pub(crate) phase: Phase,
    pub(crate) state: TaskState,
    pub(crate) tracker: Tracker,
    pub(crate) handle: Option<TaskHandle>,
    pub(crate) starts: u64,
}

/// What changes of an allocation while it lives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    pub(crate) tasks: BTreeMap<String, TaskRecord>,
    pub(crate) health: Option<Verdict>,
    /// The previous allocation of the slot was waited for.
    pub(crate) begun: bool,
}

/// What is left of an allocation that has ended: small, whatever it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Final {
    pub(crate) view: View,
    pub(crate) finished_at: Nanos,
}

/// What may be known of an allocation outside its runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct View {
    pub(crate) status: ClientStatus,
    pub(crate) description: String,
    pub(crate) tasks: Arc<Map<TaskState>>,
    pub(crate) health: Option<Verdict>,
}

impl View {
    pub(crate) fn update(&self, id: AllocId, node: NodeId) -> AllocUpdate {
        AllocUpdate {
            id,
            node,
            status: self.status,
            description: self.description.clone(),
            tasks: (*self.tasks).clone(),
            network: None,
            health: self.health.map(|verdict| (verdict.healthy, Time(verdict.at))),
        }
    }
}
