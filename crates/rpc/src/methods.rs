//! The method table: what may be asked, and what is answered.
//!
//! Messages are named msgpack, so that fields can be added with defaults.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use model::alloc::{Alloc, AllocUpdate};
use model::ids::{AllocId, NodeId};
use model::job::Job;
use model::node::Node;
use model::wire::Nanos;

/// Who asks, and the proof of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCredential {
    pub node: NodeId,
    /// The node's secret; never logged.
    pub secret: String,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// A node tells what it is. Also marks the connection as that node's.
    NodeRegister { node: Box<Node> },
    /// A node lives.
    NodeHeartbeat { credential: NodeCredential },
    /// A long poll for changes of the node's allocations.
    NodeAllocs {
        credential: NodeCredential,
        /// Answer only when something is newer than this index.
        since: u64,
        /// How long to wait at most.
        wait: Nanos,
    },
    /// What became of allocations.
    NodeUpdateAllocs { credential: NodeCredential, updates: Vec<AllocUpdate> },
}

/// The answer to the request of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    NodeRegister {
        /// Send the next heartbeat within this time.
        heartbeat_ttl: Nanos,
    },
    NodeHeartbeat {
        heartbeat_ttl: Nanos,
        /// The servers know the node; otherwise it has to register again.
        known: bool,
    },
    NodeAllocs(NodeAllocs),
    NodeUpdateAllocs,
}

/// The allocations of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeAllocs {
    /// Ask for what is newer than this next time.
    pub index: u64,
    /// Every allocation the servers know for the node; one that is missing was collected.
    pub all: Vec<AllocId>,
    /// Those that servers changed after `since`. Their `spec` is empty: see `specs`.
    pub changed: Vec<Arc<Alloc>>,
    /// The job versions that `changed` refers to, each once.
    pub specs: Vec<Arc<Job>>,
}

/// What kind of failure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// Try again, perhaps elsewhere: no leader, overloaded, shutting down.
    Retry,
    /// The caller is not who it says, or may not.
    Denied,
    /// What it is about does not exist.
    NotFound,
    /// Asking again will not help.
    Final,
}

/// A request that was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
