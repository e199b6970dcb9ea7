//! Who waits for changes: blocking queries, node polls, and the leader's loops (hop 9).

use std::collections::BTreeMap;
use std::time::Duration;

use model::ids::NodeId;
use parking_lot::Mutex;
use state::{Changes, Table};
use tokio::sync::watch;

/// The longest a blocking query may wait.
pub const WAIT_MAX: Duration = Duration::from_secs(600);
/// How long one waits that names no time.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(300);

/// The newest index of each table and of each node's allocations, to wait on.
#[derive(Debug)]
pub(crate) struct Watches {
    tables: Vec<watch::Sender<u64>>,
    nodes: Mutex<BTreeMap<NodeId, watch::Sender<u64>>>,
}

impl Watches {
    pub(crate) fn new() -> Self {
        let tables = state::changes::TABLES.iter().map(|_| watch::Sender::new(0)).collect();
        Self { tables, nodes: Mutex::default() }
    }

    /// Wakes whoever waits for what a command changed. Called after the new root is published.
    pub(crate) fn wake(&self, changes: &Changes) {
        for table in &changes.tables {
            self.tables[*table as usize].send_replace(changes.index);
        }
        if !changes.nodes_to_tell.is_empty() {
            let mut nodes = self.nodes.lock();
            for node in &changes.nodes_to_tell {
                if let Some(sender) = nodes.get(node) {
                    sender.send_replace(changes.index);
                    if sender.receiver_count() == 0 {
                        nodes.remove(node);
                    }
                }
            }
        }
        if !changes.nodes.is_empty() {
            // A node that is forgotten leaves nothing behind.
            let mut nodes = self.nodes.lock();
            for node in &changes.nodes {
                if nodes.get(node).is_some_and(|s| s.receiver_count() == 0) {
                    nodes.remove(node);
                }
            }
        }
    }

    /// Wakes everybody: the state was replaced by a snapshot.
    pub(crate) fn wake_all(&self, index: u64) {
        for table in &self.tables {
            table.send_replace(index);
        }
        for sender in self.nodes.lock().values() {
            sender.send_replace(index);
        }
    }

    pub(crate) fn table(&self, table: Table) -> watch::Receiver<u64> {
        self.tables[table as usize].subscribe()
    }

    pub(crate) fn node(&self, node: NodeId) -> watch::Receiver<u64> {
        self.nodes.lock().entry(node).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}

/// Waits until any of several watches changes.
pub(crate) async fn any_changed(watches: &mut [watch::Receiver<u64>]) {
    let changes = watches.iter_mut().map(|w| Box::pin(w.changed()));
    // An error means that the server is going down; the caller's deadline handles that.
    let _ = futures_util::future::select_all(changes).await;
}
