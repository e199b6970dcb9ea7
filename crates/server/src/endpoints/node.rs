//! Nodes: what they ask over the RPC (hops 13 and 16), and what operators do with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use model::alloc::{Alloc, AllocUpdate, ClientStatus};
use model::eval::{Evaluation, trigger};
use model::ids::{JobKey, NodeId};
use model::job::{Job, JobType};
use model::node::{ELIGIBLE, Node, NodeEvent, NodeStatus};
use model::wire::{Nanos, Time};
use rpc::methods::{NodeAllocs, NodeCredential};
use rpc::{Peer, Reply, Request, Stream};
use state::{Command, Snapshot};

use super::eval::for_job;
use crate::fault::{Fault, Kind};
use crate::random;
use crate::server::Server;

/// The longest a node's poll may wait.
const POLL_MAX: Duration = Duration::from_secs(300);

/// Serves one HTTP connection that came through a tunnel.
pub type HttpTunnel =
    Arc<dyn Fn(Stream) -> futures_util::future::BoxFuture<'static, ()> + Send + Sync>;

/// What a server offers to nodes over the RPC.
#[derive(Clone)]
pub struct NodeService {
    server: Server,
    http: Arc<OnceLock<HttpTunnel>>,
}

impl NodeService {
    /// The service of a server.
    pub fn new(server: Server) -> Self {
        Self { server, http: Arc::default() }
    }

    /// Says who serves the HTTP requests that client agents hand on.
    pub fn serve_http_with(&self, tunnel: HttpTunnel) {
        // A second call would change nothing: the first API serves for good.
        let _ = self.http.set(tunnel);
    }
}

#[async_trait]
impl rpc::Service for NodeService {
    async fn call(&self, peer: &Peer, request: Request) -> Result<Reply, rpc::Fault> {
        let server = &self.server;
        let reply = match request {
            Request::NodeRegister { node } => server.node_register(peer, *node).await?,
            Request::NodeHeartbeat { credential } => {
                server.node_heartbeat(peer, &credential).await?
            }
            Request::NodeAllocs { credential, since, wait } => {
                server.node_allocs(&credential, since, wait).await?
            }
            Request::NodeUpdateAllocs { credential, updates } => {
                server.node_update_allocs(&credential, updates).await?
            }
        };
        Ok(reply)
    }

    async fn http(&self, stream: Stream) {
        match self.http.get() {
            Some(tunnel) => tunnel(stream).await,
            None => tracing::warn!("an HTTP tunnel was opened before the API was ready"),
        }
    }
}

impl Server {
    fn check_credential(&self, credential: &NodeCredential) -> Result<Option<Arc<Node>>, Fault> {
        let snapshot = self.snapshot();
        match snapshot.node(&credential.node) {
            None => Ok(None),
            Some(node) if node.secret_id == credential.secret => Ok(Some(node.clone())),
            Some(_) => Err(Fault::new(Kind::Denied, "node secret ID does not match")),
        }
    }

    async fn node_register(&self, peer: &Peer, mut node: Node) -> Result<Reply, Fault> {
        if node.secret_id.is_empty() || node.name.is_empty() || node.datacenter.is_empty() {
            return Err(Fault::invalid("a node needs a secret, a name and a datacenter"));
        }
        let credential = NodeCredential { node: node.id, secret: node.secret_id.clone() };
        let known = self.check_credential(&credential)?;
        node.status = NodeStatus::Ready;
        let id = node.id;
        if !known.as_ref().is_some_and(|old| same_facts(old, &node)) {
            self.commit(&Command::RegisterNode { node: Box::new(node), now: random::now() })
                .await?;
        }
        self.inner.nodes.lock().insert(id, peer.clone());
        Ok(Reply::NodeRegister { heartbeat_ttl: self.expect_heartbeat(id) })
    }

    fn expect_heartbeat(&self, node: NodeId) -> Nanos {
        let ttl = self.heartbeat_ttl();
        self.inner.leader.heartbeats.expect(node, ttl, self.config().heartbeat_grace);
        ttl
    }

    async fn node_heartbeat(
        &self,
        peer: &Peer,
        credential: &NodeCredential,
    ) -> Result<Reply, Fault> {
        let Some(node) = self.check_credential(credential)? else {
            return Ok(Reply::NodeHeartbeat { heartbeat_ttl: 0, known: false });
        };
        if node.status != NodeStatus::Ready {
            let event = NodeEvent {
                message: "Node reregistered by heartbeat".to_owned(),
                subsystem: "Cluster".to_owned(),
                timestamp: Time(random::now()),
                ..NodeEvent::default()
            };
            let evals = crate::leader::evals_of_node(&self.snapshot(), &node.id);
            self.commit(&Command::NodeStatus {
                nodes: vec![node.id],
                status: NodeStatus::Ready,
                event: Some(event),
                evals,
                now: random::now(),
            })
            .await?;
        }
        self.inner.nodes.lock().entry(node.id).or_insert_with(|| peer.clone());
        Ok(Reply::NodeHeartbeat { heartbeat_ttl: self.expect_heartbeat(node.id), known: true })
    }

    async fn node_allocs(
        &self,
        credential: &NodeCredential,
        since: u64,
        wait: Nanos,
    ) -> Result<Reply, Fault> {
        self.check_credential(credential)?
            .ok_or_else(|| Fault::not_found("node is not registered"))?;
        let mut watch = self.inner.shared.watches.node(credential.node);
        let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(0)).min(POLL_MAX);
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let newest = *watch.borrow_and_update();
            let snapshot = self.snapshot();
            // Servers that were restored from an older state start over with the node.
            let since = if since > snapshot.index() { 0 } else { since };
            let answer = allocs_of(&snapshot, &credential.node, since);
            if since == 0 || !answer.changed.is_empty() || newest > since {
                return Ok(Reply::NodeAllocs(answer));
            }
            tokio::select! {
                // An error means that the server goes down: the poll ends with what there is.
                changed = watch.changed() => if changed.is_err() { return Ok(Reply::NodeAllocs(answer)) },
                () = tokio::time::sleep_until(deadline) => return Ok(Reply::NodeAllocs(answer)),
                () = self.inner.stop.cancelled() => return Err(Fault::new(Kind::Unavailable, "the server is shutting down")),
            }
        }
    }

    async fn node_update_allocs(
        &self,
        credential: &NodeCredential,
        updates: Vec<AllocUpdate>,
    ) -> Result<Reply, Fault> {
        self.check_credential(credential)?
            .ok_or_else(|| Fault::not_found("node is not registered"))?;
        if updates.iter().any(|u| u.node != credential.node) {
            return Err(Fault::new(Kind::Denied, "a node may only report its own allocations"));
        }
        let evals = evals_after(&self.snapshot(), &updates);
        self.commit(&Command::UpdateAllocs { updates, evals, now: random::now() }).await?;
        Ok(Reply::NodeUpdateAllocs)
    }

    /// Opens or closes a node for new work.
    ///
    /// # Errors
    /// There is no such node.
    pub async fn set_node_eligibility(
        &self,
        node: NodeId,
        eligible: bool,
    ) -> Result<(Vec<String>, u64), Fault> {
        let snapshot = self.snapshot();
        let current = snapshot.node(&node).ok_or_else(|| Fault::internal("node not found"))?;
        if (current.scheduling_eligibility == ELIGIBLE) == eligible {
            return Ok((Vec::new(), current.modify_index));
        }
        let now = random::now();
        let word = if eligible { "eligible" } else { "ineligible" };
        let event = NodeEvent {
            message: format!("Node marked as {word} for scheduling"),
            subsystem: "Cluster".to_owned(),
            timestamp: Time(now),
            ..NodeEvent::default()
        };
        let command =
            Command::NodeEligibility { node, eligible, event: Some(event), evals: Vec::new(), now };
        Ok((Vec::new(), self.commit(&command).await?))
    }

    /// Makes an evaluation for each job on a node.
    ///
    /// # Errors
    /// There is no such node.
    pub async fn evaluate_node(&self, node: NodeId) -> Result<(Vec<String>, u64), Fault> {
        let snapshot = self.snapshot();
        snapshot.node(&node).ok_or_else(|| Fault::internal("node not found"))?;
        let evals = crate::leader::evals_of_node(&snapshot, &node);
        let ids: Vec<String> = evals.iter().map(|e| e.id.to_string()).collect();
        if evals.is_empty() {
            return Ok((ids, snapshot.index()));
        }
        let index = self.commit(&Command::UpsertEvals { evals, now: random::now() }).await?;
        Ok((ids, index))
    }
}

/// Whether a registration brings nothing new: then it costs no log entry.
fn same_facts(old: &Node, new: &Node) -> bool {
    let facts = |n: &Node| Node {
        status: NodeStatus::Ready,
        status_description: String::new(),
        status_updated_at: 0,
        scheduling_eligibility: String::new(),
        drain: false,
        drain_strategy: None,
        last_drain: None,
        events: Default::default(),
        create_index: 0,
        modify_index: 0,
        ..n.clone()
    };
    old.status == NodeStatus::Ready && facts(old) == facts(new)
}

fn allocs_of(snapshot: &Snapshot, node: &NodeId, since: u64) -> NodeAllocs {
    let mut answer = NodeAllocs { index: snapshot.index().max(1), ..NodeAllocs::default() };
    let mut specs: BTreeMap<(JobKey, u64, u64), Arc<Job>> = BTreeMap::new();
    for alloc in snapshot.allocs_of_node(node) {
        answer.all.push(alloc.id);
        if alloc.alloc_modify_index > since {
            let key = (alloc.job.clone(), alloc.job_create_index, alloc.job_version);
            specs.entry(key).or_insert_with(|| alloc.spec.clone());
            answer.changed.push(alloc.clone());
        }
    }
    answer.specs = specs.into_values().collect();
    answer
}

/// The evaluations that follow when allocations end: one for each job that may need another one.
fn evals_after(snapshot: &Snapshot, updates: &[AllocUpdate]) -> Vec<Evaluation> {
    let mut jobs: BTreeSet<JobKey> = BTreeSet::new();
    for update in updates {
        let Some(alloc) = snapshot.alloc(&update.id) else { continue };
        if needs_another(snapshot, alloc, update) {
            jobs.insert(alloc.job.clone());
        }
    }
    jobs.iter()
        .filter_map(|key| snapshot.job(key))
        .map(|job| for_job(job, trigger::ALLOC_FAILURE))
        .collect()
}

fn needs_another(snapshot: &Snapshot, alloc: &Alloc, update: &AllocUpdate) -> bool {
    if alloc.is_client_terminal() || alloc.is_server_terminal() {
        return false;
    }
    let Some(job) = snapshot.job(&alloc.job).filter(|j| !j.is_stopped()) else { return false };
    match update.status {
        // Without an attempt left nothing would follow from an evaluation.
        ClientStatus::Failed => scheduler::has_attempts_left(alloc, random::now()),
        // A service that ends by itself is started anew; finished batch work stays finished.
        ClientStatus::Complete => job.job_type() == JobType::Service,
        _ => false,
    }
}
