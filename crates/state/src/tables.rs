//! The tables and their indexes: persistent maps, so that a snapshot is a few pointers.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use model::alloc::{Alloc, ClientStatus};
use model::api::GroupSummary;
use model::deployment::Deployment;
use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, EvalId, JobKey, Name, NodeId};
use model::job::{Job, JobSubmission};
use model::node::Node;

use crate::changes::{TABLES, Table};
use crate::command::SchedulerConfig;

mod allocs;
mod deployments;
mod evals;
pub mod jobs;
pub(crate) mod nodes;

/// How many versions of a job are kept, beside those that carry a tag or that allocations use.
pub const JOB_TRACKED_VERSIONS: usize = 6;

/// One root of the state.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    pub(crate) index: u64,
    table_index: [u64; TABLES.len()],
    pub(crate) jobs: OrdMap<JobKey, Arc<JobEntry>>,
    pub(crate) evals: OrdMap<EvalId, Arc<Evaluation>>,
    pub(crate) evals_by_job: OrdMap<JobKey, OrdSet<EvalId>>,
    pub(crate) allocs: OrdMap<AllocId, Arc<Alloc>>,
    pub(crate) allocs_by_job: OrdMap<JobKey, OrdSet<AllocId>>,
    pub(crate) allocs_by_node: OrdMap<NodeId, OrdSet<AllocId>>,
    pub(crate) allocs_by_eval: OrdMap<EvalId, OrdSet<AllocId>>,
    pub(crate) allocs_by_deployment: OrdMap<DeploymentId, OrdSet<AllocId>>,
    pub(crate) nodes: OrdMap<NodeId, Arc<Node>>,
    pub(crate) deployments: OrdMap<DeploymentId, Arc<Deployment>>,
    pub(crate) deployments_by_job: OrdMap<JobKey, OrdSet<DeploymentId>>,
    pub(crate) config: Arc<SchedulerConfig>,
}

/// A job, its kept versions, and what is derived from its allocations and evaluations.
#[derive(Debug, Clone, Default)]
pub struct JobEntry {
    /// Newest first; the first is the current one.
    pub versions: Vec<Arc<Job>>,
    /// The sources of kept versions.
    pub submissions: BTreeMap<u64, Arc<JobSubmission>>,
    /// Derived from the allocations, kept as they change.
    pub counts: BTreeMap<Name, GroupSummary>,
    /// Allocations still wanted but not placed, as the newest evaluation says.
    pub queued: BTreeMap<String, i64>,
    /// Allocations that are not terminal for both sides.
    pub live_allocs: u32,
    /// Evaluations that are not terminal.
    pub open_evals: u32,
    /// Index of the last change of any of these figures.
    pub summary_index: u64,
}

impl JobEntry {
    /// The current version.
    pub fn job(&self) -> &Arc<Job> {
        self.versions.first().expect("an entry is made with a version and never loses its first")
    }
}

impl Tables {
    /// The log index of this root.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The index of a table's last change.
    pub fn table_index(&self, table: Table) -> u64 {
        self.table_index[table as usize]
    }

    pub(crate) fn finish(&mut self, index: u64, touched: &[Table]) {
        self.index = self.index.max(index);
        for table in touched {
            self.table_index[*table as usize] = index;
        }
    }

    pub(crate) fn restore_indexes(&mut self, index: u64, tables: &[u64]) {
        self.index = index;
        for (slot, value) in self.table_index.iter_mut().zip(tables) {
            *slot = *value;
        }
    }

    pub(crate) fn table_indexes(&self) -> Vec<u64> {
        self.table_index.to_vec()
    }
}

/// Puts a member into the set of a key.
fn insert_into<K: Ord + Clone, V: Ord + Clone>(
    index: &mut OrdMap<K, OrdSet<V>>,
    key: &K,
    value: V,
) {
    if let Some(set) = index.get_mut(key) {
        set.insert(value);
    } else {
        index.insert(key.clone(), OrdSet::unit(value));
    }
}

/// Takes a member out of the set of a key, and the key with its last member.
fn remove_from<K: Ord + Clone, V: Ord + Clone>(
    index: &mut OrdMap<K, OrdSet<V>>,
    key: &K,
    value: &V,
) {
    if let Some(set) = index.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            index.remove(key);
        }
    }
}

/// Adds an allocation to, or takes it from, the derived counts of its group.
fn count(counts: &mut BTreeMap<Name, GroupSummary>, alloc: &Alloc, by: i64) {
    let group = counts.entry(alloc.group.clone()).or_default();
    let slot = match alloc.observed.status {
        ClientStatus::Pending => &mut group.starting,
        ClientStatus::Running => &mut group.running,
        ClientStatus::Complete => &mut group.complete,
        ClientStatus::Failed => &mut group.failed,
        ClientStatus::Lost => &mut group.lost,
        ClientStatus::Unknown => &mut group.unknown,
    };
    *slot += by;
}

/// Whether an allocation keeps its job alive: something of it runs, or should.
pub(crate) fn is_live(alloc: &Alloc) -> bool {
    let never_starts = alloc.is_server_terminal() && alloc.observed.status == ClientStatus::Pending;
    !alloc.is_client_terminal() && !never_starts
}

pub(crate) fn count_into(counts: &mut BTreeMap<Name, GroupSummary>, alloc: &Alloc) {
    count(counts, alloc, 1);
}
