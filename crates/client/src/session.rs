//! The connection to the servers: kept up, registered, and fed with heartbeats.
//!
//! Reads and reports of other loops go over the same connection and wait here while there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::node::Node;
use parking_lot::Mutex;
use rpc::methods::NodeCredential;
use rpc::{CallError, FaultKind, Peer, Reply, Request, Service};
use tokio::sync::{Notify, watch};

use crate::backoff::Backoff;
use crate::clock;
use crate::config::Servers;

/// Between attempts to reach a server. The first are short: in one process the server is almost
/// ready.
const CONNECT_WAIT_MIN: Duration = Duration::from_millis(10);
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);
/// Between attempts to repeat a heartbeat that failed on a connection that stands.
const HEARTBEAT_WAIT_MIN: Duration = Duration::from_millis(100);
const HEARTBEAT_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long a server may take for one answer.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);
/// A heartbeat is sent when this share of its time has passed, and a little of chance later.
const HEARTBEAT_SHARE: f64 = 0.7;
const HEARTBEAT_CHANCE: f64 = 0.2;

/// What is known of the session, for statistics and for the loss of contact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contact {
    pub(crate) last_heartbeat: Option<Instant>,
    pub(crate) heartbeat_ttl: Duration,
}

pub(crate) struct Session {
    servers: Servers,
    service: Arc<dyn Service>,
    node: Mutex<Node>,
    credential: NodeCredential,
    peer: watch::Sender<Option<Peer>>,
    pub(crate) contact: watch::Sender<Contact>,
    register_again: Notify,
}

/// Why a registered connection was left.
enum Left {
    Closed,
    Unknown,
}

impl Session {
    pub(crate) fn new(servers: Servers, service: Arc<dyn Service>, node: Node) -> Self {
        let credential = NodeCredential { node: node.id, secret: node.secret_id.clone() };
        let contact = Contact { last_heartbeat: None, heartbeat_ttl: Duration::ZERO };
        Self {
            servers,
            service,
            node: Mutex::new(node),
            credential,
            peer: watch::Sender::new(None),
            contact: watch::Sender::new(contact),
            register_again: Notify::new(),
        }
    }

    pub(crate) fn credential(&self) -> NodeCredential {
        self.credential.clone()
    }

    pub(crate) fn current_peer(&self) -> Option<Peer> {
        self.peer.borrow().clone().filter(|peer| !peer.is_closed())
    }

    /// Waits for a registered connection.
    pub(crate) async fn peer(&self) -> Peer {
        self.peer_that(|_| true).await
    }

    /// Waits for a registered connection that nobody has closed yet.
    pub(crate) async fn open_peer(&self) -> Peer {
        self.peer_that(|peer| !peer.is_closed()).await
    }

    async fn peer_that(&self, will_do: impl Fn(&Peer) -> bool) -> Peer {
        let mut peers = self.peer.subscribe();
        loop {
            if let Some(peer) = peers.borrow_and_update().clone().filter(|peer| will_do(peer)) {
                return peer;
            }
            // The sender lives as long as this value.
            let _ = peers.changed().await;
        }
    }

    /// Asks over the current connection, within a limit.
    pub(crate) async fn call(
        &self,
        request: &Request,
        limit: Duration,
    ) -> Result<Reply, CallError> {
        let peer = self.peer().await;
        let answer = call_within(&peer, request, limit).await;
        if let Err(CallError::Fault(fault)) = &answer
            && matches!(fault.kind, FaultKind::Denied | FaultKind::NotFound)
        {
            self.register_again.notify_one();
        }
        answer
    }

    pub(crate) fn known_servers(&self) -> Vec<String> {
        match &self.servers {
            Servers::Dial(addresses) => addresses.clone(),
            Servers::Local(_) => {
                self.current_peer().iter().map(|p| p.address.to_string()).collect()
            }
        }
    }

    /// Keeps the session up until the client ends.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut backoff = Backoff::new(CONNECT_WAIT_MIN, CONNECT_WAIT_MAX);
        let mut attempt = rand::random::<u16>() as usize;
        loop {
            attempt = attempt.wrapping_add(1);
            match self.connect(attempt).await {
                Ok(peer) => {
                    if self.serve(&peer).await {
                        backoff.reset();
                    }
                    self.peer.send_replace(None);
                }
                Err(error) => tracing::warn!(%error, "no server can be reached"),
            }
            backoff.wait().await;
        }
    }

    async fn connect(&self, attempt: usize) -> std::io::Result<Peer> {
        match &self.servers {
            Servers::Local(connect) => Ok(connect(self.service.clone())),
            Servers::Dial(addresses) => {
                let Some(address) = addresses.get(attempt % addresses.len().max(1)) else {
                    return Err(std::io::Error::other("no server is configured"));
                };
                rpc::dial(address, self.service.clone()).await
            }
        }
    }

    /// Registers and sends heartbeats as long as the connection stands. Whether it ever worked.
    async fn serve(&self, peer: &Peer) -> bool {
        let mut backoff = Backoff::new(CONNECT_WAIT_MIN, CONNECT_WAIT_MAX);
        let mut worked = false;
        loop {
            let node = Box::new(self.node.lock().clone());
            match call_within(peer, &Request::NodeRegister { node }, CALL_LIMIT).await {
                Ok(Reply::NodeRegister { heartbeat_ttl }) => {
                    backoff.reset();
                    worked = true;
                    self.note_contact(heartbeat_ttl);
                    match self.heartbeats(peer, clock::duration(heartbeat_ttl)).await {
                        Left::Closed => return worked,
                        Left::Unknown => {
                            tracing::warn!("the servers do not know this node; registering")
                        }
                    }
                }
                Ok(_) => return worked,
                Err(error) => {
                    tracing::warn!(%error, "the node is not registered yet");
                    if peer.is_closed() || !matches!(error, CallError::Fault(_)) {
                        return worked;
                    }
                }
            }
            backoff.wait().await;
        }
    }

    async fn heartbeats(&self, peer: &Peer, mut ttl: Duration) -> Left {
        let mut backoff = Backoff::new(HEARTBEAT_WAIT_MIN, HEARTBEAT_WAIT_MAX);
        loop {
            let credential = self.credential();
            let beat = Request::NodeHeartbeat { credential };
            let wait = match call_within(peer, &beat, CALL_LIMIT).await {
                Ok(Reply::NodeHeartbeat { heartbeat_ttl, known: true }) => {
                    backoff.reset();
                    self.note_contact(heartbeat_ttl);
                    ttl = clock::duration(heartbeat_ttl);
                    if self.peer.borrow().is_none() {
                        self.peer.send_replace(Some(peer.clone()));
                    }
                    ttl.mul_f64(HEARTBEAT_SHARE + HEARTBEAT_CHANCE * rand::random::<f64>())
                }
                Ok(_) => return Left::Unknown,
                Err(error) => {
                    tracing::warn!(%error, "a heartbeat was not taken");
                    if peer.is_closed() || !matches!(error, CallError::Fault(_)) {
                        return Left::Closed;
                    }
                    backoff.next(rand::random()).min(ttl.max(HEARTBEAT_WAIT_MIN))
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = peer.wait_closed() => return Left::Closed,
                () = self.register_again.notified() => return Left::Unknown,
            }
        }
    }

    fn note_contact(&self, ttl: i64) {
        let heartbeat_ttl = clock::duration(ttl);
        self.contact.send_replace(Contact { last_heartbeat: Some(Instant::now()), heartbeat_ttl });
    }
}

async fn call_within(peer: &Peer, request: &Request, limit: Duration) -> Result<Reply, CallError> {
    match tokio::time::timeout(limit, peer.call(request)).await {
        Ok(answer) => answer,
        Err(_) => Err(CallError::Io {
            address: peer.address.clone(),
            source: std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                format!("no answer within {limit:?}"),
            ),
        }),
    }
}
