//! The server's handle: started once, cloned freely.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use consensus::Consensus;
use model::ids::NodeId;
use model::wire::Nanos;
use parking_lot::Mutex;
use state::{Command, Response, Snapshot, Store, Table};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;
use crate::fsm::{Fsm, Shared, response};
use crate::leader::{Leader, loops::LoopStatus};
use crate::watch::{WAIT_MAX, Watches, any_changed};

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Config {
    pub region: String,
    pub datacenter: String,
    /// The name other servers and operators see.
    pub name: String,
    /// Where log and snapshots are kept; `None` keeps them in memory (tests).
    pub data_dir: Option<PathBuf>,
    /// Make a cluster of this one server when the directory is empty.
    pub bootstrap: bool,
    /// The address other agents reach the RPC at.
    pub rpc_address: String,
    pub heartbeat_grace: Duration,
    pub min_heartbeat_ttl: Duration,
    pub max_heartbeats_per_second: f64,
    pub failover_heartbeat_ttl: Duration,
    pub gc: GcConfig,
}

/// When terminal objects are forgotten.
#[derive(Debug, Clone)]
pub struct GcConfig {
    pub interval: Duration,
    pub eval_threshold: Duration,
    pub batch_eval_threshold: Duration,
    pub job_threshold: Duration,
    pub deployment_threshold: Duration,
    pub node_threshold: Duration,
}

impl Default for GcConfig {
    fn default() -> Self {
        let hours = |n: u64| Duration::from_secs(n * 3600);
        Self {
            interval: Duration::from_secs(300),
            eval_threshold: hours(1),
            batch_eval_threshold: hours(24),
            job_threshold: hours(4),
            deployment_threshold: hours(1),
            node_threshold: hours(24),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            region: "global".to_owned(),
            datacenter: "dc1".to_owned(),
            name: "server".to_owned(),
            data_dir: None,
            bootstrap: true,
            rpc_address: "127.0.0.1:4647".to_owned(),
            heartbeat_grace: Duration::from_secs(10),
            min_heartbeat_ttl: Duration::from_secs(10),
            max_heartbeats_per_second: 50.0,
            failover_heartbeat_ttl: Duration::from_secs(300),
            gc: GcConfig::default(),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Consensus(#[from] consensus::StartError),
}

/// A running server; clones are the same one.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub config: Config,
    pub shared: Arc<Shared>,
    pub consensus: Consensus,
    pub leader: Arc<Leader>,
    /// The connection of each node that registered here.
    pub nodes: Mutex<std::collections::BTreeMap<NodeId, rpc::Peer>>,
    pub stop: CancellationToken,
}

/// The id of the only server in the log's membership.
const SINGLE_SERVER: u64 = 1;

impl Server {
    /// Opens the state and takes office.
    ///
    /// # Errors
    /// The data directory is in use, damaged, or of a later format.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let store = Store::new();
        let shared = Arc::new(Shared {
            current: ArcSwap::from_pointee(store.snapshot()),
            watches: Watches::new(),
        });
        let (happened, events) = mpsc::unbounded_channel();
        let fsm = Fsm { store, shared: shared.clone(), happened };
        let log = consensus::Config {
            bootstrap: config.bootstrap,
            ..consensus::Config::new(SINGLE_SERVER, config.data_dir.clone())
        };
        let consensus = Consensus::start(log, fsm).await?;
        // A single voter that leads has applied its whole log once the barrier returns.
        if let Err(error) = consensus.read_barrier().await {
            tracing::warn!(%error, "the log was not caught up with at start");
        }
        let leader = Arc::new(Leader::new(&config));
        let server = Self {
            inner: Arc::new(Inner {
                config,
                shared,
                consensus,
                leader,
                nodes: Mutex::default(),
                stop: CancellationToken::new(),
            }),
        };
        crate::leader::take_office(&server, events);
        Ok(server)
    }

    /// The settings it runs with.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The newest state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::clone(&self.inner.shared.current.load())
    }

    /// Whether this server leads.
    pub fn is_leader(&self) -> bool {
        self.inner.consensus.leader().borrow().is_self
    }

    /// Whether any server leads.
    pub fn knows_leader(&self) -> bool {
        self.inner.consensus.leader().borrow().leader.is_some()
    }

    /// Figures of the log.
    pub fn log_stats(&self) -> consensus::Stats {
        self.inner.consensus.stats()
    }

    /// How the leader's loops stand.
    pub fn loop_statuses(&self) -> Vec<LoopStatus> {
        self.inner.leader.loops.statuses()
    }

    /// Waits until one of the tables has changed after `index`, at most for `wait`.
    /// Returns the state to answer from; a return is no proof of change.
    pub async fn wait(&self, tables: &[Table], index: u64, wait: Duration) -> Snapshot {
        let mut watches: Vec<_> =
            tables.iter().map(|t| self.inner.shared.watches.table(*t)).collect();
        let deadline = Instant::now() + wait.min(WAIT_MAX);
        loop {
            let snapshot = self.snapshot();
            if tables.is_empty() || snapshot.tables_index(tables) > index {
                return snapshot;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            tokio::select! {
                () = any_changed(&mut watches) => {}
                () = tokio::time::sleep(left) => return self.snapshot(),
                () = self.inner.stop.cancelled() => return self.snapshot(),
            }
        }
    }

    /// Waits for the next change of one of the tables after `snapshot`, at most for `wait`.
    /// Says whether there was one.
    pub async fn wait_next(&self, tables: &[Table], snapshot: &Snapshot, wait: Duration) -> bool {
        let newer = self.wait(tables, snapshot.tables_index(tables), wait).await;
        newer.tables_index(tables) > snapshot.tables_index(tables)
    }

    /// Commits a command: durable and applied when this returns.
    pub(crate) async fn commit(&self, command: &Command) -> Result<u64, Fault> {
        let (index, answer) = self.propose(command).await?;
        match answer {
            Response::Done => Ok(index),
            Response::Refused(refusal) => Err(refusal.into()),
        }
    }

    /// Commits a command and hands back what apply said of it.
    pub(crate) async fn propose(&self, command: &Command) -> Result<(u64, Response), Fault> {
        let (index, answer) = self.inner.consensus.propose(Bytes::from(command.encode())).await?;
        Ok((index, response(&answer)?))
    }

    /// The connection of a node, if it is connected here.
    pub fn node_peer(&self, node: &NodeId) -> Option<rpc::Peer> {
        let mut nodes = self.inner.nodes.lock();
        let peer = nodes.get(node)?.clone();
        if peer.is_closed() {
            nodes.remove(node);
            return None;
        }
        Some(peer)
    }

    /// How long a node has until its next heartbeat, before jitter.
    pub(crate) fn heartbeat_ttl(&self) -> Nanos {
        let config = &self.inner.config;
        let nodes = self.snapshot().nodes().count() as f64;
        let spread = Duration::from_secs_f64(nodes / config.max_heartbeats_per_second.max(0.001));
        let base = spread.max(config.min_heartbeat_ttl);
        let jitter = base.mul_f64(rand::random::<f64>());
        Nanos::try_from((base + jitter).as_nanos()).unwrap_or(Nanos::MAX)
    }

    /// Ends the server: loops first, then the log.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.consensus.shutdown().await;
    }
}
