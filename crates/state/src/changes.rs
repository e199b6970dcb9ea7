//! What one command changed, for whoever watches.

use std::sync::Arc;

use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, JobKey, NodeId};

/// A table, as a watcher names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Jobs,
    Evals,
    Allocs,
    Nodes,
    Deployments,
    Config,
}

/// All tables, in the order of their indexes.
pub const TABLES: [Table; 6] =
    [Table::Jobs, Table::Evals, Table::Allocs, Table::Nodes, Table::Deployments, Table::Config];

/// What one command changed.
#[derive(Debug, Default)]
pub struct Changes {
    /// The log index of the command.
    pub index: u64,
    /// Tables whose index rose.
    pub tables: Vec<Table>,
    pub jobs: Vec<JobKey>,
    /// Evaluations as they now are.
    pub evals: Vec<Arc<Evaluation>>,
    /// Allocations changed by servers or nodes, with the node each belongs to.
    pub allocs: Vec<(AllocId, NodeId)>,
    /// Nodes whose set of allocations, or wishes about them, changed.
    pub nodes_to_tell: Vec<NodeId>,
    /// Nodes that registered, or changed status or eligibility.
    pub nodes: Vec<NodeId>,
    pub deployments: Vec<DeploymentId>,
    /// Whether room came free or nodes came in, so that blocked work may be tried again.
    pub room_freed: bool,
}

impl Changes {
    pub(crate) fn touch(&mut self, table: Table) {
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }
}
