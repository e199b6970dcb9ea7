//! A node without a machine: registers, polls, and reports what the test tells it to.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use model::alloc::{Alloc, AllocUpdate, ClientStatus, TaskPhase, TaskState};
use model::ids::{AllocId, NodeId};
use model::job::Job;
use model::node::{DriverInfo, Node, NodeNetwork, NodeNetworkAddress};
use model::wire::Time;
use rpc::methods::{NodeAllocs, NodeCredential};
use rpc::{Fault, FaultKind, Peer, Reply, Request, Service, Stream};
use server::{Config, NodeService, Server};

/// How long a test waits for what should happen at once.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

struct Silent;

#[async_trait]
impl Service for Silent {
    async fn call(&self, _: &Peer, _: Request) -> Result<Reply, Fault> {
        Err(Fault::new(FaultKind::Final, "nodes answer no calls"))
    }
    async fn http(&self, _: Stream) {}
}

pub(crate) struct FakeNode {
    pub credential: NodeCredential,
    peer: Peer,
}

impl FakeNode {
    pub(crate) async fn register(server: &Server, name: &str) -> Self {
        Self::register_as(server, node(name)).await.unwrap()
    }

    pub(crate) async fn register_as(server: &Server, node: Node) -> Result<Self, rpc::CallError> {
        let (peer, _) =
            rpc::in_memory(Arc::new(Silent), Arc::new(NodeService::new(server.clone())));
        let credential = NodeCredential { node: node.id, secret: node.secret_id.clone() };
        peer.call(&Request::NodeRegister { node: Box::new(node) }).await?;
        Ok(Self { credential, peer })
    }

    pub(crate) async fn poll(&self, since: u64) -> NodeAllocs {
        let request = Request::NodeAllocs {
            credential: self.credential.clone(),
            since,
            wait: DEADLINE.as_nanos() as i64,
        };
        match self.peer.call(&request).await.unwrap() {
            Reply::NodeAllocs(allocs) => allocs,
            other => panic!("{other:?}"),
        }
    }

    /// Reports a status, with the only task of the group in the phase that belongs to it.
    pub(crate) async fn report(&self, alloc: &Alloc, status: ClientStatus) {
        let phase = match status {
            ClientStatus::Pending => TaskPhase::Pending,
            ClientStatus::Running => TaskPhase::Running,
            _ => TaskPhase::Dead,
        };
        let now = Time(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as i64);
        let task = TaskState {
            state: phase,
            failed: status == ClientStatus::Failed,
            finished_at: if status.is_terminal() { now } else { Time(0) },
            ..TaskState::default()
        };
        let update = AllocUpdate {
            id: alloc.id,
            node: self.credential.node,
            status,
            description: String::new(),
            tasks: [("t".to_owned(), task)].into_iter().collect(),
            network: None,
            health: (status == ClientStatus::Running).then_some((true, now)),
        };
        let request = Request::NodeUpdateAllocs {
            credential: self.credential.clone(),
            updates: vec![update],
        };
        self.peer.call(&request).await.unwrap();
    }
}

pub(crate) fn node(name: &str) -> Node {
    let mut node = Node {
        id: NodeId::from_name(name),
        secret_id: format!("secret of {name}"),
        name: name.to_owned(),
        datacenter: "dc1".to_owned(),
        ..Node::default()
    };
    node.node_resources.cpu.cpu_shares = 1000;
    node.node_resources.memory.memory_mb = 1000;
    node.node_resources.disk.disk_mb = 10_000;
    node.node_resources.node_networks.push(NodeNetwork {
        device: "lo".to_owned(),
        addresses: vec![NodeNetworkAddress {
            family: "ipv4".to_owned(),
            alias: "default".to_owned(),
            address: "127.0.0.1".to_owned(),
            ..NodeNetworkAddress::default()
        }]
        .into(),
        ..NodeNetwork::default()
    });
    let driver = DriverInfo { detected: true, healthy: true, ..DriverInfo::default() };
    node.drivers.insert("raw_exec".to_owned(), driver);
    node
}

pub(crate) fn job(id: &str, kind: &str, count: i64) -> Job {
    let text = serde_json::json!({
        "ID": id, "Type": kind,
        "TaskGroups": [{
            "Name": "g", "Count": count, "EphemeralDisk": { "SizeMB": 10 },
            "Tasks": [{ "Name": "t", "Driver": "raw_exec", "Config": { "command": "/bin/true" },
                        "LogConfig": { "MaxFiles": 1, "MaxFileSizeMB": 1 },
                        "Resources": { "CPU": 100, "MemoryMB": 100 } }],
        }],
    });
    model::wire::from_json(text.to_string().as_bytes()).unwrap()
}

pub(crate) async fn server(dir: Option<&std::path::Path>) -> Server {
    let data_dir = dir.map(|d| d.join("server"));
    Server::start(Config { data_dir, ..Config::default() }).await.unwrap()
}

/// Waits until the state answers yes.
pub(crate) async fn until<T>(
    server: &Server,
    what: &str,
    look: impl Fn(&state::Snapshot) -> Option<T>,
) -> T {
    let tables = state::changes::TABLES;
    let started = std::time::Instant::now();
    loop {
        let snapshot = server.snapshot();
        if let Some(found) = look(&snapshot) {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "never happened: {what}");
        server.wait_next(&tables, &snapshot, Duration::from_secs(1)).await;
    }
}

/// The live allocations of a job, by slot.
pub(crate) fn live(snapshot: &state::Snapshot, id: &str) -> Vec<Arc<Alloc>> {
    let key = model::ids::JobKey::new("default", id);
    let mut allocs: Vec<_> =
        snapshot.allocs_of_job(&key).filter(|a| !a.is_terminal()).cloned().collect();
    allocs.sort_by_key(|a| a.index);
    allocs
}

pub(crate) fn ids(allocs: &[Arc<Alloc>]) -> Vec<AllocId> {
    allocs.iter().map(|a| a.id).collect()
}
