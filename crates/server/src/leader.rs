//! Office: the queues and loops of the server that leads, and the order of taking it.

use std::sync::Arc;

use model::node::NodeStatus;
use state::Changes;
use tokio::sync::mpsc;

use crate::fsm::Happened;
use crate::server::{Config, Server};

mod deployments;
pub(crate) mod eval_broker;
mod garbage;
mod heartbeats;
pub(crate) mod loops;

pub(crate) use deployments::fail as fail_deployment;
pub use eval_broker::BrokerFigures;
use eval_broker::EvalBroker;
use heartbeats::Heartbeats;
pub(crate) use heartbeats::evals_of_node;
use loops::Loops;

/// What only the leader has. All of it can be lost at any moment: it is rebuilt from the state.
pub(crate) struct Leader {
    pub broker: EvalBroker,
    pub heartbeats: Heartbeats,
    pub loops: Loops,
    /// Asks the collector for a run that ignores the thresholds.
    pub force_gc: tokio::sync::Notify,
}

impl Leader {
    pub(crate) fn new(_: &Config) -> Self {
        Self {
            broker: EvalBroker::new(),
            heartbeats: Heartbeats::new(),
            loops: Loops::new(),
            force_gc: tokio::sync::Notify::new(),
        }
    }
}

/// Fills the queues from the state and starts the loops.
pub(crate) fn take_office(server: &Server, mut events: mpsc::UnboundedReceiver<Happened>) {
    let leader = &server.inner.leader;
    // What the log said while it was read is in the state already; going through it again would
    // bring every evaluation of the past back for a moment.
    while events.try_recv().is_ok() {}
    refill(server);
    tokio::spawn(settle(server.clone()));
    tokio::spawn(follow(server.clone(), events));
    tokio::spawn(crate::worker::run(server.clone()));
    tokio::spawn(leader.broker.clone().run_delays(server.inner.stop.clone()));
    tokio::spawn(heartbeats::run(server.clone()));
    tokio::spawn(deployments::run(server.clone()));
    tokio::spawn(garbage::run(server.clone()));
}

/// Writes what a new cluster starts with: the scheduler's settings, so that they have an index
/// that compare-and-set can name.
async fn settle(server: Server) {
    if server.snapshot().scheduler_config().create_index > 0 {
        return;
    }
    let command = state::Command::SetSchedulerConfig {
        config: state::SchedulerConfig::default(),
        enforce_index: Some(0),
    };
    if let Err(error) = server.commit(&command).await {
        tracing::warn!(%error, "the scheduler's settings were not written; their defaults hold");
    }
}

fn refill(server: &Server) {
    let leader = &server.inner.leader;
    let snapshot = server.snapshot();
    // What blocked without knowing of the newest room is tried again.
    let ended = snapshot.allocs().filter(|a| a.is_client_terminal()).map(|a| a.modify_index);
    let nodes = snapshot.nodes().filter(|n| n.accepts_work()).map(|n| n.modify_index);
    let freed_at = ended.chain(nodes).max().unwrap_or(0);
    leader.broker.refill(snapshot.evals().cloned(), freed_at);
    let ttl = i64::try_from(server.config().failover_heartbeat_ttl.as_nanos()).unwrap_or(i64::MAX);
    for node in snapshot.nodes().filter(|n| n.status != NodeStatus::Down) {
        leader.heartbeats.expect(node.id, ttl, server.config().heartbeat_grace);
    }
}

/// Moves what commands changed into the queues; the only consumer of apply's events.
async fn follow(server: Server, mut events: mpsc::UnboundedReceiver<Happened>) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = server.inner.stop.cancelled() => return,
        };
        match event {
            None => return,
            Some(Happened::Restored) => refill(&server),
            Some(Happened::Changed(changes)) => notice(&server, &changes),
        }
    }
}

fn notice(server: &Server, changes: &Changes) {
    let broker = &server.inner.leader.broker;
    for eval in &changes.evals {
        broker.put(Arc::clone(eval));
    }
    if changes.room_freed {
        broker.unblock(changes.index);
    }
}
