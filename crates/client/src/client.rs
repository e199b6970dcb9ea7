//! The client as the agent and the HTTP API see it.

mod files;
mod requests;

pub use requests::ClientStats;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use drivers::{ExecOptions, RawExecOptions, Registry, RegistryOptions};
use model::ids::{AllocId, NodeId};
use parking_lot::Mutex;
use rpc::{Fault as RpcFault, FaultKind as RpcFaultKind, Peer, Reply, Request};
use sandbox::cgroup::NodeClaim;
use sandbox::{DirLock, Hierarchies};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::alloc::operations::blocking;
use crate::config::{Config, HttpTunnel, Servers};
use crate::fingerprint;
use crate::garbage::{self, Garbage};
use crate::identity::{self, IdentityError};
use crate::report::Reports;
use crate::roster::{Entry, Roster};
use crate::session::Session;
use crate::shared::{STARTS_AT_ONCE_MAX, Shared};
use crate::stats::HostSampler;
use crate::store::{Loaded, Store, StoreError};
use crate::{lost_contact, sync};

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot make the directory {path}")]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("another agent uses the state directory {path}; each agent needs one of its own")]
    InUse { path: PathBuf },
    #[error(transparent)]
    Lock(sandbox::LockError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A node that runs allocations. Clones are the same node.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    roster: Arc<Roster>,
    session: Arc<Session>,
    service: Arc<NodeService>,
    host: Mutex<HostSampler>,
    loops: Mutex<JoinSet<()>>,
}

impl Client {
    /// Takes over what an earlier agent left, and begins to serve the servers.
    ///
    /// # Errors
    /// The directories cannot be used, or another agent uses them.
    pub async fn start(config: Config, servers: Servers) -> Result<Self, StartError> {
        make_directory(&config.state_dir, 0o700)?;
        make_directory(&config.alloc_dir, 0o711)?;
        let lock = DirLock::acquire(&config.state_dir).map_err(|error| match error {
            sandbox::LockError::Taken { .. } => {
                StartError::InUse { path: config.state_dir.clone() }
            }
            other => StartError::Lock(other),
        })?;
        let identity = identity::load_or_create(&config.state_dir)?;
        let reports = Arc::new(Reports::default());
        let for_store = reports.clone();
        let on_durable = Arc::new(move |updates| for_store.add(updates));
        let state_dir = config.state_dir.clone();
        let (store, loaded) = blocking(move || Store::open(&state_dir, on_durable)).await?;
        let drivers = registry(&config);
        let node = fingerprint::node(&config, &identity, &drivers).await;
        let (garbage, queue) = Garbage::new();
        let gc_interval = config.gc_interval;
        let shared = Arc::new(Shared {
            node_id: identity.node_id,
            facts: fingerprint::facts(&node, &config.region),
            inherited: inherited(&config),
            drivers,
            store,
            starts: Semaphore::new(STARTS_AT_ONCE_MAX),
            last_start: Mutex::default(),
            lock: Mutex::new(Some(lock)),
            claim: Mutex::new(claim_groups(identity.node_id).await),
            config,
        });
        let loaded = sweep(&shared, loaded).await;
        let roster = Roster::new(shared.clone(), garbage);
        reports.add(roster.restore(loaded.live, loaded.finals));
        let service = Arc::new(NodeService::default());
        let session = Arc::new(Session::new(servers, service.clone(), node));
        let mut loops = JoinSet::new();
        loops.spawn(session.clone().run());
        loops.spawn(reports.run(session.clone()));
        loops.spawn(sync::run(session.clone(), roster.clone()));
        loops.spawn(garbage::run(roster.clone(), queue, gc_interval));
        loops.spawn(lost_contact::run(session.clone(), roster.clone()));
        let inner = Inner {
            shared,
            roster,
            session,
            service,
            host: Mutex::default(),
            loops: Mutex::new(loops),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What serves requests of the HTTP API that servers hand on to this node.
    pub fn serve_http_with(&self, tunnel: HttpTunnel) {
        *self.inner.service.tunnel.lock() = Some(tunnel);
    }

    /// A server to hand requests of the HTTP API on to.
    pub fn server_peer(&self) -> Option<Peer> {
        self.inner.session.current_peer()
    }

    /// The same, waiting for one while there is none.
    pub async fn server_peer_within(&self, limit: Duration) -> Option<Peer> {
        tokio::time::timeout(limit, self.inner.session.open_peer()).await.ok()
    }

    pub fn node_id(&self) -> NodeId {
        self.inner.shared.node_id
    }

    /// Addresses of servers, `host:port`.
    pub fn known_servers(&self) -> Vec<String> {
        self.inner.session.known_servers()
    }

    /// Whether the allocation is here, with its directory.
    pub fn has_alloc(&self, id: &AllocId) -> bool {
        let is_here = |entry: &mut Entry| match entry {
            Entry::Live(_) => true,
            Entry::Past(past) => !past.collected,
        };
        self.inner.roster.with(id, is_here).unwrap_or(false)
    }

    /// Ends. Tasks go on without the agent, or end and leave nothing.
    pub async fn shutdown(&self, kill_tasks: bool) {
        let inner = &self.inner;
        inner.roster.close(kill_tasks).await;
        let mut loops = std::mem::take(&mut *inner.loops.lock());
        loops.shutdown().await;
        let shared = inner.shared.clone();
        blocking(move || {
            if let Some(claim) = shared.claim.lock().take() {
                claim.give_back(kill_tasks);
            }
            shared.store.close();
            if kill_tasks {
                // Those of the past and those whose removal was put off as well.
                remove_unknown(&shared.config.alloc_dir, |_, name| !is_alloc(name));
            }
        })
        .await;
        inner.shared.lock.lock().take();
    }
}

fn make_directory(path: &Path, mode: u32) -> Result<(), StartError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    made.map_err(|source| StartError::Directory { path: path.to_owned(), source })
}

fn registry(config: &Config) -> Registry {
    let raw_exec = RawExecOptions {
        enabled: config.raw_exec_enabled,
        denied_envvars: config.denied_envvars.clone(),
        ..RawExecOptions::default()
    };
    let exec = ExecOptions { alloc_root: config.alloc_dir.clone(), ..config.exec.clone() };
    let mock_enabled = config.mock_enabled;
    let all = Registry::new(RegistryOptions { exec, raw_exec, mock_enabled });
    Registry::of(all.iter().filter(|driver| config.allows_driver(driver.name())).cloned())
}

/// Claims the node's control groups and removes those of nodes whose agents are gone.
async fn claim_groups(node_id: NodeId) -> Option<NodeClaim> {
    blocking(move || {
        let on = Hierarchies::detect();
        let claim = NodeClaim::acquire(&on, &node_id.to_string()).inspect_err(|error| {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "the node's cgroups are not kept"
            );
        });
        match sandbox::cgroup::sweep_dead_nodes(&on) {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => {
                tracing::info!(
                    nodes = removed.len(),
                    "removed empty cgroups of agents that are gone"
                );
            }
            Err(error) => {
                tracing::warn!(%error, "cgroups of agents that are gone cannot be removed")
            }
        }
        claim.ok()
    })
    .await
}

fn inherited(config: &Config) -> BTreeMap<String, String> {
    std::env::vars().filter(|(name, _)| !config.env_denylist.contains(name)).collect()
}

/// Ends what belongs to this node and to no live task: what a crash of the agent, or the loss of
/// its memory, left behind.
async fn sweep(shared: &Arc<Shared>, loaded: Loaded) -> Loaded {
    if loaded.unreadable_records > 0 {
        let count = loaded.unreadable_records;
        tracing::error!(count, "damaged records of the client's state were left out");
    }
    let mut groups = BTreeSet::new();
    let mut starts = BTreeSet::new();
    for (alloc, progress) in &loaded.live {
        let Some(group) = alloc.spec.group(&alloc.group) else { continue };
        for (index, task) in group.tasks.iter().enumerate() {
            let record = progress.as_ref().and_then(|progress| progress.tasks.get(&task.name));
            if let Some(record) = record.filter(|record| record.handle.is_some()) {
                groups.insert(drivers::task_cgroup_name(&alloc.id.to_string(), &task.name));
                starts.insert(shared.start_dir(alloc, index, record.starts));
            }
        }
    }
    let known: BTreeSet<String> = loaded
        .live
        .iter()
        .map(|(alloc, _)| alloc.id.to_string())
        .chain(loaded.finals.iter().map(|(id, _)| id.to_string()))
        .collect();
    let live: BTreeSet<PathBuf> =
        loaded.live.iter().map(|(alloc, _)| shared.alloc_dir(alloc).root).collect();
    let shared = shared.clone();
    blocking(move || {
        let on = Hierarchies::detect();
        if !on.is_empty() {
            match sandbox::sweep(&on, &shared.node_id.to_string(), &groups) {
                Ok(report) => {
                    for name in report.removed {
                        tracing::warn!(cgroup = name, "ended a task that belongs to no allocation");
                    }
                    for (name, error) in report.failed {
                        tracing::error!(cgroup = name, %error, "a stray task cannot be ended");
                    }
                }
                Err(error) => tracing::error!(%error, "stray tasks cannot be looked for"),
            }
        }
        sweep_secrets(&on, &shared, &live);
        remove_unknown(&shared.starts_dir(), |path, _| starts.contains(path));
        remove_unknown(&shared.config.alloc_dir, |_, name| known.contains(name) || !is_alloc(name));
    })
    .await;
    loaded
}

/// Only what looks like the directory of an allocation is ours.
fn is_alloc(name: &str) -> bool {
    uuid::Uuid::parse_str(name).is_ok()
}

/// Secrets in memory that a killed agent of this node or of one that is gone has left.
fn sweep_secrets(on: &Hierarchies, shared: &Shared, live: &BTreeSet<PathBuf>) {
    let is_live = |path: &Path| path.ancestors().any(|ancestor| live.contains(ancestor));
    match sandbox::sweep_memory_dirs(on, &shared.node_id.to_string(), is_live) {
        Ok(removed) => {
            for path in removed {
                tracing::warn!(path = %path.display(), "took away secrets that belong to no task");
            }
        }
        Err(error) => tracing::error!(%error, "stray secrets cannot be looked for"),
    }
}

fn remove_unknown(directory: &Path, is_known: impl Fn(&Path, &str) -> bool) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if is_known(&path, &entry.file_name().to_string_lossy()) {
            continue;
        }
        if let Err(error) = std::fs::remove_dir_all(&path) {
            tracing::warn!(path = %path.display(), %error, "a stray directory was not removed");
        }
    }
}

/// What this node offers on its connection to a server.
#[derive(Default)]
struct NodeService {
    tunnel: Mutex<Option<HttpTunnel>>,
}

#[async_trait]
impl rpc::Service for NodeService {
    async fn call(&self, _peer: &Peer, _request: Request) -> Result<Reply, RpcFault> {
        Err(RpcFault::new(RpcFaultKind::Final, "a node answers no calls, only HTTP requests"))
    }

    async fn http(&self, stream: rpc::Stream) {
        let tunnel = self.tunnel.lock().clone();
        match tunnel {
            Some(tunnel) => tunnel(stream).await,
            None => tracing::warn!("an HTTP request was handed on before it could be served"),
        }
    }
}
