//! The queue of evaluations: one order for all that is ready, by priority, then age.
//!
//! Every evaluation that is not terminal is in exactly one place here: ready, held back behind
//! another one of its job, leased to the worker, delayed until its time, or blocked until room
//! comes free. What is here is a view of the state and can be rebuilt from it.
//!
//! ```text
//!        put ──► delayed ──time──► ready ──take──► leased ──done──► (gone)
//!         │                        ▲  ▲              │
//!         ├──► blocked ──room free─┘  └──give back───┘
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::eval::{EvalStatus, Evaluation};
use model::ids::{EvalId, JobKey};
use model::wire::{Nanos, SECOND};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::random;

/// How often an evaluation is tried before it fails and a follow-up is made.
pub(crate) const ATTEMPTS_MAX: u32 = 3;
/// How long the follow-up of a failed evaluation waits.
pub(crate) const FOLLOW_UP_WAIT: Nanos = 60 * SECOND;
/// How long the delay loop sleeps at most.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// Ready evaluations in the order they are taken: the smallest first.
type Place = (std::cmp::Reverse<i64>, u64, EvalId);

#[derive(Default)]
struct Queues {
    ready: BTreeMap<Place, Arc<Evaluation>>,
    /// The evaluation of each job that is ready or leased; others of the job wait.
    in_front: BTreeMap<JobKey, EvalId>,
    held_back: BTreeMap<JobKey, BTreeMap<Place, Arc<Evaluation>>>,
    leased: BTreeMap<EvalId, Arc<Evaluation>>,
    attempts: BTreeMap<EvalId, u32>,
    delayed: BTreeMap<(Nanos, EvalId), Arc<Evaluation>>,
    delayed_until: BTreeMap<EvalId, Nanos>,
    blocked: BTreeMap<Place, Arc<Evaluation>>,
    /// The index at which room last came free: what blocks on an older view is tried again.
    freed_at: u64,
}

/// A shared handle to the queues.
#[derive(Clone)]
pub(crate) struct EvalBroker {
    queues: Arc<Mutex<Queues>>,
    ready: Arc<Notify>,
    delays: Arc<Notify>,
}

/// How many evaluations are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BrokerFigures {
    pub ready: usize,
    pub held_back: usize,
    pub leased: usize,
    pub delayed: usize,
    pub blocked: usize,
}

fn place(eval: &Evaluation) -> Place {
    (std::cmp::Reverse(eval.priority), eval.create_index, eval.id)
}

impl EvalBroker {
    pub(crate) fn new() -> Self {
        Self {
            queues: Arc::default(),
            ready: Arc::new(Notify::new()),
            delays: Arc::new(Notify::new()),
        }
    }

    /// Starts over from the evaluations of the state, in which room last came free at an index.
    pub(crate) fn refill(&self, evals: impl Iterator<Item = Arc<Evaluation>>, freed_at: u64) {
        *self.queues.lock() = Queues { freed_at, ..Queues::default() };
        evals.for_each(|eval| self.put(eval));
    }

    /// Puts an evaluation where it belongs, as its newest status says.
    pub(crate) fn put(&self, eval: Arc<Evaluation>) {
        let mut queues = self.queues.lock();
        queues.forget(&eval);
        match eval.status {
            EvalStatus::Pending if eval.wait_until.0 > random::now() => {
                queues.delay(eval.wait_until.0, eval);
                self.delays.notify_one();
            }
            EvalStatus::Pending => {
                queues.enqueue(eval);
                self.ready.notify_one();
            }
            // Room came free while it was being decided.
            EvalStatus::Blocked if eval.snapshot_index < queues.freed_at => {
                queues.enqueue(eval);
                self.ready.notify_one();
            }
            EvalStatus::Blocked => {
                queues.blocked.insert(place(&eval), eval);
            }
            EvalStatus::Complete | EvalStatus::Failed | EvalStatus::Cancelled => {}
        }
    }

    /// Room came free at an index: whatever was blocked may be tried again, the most important
    /// first.
    pub(crate) fn unblock(&self, index: u64) {
        let mut queues = self.queues.lock();
        queues.freed_at = queues.freed_at.max(index);
        let blocked = std::mem::take(&mut queues.blocked);
        let any = !blocked.is_empty();
        for eval in blocked.into_values() {
            queues.enqueue(eval);
        }
        if any {
            self.ready.notify_one();
        }
    }

    /// Waits for ready evaluations and leases up to `limit` of them, no two of one job.
    pub(crate) async fn take(&self, limit: usize) -> Vec<Evaluation> {
        loop {
            let woken = self.ready.notified();
            let batch = self.queues.lock().lease(limit);
            if !batch.is_empty() {
                return batch;
            }
            woken.await;
        }
    }

    /// The evaluation's outcome is committed: the next one of its job may come.
    pub(crate) fn done(&self, id: &EvalId) {
        let mut queues = self.queues.lock();
        queues.attempts.remove(id);
        if queues.release(id).is_some() {
            self.ready.notify_one();
        }
    }

    /// The evaluation was not carried out. Says whether it is tried again.
    pub(crate) fn give_back(&self, id: &EvalId) -> bool {
        let mut queues = self.queues.lock();
        let attempts = queues.attempts.entry(*id).or_insert(0);
        *attempts += 1;
        if *attempts >= ATTEMPTS_MAX {
            return false;
        }
        if let Some(eval) = queues.release(id) {
            queues.enqueue(eval);
        }
        self.ready.notify_one();
        true
    }

    /// Neither the outcome of an evaluation nor its failure could be recorded: it is tried again
    /// at a time, so that none is left nowhere.
    pub(crate) fn retry_at(&self, id: &EvalId, time: Nanos) {
        let mut queues = self.queues.lock();
        queues.attempts.remove(id);
        if let Some(eval) = queues.release(id) {
            queues.delay(time, eval);
        }
        self.delays.notify_one();
        self.ready.notify_one();
    }

    /// Moves evaluations to the ready queue when their time comes.
    pub(crate) async fn run_delays(self, stop: CancellationToken) {
        loop {
            let next = self.queues.lock().delayed.keys().next().map(|(time, _)| *time);
            let now = random::now();
            let sleep = match next {
                Some(time) if time <= now => {
                    self.release_due(now);
                    continue;
                }
                Some(time) => {
                    Duration::from_nanos(u64::try_from(time - now).unwrap_or(0)).min(SLEEP_MAX)
                }
                None => SLEEP_MAX,
            };
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.delays.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    fn release_due(&self, now: Nanos) {
        let mut queues = self.queues.lock();
        while let Some(entry) = queues.delayed.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let eval = entry.remove();
            queues.delayed_until.remove(&eval.id);
            queues.enqueue(eval);
        }
        self.ready.notify_one();
    }

    pub(crate) fn figures(&self) -> BrokerFigures {
        let queues = self.queues.lock();
        BrokerFigures {
            ready: queues.ready.len(),
            held_back: queues.held_back.values().map(BTreeMap::len).sum(),
            leased: queues.leased.len(),
            delayed: queues.delayed.len(),
            blocked: queues.blocked.len(),
        }
    }
}

impl Queues {
    fn enqueue(&mut self, eval: Arc<Evaluation>) {
        let job = eval.job();
        match self.in_front.get(&job) {
            Some(front) if *front != eval.id || self.leased.contains_key(front) => {
                self.held_back.entry(job).or_default().insert(place(&eval), eval);
            }
            _ => {
                self.in_front.insert(job, eval.id);
                self.ready.insert(place(&eval), eval);
            }
        }
    }

    fn delay(&mut self, until: Nanos, eval: Arc<Evaluation>) {
        self.delayed_until.insert(eval.id, until);
        self.delayed.insert((until, eval.id), eval);
    }

    fn lease(&mut self, limit: usize) -> Vec<Evaluation> {
        let mut batch = Vec::new();
        while batch.len() < limit {
            let Some((_, eval)) = self.ready.pop_first() else { break };
            batch.push(Evaluation::clone(&eval));
            self.leased.insert(eval.id, eval);
        }
        batch
    }

    /// Ends a lease and lets the next evaluation of the job come forward.
    fn release(&mut self, id: &EvalId) -> Option<Arc<Evaluation>> {
        let eval = self.leased.remove(id)?;
        let job = eval.job();
        self.in_front.remove(&job);
        if let Some(waiting) = self.held_back.get_mut(&job) {
            let next = waiting.pop_first();
            if waiting.is_empty() {
                self.held_back.remove(&job);
            }
            if let Some((_, next)) = next {
                self.enqueue(next);
            }
        }
        Some(eval)
    }

    /// Takes an evaluation out of wherever it waits; a lease is left to its holder.
    fn forget(&mut self, eval: &Evaluation) {
        let key = place(eval);
        self.blocked.remove(&key);
        if let Some(until) = self.delayed_until.remove(&eval.id) {
            self.delayed.remove(&(until, eval.id));
        }
        if self.ready.remove(&key).is_some() && self.in_front.get(&eval.job()) == Some(&eval.id) {
            self.in_front.remove(&eval.job());
            if let Some(waiting) = self.held_back.get_mut(&eval.job())
                && let Some((_, next)) = waiting.pop_first()
            {
                self.enqueue(next);
            }
        }
        if let Some(waiting) = self.held_back.get_mut(&eval.job()) {
            waiting.remove(&key);
            if waiting.is_empty() {
                self.held_back.remove(&eval.job());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(
        name: &str,
        job: &str,
        priority: i64,
        index: u64,
        status: EvalStatus,
    ) -> Arc<Evaluation> {
        Arc::new(Evaluation {
            id: EvalId::from_name(name),
            namespace: "default".to_owned(),
            job_id: job.to_owned(),
            priority,
            create_index: index,
            status,
            ..Evaluation::default()
        })
    }

    fn jobs(batch: &[Evaluation]) -> Vec<&str> {
        batch.iter().map(|e| e.job_id.as_str()).collect()
    }

    #[tokio::test]
    async fn takes_by_priority_then_age_and_one_of_a_job_at_a_time() {
        let broker = EvalBroker::new();
        broker.put(eval("1", "a", 50, 1, EvalStatus::Pending));
        broker.put(eval("2", "a", 50, 2, EvalStatus::Pending));
        broker.put(eval("3", "b", 90, 3, EvalStatus::Pending));
        broker.put(eval("4", "c", 50, 4, EvalStatus::Pending));
        let batch = broker.take(10).await;
        assert_eq!(jobs(&batch), ["b", "a", "c"]);
        assert_eq!(broker.figures().held_back, 1);
        broker.done(&EvalId::from_name("1"));
        assert_eq!(jobs(&broker.take(10).await), ["a"]);
    }

    #[tokio::test]
    async fn blocked_work_comes_back_when_room_comes_free_even_while_it_is_being_decided() {
        let broker = EvalBroker::new();
        broker.put(eval("1", "a", 50, 1, EvalStatus::Blocked));
        broker.put(eval("2", "b", 70, 2, EvalStatus::Blocked));
        broker.unblock(5);
        assert_eq!(jobs(&broker.take(1).await), ["b"]);
        // Room comes free while `b` is decided; its outcome says blocked again.
        broker.unblock(6);
        broker.put(decided("2", "b", 70, 5));
        broker.done(&EvalId::from_name("2"));
        assert_eq!(jobs(&broker.take(10).await), ["b", "a"]);
    }

    /// An evaluation that blocked on the view of an index.
    fn decided(name: &str, job: &str, priority: i64, seen: u64) -> Arc<Evaluation> {
        let blocked = eval(name, job, priority, 2, EvalStatus::Blocked);
        Arc::new(Evaluation { snapshot_index: seen, ..Evaluation::clone(&blocked) })
    }

    #[tokio::test]
    async fn room_that_came_free_before_the_outcome_is_heard_of_is_not_missed() {
        // The outcome is answered before the queues hear of it, whatever came between.
        let broker = EvalBroker::new();
        broker.put(eval("2", "b", 50, 2, EvalStatus::Pending));
        broker.take(1).await;
        broker.done(&EvalId::from_name("2"));
        broker.unblock(6);
        broker.put(decided("2", "b", 50, 5));
        assert_eq!(jobs(&broker.take(1).await), ["b"]);
        broker.done(&EvalId::from_name("2"));
        // A blocked evaluation made by another one was never leased itself.
        broker.put(decided("3", "c", 50, 5));
        assert_eq!(jobs(&broker.take(1).await), ["c"]);
        broker.put(decided("4", "d", 50, 6));
        assert_eq!(broker.figures().blocked, 1, "it saw the room and did not fit");
    }

    #[tokio::test]
    async fn one_job_never_has_two_evaluations_out_at_once() {
        let broker = EvalBroker::new();
        broker.put(eval("2", "b", 50, 2, EvalStatus::Pending));
        broker.take(1).await;
        broker.unblock(9);
        broker.put(decided("2", "b", 50, 5));
        broker.put(eval("7", "b", 50, 7, EvalStatus::Pending));
        assert_eq!((broker.figures().ready, broker.figures().held_back), (0, 2));
        broker.done(&EvalId::from_name("2"));
        assert_eq!(jobs(&broker.take(10).await), ["b"]);
        broker.done(&EvalId::from_name("2"));
        assert_eq!(jobs(&broker.take(10).await), ["b"]);
        broker.done(&EvalId::from_name("7"));
        assert_eq!(broker.figures(), BrokerFigures::default());
    }

    #[tokio::test]
    async fn an_evaluation_that_could_not_even_fail_is_tried_later() {
        let broker = EvalBroker::new();
        broker.put(eval("1", "a", 50, 1, EvalStatus::Pending));
        broker.put(eval("2", "a", 50, 2, EvalStatus::Pending));
        broker.take(1).await;
        broker.retry_at(&EvalId::from_name("1"), Nanos::MAX);
        assert_eq!((broker.figures().delayed, broker.figures().ready), (1, 1));
        broker.put(eval("1", "a", 50, 1, EvalStatus::Cancelled));
        assert_eq!(broker.figures().delayed, 0);
    }

    #[tokio::test]
    async fn gives_up_after_the_last_attempt() {
        let broker = EvalBroker::new();
        let id = EvalId::from_name("1");
        broker.put(eval("1", "a", 50, 1, EvalStatus::Pending));
        for _ in 1..ATTEMPTS_MAX {
            broker.take(1).await;
            assert!(broker.give_back(&id));
        }
        broker.take(1).await;
        assert!(!broker.give_back(&id));
    }
}
