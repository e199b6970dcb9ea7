//! Reports to the servers what became of allocations. Hop 16 of `job run`.
//!
//! A change is sent at once; what changes while a report is under way goes with the next one, and
//! of each allocation only the newest state. Nothing is dropped until the servers have taken it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::alloc::AllocUpdate;
use model::ids::AllocId;
use parking_lot::Mutex;
use rpc::{CallError, FaultKind, Request};
use tokio::sync::Notify;

use crate::backoff::Backoff;
use crate::session::{CALL_LIMIT, Session};

/// Allocations in one report; what is more goes with the next.
const UPDATES_PER_CALL_MAX: usize = 512;
const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What is to be reported. Bounded by the number of allocations.
#[derive(Default)]
pub(crate) struct Reports {
    pending: Mutex<BTreeMap<AllocId, AllocUpdate>>,
    wake: Notify,
}

impl Reports {
    pub(crate) fn add(&self, updates: Vec<AllocUpdate>) {
        self.pending.lock().extend(updates.into_iter().map(|update| (update.id, update)));
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<AllocUpdate> {
        let mut pending = self.pending.lock();
        let mut taken = std::mem::take(&mut *pending);
        if let Some(first_left) = taken.keys().nth(UPDATES_PER_CALL_MAX).copied() {
            *pending = taken.split_off(&first_left);
        }
        taken.into_values().collect()
    }

    /// Puts back what was not taken, unless there is newer news.
    fn give_back(&self, updates: Vec<AllocUpdate>) {
        let mut pending = self.pending.lock();
        for update in updates {
            pending.entry(update.id).or_insert(update);
        }
    }

    /// Sends until the client ends.
    pub(crate) async fn run(self: Arc<Self>, session: Arc<Session>) {
        let mut backoff = Backoff::new(WAIT_MIN, WAIT_MAX);
        loop {
            // A registered connection first: what comes until then goes with the first report.
            session.peer().await;
            let updates = self.take();
            if updates.is_empty() {
                self.wake.notified().await;
                continue;
            }
            let credential = session.credential();
            let request = Request::NodeUpdateAllocs { credential, updates };
            let answer = session.call(&request, CALL_LIMIT).await;
            let Request::NodeUpdateAllocs { updates, .. } = request else { continue };
            match answer {
                Ok(_) => backoff.reset(),
                Err(CallError::Fault(fault)) if fault.kind == FaultKind::Final => {
                    tracing::error!(%fault, count = updates.len(), "the servers refuse a report");
                }
                Err(error) => {
                    tracing::warn!(%error, "a report was not taken; trying again");
                    self.give_back(updates);
                    backoff.wait().await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::alloc::ClientStatus;
    use model::ids::NodeId;

    use super::*;

    fn update(name: &str, status: ClientStatus) -> AllocUpdate {
        AllocUpdate {
            id: AllocId::from_name(name),
            node: NodeId::default(),
            status,
            description: String::new(),
            tasks: Default::default(),
            network: None,
            health: None,
        }
    }

    #[test]
    fn the_newest_state_wins_over_one_that_was_not_taken() {
        let reports = Reports::default();
        reports.add(vec![update("a", ClientStatus::Running), update("b", ClientStatus::Running)]);
        let sent = reports.take();
        assert_eq!(sent.len(), 2);
        reports.add(vec![update("a", ClientStatus::Complete)]);
        reports.give_back(sent);
        let states: Vec<_> =
            reports.take().iter().map(|update| (update.id, update.status)).collect();
        let mut expected = vec![
            (AllocId::from_name("a"), ClientStatus::Complete),
            (AllocId::from_name("b"), ClientStatus::Running),
        ];
        expected.sort();
        assert_eq!(states, expected);
    }

    #[test]
    fn a_report_is_cut_at_its_limit() {
        let reports = Reports::default();
        let many = 0..UPDATES_PER_CALL_MAX + 3;
        reports.add(many.map(|n| update(&n.to_string(), ClientStatus::Running)).collect());
        assert_eq!(reports.take().len(), UPDATES_PER_CALL_MAX);
        assert_eq!(reports.take().len(), 3);
    }
}
