//! Tells what changed: to the disk first, then to the servers and to whoever watches.

use std::sync::Arc;

use model::job::LifecycleHook;

use super::{Runner, Slot};
use crate::alloc::ordering;
use crate::alloc::record::{Progress, TaskRecord, View};
use crate::clock;
use crate::task::events;

impl Runner {
    pub(super) fn observe_health(&mut self) {
        let Some(mut watch) = self.health.take() else { return };
        let restarts = self.slots.iter().map(|slot| slot.machine.state.restarts).sum();
        let reason = watch.observe(&self.views(), restarts, clock::now());
        if watch.verdict() != self.verdict {
            self.verdict = watch.verdict();
            self.changed = true;
        }
        self.health = Some(watch);
        if let Some(reason) = reason {
            let views = self.views().into_iter().map(|view| {
                // A failed task has said so itself.
                !view.failed && view.hook == LifecycleHook::Main
            });
            let told: Vec<bool> = views.collect();
            for (slot, _) in self.slots.iter_mut().zip(told).filter(|(_, told)| *told) {
                slot.machine.note(events::unhealthy(clock::now(), &reason));
            }
        }
    }

    pub(super) fn tell(&mut self) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let view = self.current_view();
        if !self.removed {
            let report = view.update(self.alloc.id, self.shared.node_id);
            self.shared.store.put_progress(self.alloc.id, &self.progress(), report);
        }
        self.view.send_replace(Arc::new(view));
    }

    /// As it is now. The end is not in it while this loop runs: it is told with the final record.
    pub(super) fn current_view(&self) -> View {
        let (status, description) = ordering::status(&self.views());
        let states =
            self.slots.iter().map(|slot| (slot.name.clone(), slot.machine.state.clone())).collect();
        View {
            status,
            description: description.to_owned(),
            tasks: Arc::new(states),
            health: self.verdict,
        }
    }

    fn progress(&self) -> Progress {
        let record = |slot: &Slot| {
            let record = TaskRecord {
                phase: slot.machine.phase,
                state: slot.machine.state.clone(),
                tracker: slot.machine.tracker,
                handle: slot.handle.clone(),
                starts: slot.starts,
            };
            (slot.name.clone(), record)
        };
        Progress {
            tasks: self.slots.iter().map(record).collect(),
            health: self.verdict,
            begun: self.begun,
        }
    }
}
