//! Nodes.

use std::sync::Arc;

use model::ids::NodeId;
use model::node::{NODE_EVENTS_MAX, Node, NodeEvent};

use super::Tables;
use crate::changes::{Changes, Table};

impl Tables {
    /// Makes or replaces a node.
    pub(crate) fn put_node(&mut self, changes: &mut Changes, index: u64, mut node: Node) {
        node.create_index = self.nodes.get(&node.id).map_or(index, |old| old.create_index);
        node.modify_index = index;
        changes.touch(Table::Nodes);
        changes.nodes.push(node.id);
        changes.room_freed |= node.accepts_work();
        self.nodes.insert(node.id, Arc::new(node));
    }

    /// Forgets a node.
    pub(crate) fn remove_node(&mut self, changes: &mut Changes, id: &NodeId) {
        if self.nodes.remove(id).is_some() {
            changes.touch(Table::Nodes);
            changes.nodes.push(*id);
        }
    }
}

/// Appends an event, dropping the oldest beyond the limit.
pub(crate) fn add_event(node: &mut Node, index: u64, mut event: NodeEvent) {
    event.create_index = index;
    node.events.push(event);
    if node.events.len() > NODE_EVENTS_MAX {
        node.events.remove(0);
    }
}
