//! Which node is due when, and what follows when one stays silent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use model::eval::Evaluation;
use model::ids::{JobKey, NodeId};
use model::job::Job;
use model::node::{NodeEvent, NodeStatus};
use model::wire::{Nanos, Time};
use parking_lot::Mutex;
use state::{Command, Snapshot};
use tokio::sync::Notify;

use crate::random;
use crate::server::Server;

/// How long the loop sleeps when no node is expected.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// The deadlines of all nodes that are up. Time here is the monotonic clock: a jump of the time of
/// day never takes nodes down.
pub(crate) struct Heartbeats {
    due: Mutex<Deadlines>,
    changed: Notify,
}

#[derive(Default)]
struct Deadlines {
    by_node: BTreeMap<NodeId, Instant>,
    by_time: BTreeSet<(Instant, NodeId)>,
}

impl Heartbeats {
    pub(crate) fn new() -> Self {
        Self { due: Mutex::default(), changed: Notify::new() }
    }

    /// Expects the next heartbeat of a node within `ttl` and the grace.
    pub(crate) fn expect(&self, node: NodeId, ttl: Nanos, grace: Duration) {
        let deadline =
            Instant::now() + Duration::from_nanos(u64::try_from(ttl).unwrap_or(0)) + grace;
        let mut due = self.due.lock();
        if let Some(old) = due.by_node.insert(node, deadline) {
            due.by_time.remove(&(old, node));
        }
        due.by_time.insert((deadline, node));
        if due.by_time.first() == Some(&(deadline, node)) {
            self.changed.notify_one();
        }
    }

    fn next(&self) -> Option<Instant> {
        self.due.lock().by_time.first().map(|(time, _)| *time)
    }

    /// Takes out the nodes whose time has passed.
    fn overdue(&self, now: Instant) -> Vec<NodeId> {
        let mut due = self.due.lock();
        let mut late = Vec::new();
        while let Some((time, node)) = due.by_time.first().copied().filter(|(time, _)| *time <= now)
        {
            due.by_time.remove(&(time, node));
            due.by_node.remove(&node);
            late.push(node);
        }
        late
    }
}

/// Takes silent nodes down until the server stops.
pub(crate) async fn run(server: Server) {
    let leader = server.inner.leader.clone();
    loop {
        let sleep = match leader.heartbeats.next() {
            Some(time) => time.saturating_duration_since(Instant::now()),
            None => SLEEP_MAX,
        };
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = leader.heartbeats.changed.notified() => continue,
            () = server.inner.stop.cancelled() => return,
        }
        let late = leader.heartbeats.overdue(Instant::now());
        if late.is_empty() {
            continue;
        }
        let snapshot = server.snapshot();
        let now = random::now();
        let silent: Vec<NodeId> = late
            .into_iter()
            .filter(|id| snapshot.node(id).is_some_and(|n| n.status != NodeStatus::Down))
            .collect();
        if silent.is_empty() {
            continue;
        }
        tracing::warn!(nodes = ?silent, "no heartbeat in time, nodes are taken down");
        leader.loops.report("heartbeats", format!("took {} silent nodes down", silent.len()));
        let evals = silent.iter().flat_map(|id| evals_of_node(&snapshot, id)).collect();
        let event = NodeEvent {
            message: "Node heartbeat missed".to_owned(),
            subsystem: "Cluster".to_owned(),
            timestamp: Time(now),
            ..NodeEvent::default()
        };
        let command = Command::NodeStatus {
            nodes: silent.clone(),
            status: NodeStatus::Down,
            event: Some(event),
            evals,
            now,
        };
        if let Err(error) = server.commit(&command).await {
            tracing::error!(%error, "silent nodes could not be taken down, trying again");
            for id in silent {
                leader.heartbeats.expect(id, 0, Duration::from_secs(1));
            }
        }
    }
}

/// One evaluation for each job with allocations on a node that have not ended there: also of those
/// that should stop, because a node that is gone will not say that they did.
pub(crate) fn evals_of_node(snapshot: &Snapshot, node: &NodeId) -> Vec<Evaluation> {
    let allocs: Vec<_> =
        snapshot.allocs_of_node(node).filter(|a| !a.is_client_terminal()).collect();
    // A job that was purged is remembered by its allocations.
    let jobs: BTreeMap<&JobKey, &Job> =
        allocs.iter().map(|a| (&a.job, &**snapshot.job(&a.job).unwrap_or(&a.spec))).collect();
    let modify_index = snapshot.node(node).map_or(0, |n| n.modify_index);
    jobs.into_values()
        .map(|job| Evaluation {
            node_id: Some(*node),
            node_modify_index: modify_index,
            ..crate::endpoints::eval::for_job(job, model::eval::trigger::NODE_UPDATE)
        })
        .collect()
}
