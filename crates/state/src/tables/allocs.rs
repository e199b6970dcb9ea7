//! Allocations: the one place where their indexes and the counts derived from them are kept.

use std::sync::Arc;

use model::alloc::Alloc;
use model::ids::AllocId;

use super::{Tables, count, insert_into, is_live, remove_from};
use crate::changes::{Changes, Table};

impl Tables {
    /// Makes or replaces an allocation; every index and count follows from here.
    pub(crate) fn put_alloc(&mut self, changes: &mut Changes, index: u64, alloc: Alloc) {
        let old = self.allocs.get(&alloc.id).cloned();
        let mut freed = false;
        let belongs =
            |entry: &super::JobEntry, a: &Alloc| entry.job().create_index() == a.job_create_index;
        self.change_job(changes, &alloc.job, |entry| {
            if let Some(old) = old.as_ref().filter(|o| belongs(entry, o)) {
                count(&mut entry.counts, old, -1);
                entry.live_allocs -= u32::from(is_live(old));
            }
            if belongs(entry, &alloc) {
                count(&mut entry.counts, &alloc, 1);
                entry.live_allocs += u32::from(is_live(&alloc));
            }
            entry.summary_index = index;
        });
        match &old {
            None => {
                insert_into(&mut self.allocs_by_job, &alloc.job, alloc.id);
                insert_into(&mut self.allocs_by_node, &alloc.node_id, alloc.id);
                insert_into(&mut self.allocs_by_eval, &alloc.eval_id, alloc.id);
            }
            Some(old) => {
                freed = old.holds_resources() && !alloc.holds_resources();
                if old.eval_id != alloc.eval_id {
                    remove_from(&mut self.allocs_by_eval, &old.eval_id, &alloc.id);
                    insert_into(&mut self.allocs_by_eval, &alloc.eval_id, alloc.id);
                }
            }
        }
        let old_deployment = old.as_ref().and_then(|o| o.deployment_id);
        if old_deployment != alloc.deployment_id {
            if let Some(id) = old_deployment {
                remove_from(&mut self.allocs_by_deployment, &id, &alloc.id);
            }
            if let Some(id) = alloc.deployment_id {
                insert_into(&mut self.allocs_by_deployment, &id, alloc.id);
            }
        }
        if let Some(id) = alloc.deployment_id.filter(|id| !changes.deployments.contains(id)) {
            changes.deployments.push(id);
            changes.touch(Table::Deployments);
        }
        changes.room_freed |= freed;
        changes.allocs.push((alloc.id, alloc.node_id));
        changes.touch(Table::Allocs);
        self.allocs.insert(alloc.id, Arc::new(alloc));
    }

    /// Forgets a terminal allocation; a live one stays, whoever asked.
    pub(crate) fn remove_alloc(&mut self, changes: &mut Changes, id: &AllocId) {
        let Some(alloc) = self.allocs.get(id).filter(|a| !is_live(a)).cloned() else { return };
        self.allocs.remove(id);
        remove_from(&mut self.allocs_by_job, &alloc.job, id);
        remove_from(&mut self.allocs_by_node, &alloc.node_id, id);
        remove_from(&mut self.allocs_by_eval, &alloc.eval_id, id);
        if let Some(deployment) = alloc.deployment_id {
            remove_from(&mut self.allocs_by_deployment, &deployment, id);
        }
        self.change_job(changes, &alloc.job, |entry| {
            if entry.job().create_index() == alloc.job_create_index {
                count(&mut entry.counts, &alloc, -1);
            }
        });
        changes.nodes_to_tell.push(alloc.node_id);
        changes.touch(Table::Allocs);
    }
}
