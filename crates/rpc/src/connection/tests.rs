//! Both transports carry calls and tunnels both ways.

use async_trait::async_trait;
use model::ids::NodeId;

use super::*;
use crate::methods::{Fault, FaultKind, NodeCredential, Reply, Request};

struct Echo;

#[async_trait]
impl Service for Echo {
    async fn call(&self, _: &Peer, request: Request) -> Result<Reply, Fault> {
        match request {
            Request::NodeHeartbeat { credential } if credential.secret == "s" => {
                Ok(Reply::NodeHeartbeat { heartbeat_ttl: 7, known: true })
            }
            Request::NodeAllocs { .. } => std::future::pending().await,
            _ => Err(Fault::new(FaultKind::Denied, "no")),
        }
    }

    async fn http(&self, mut stream: Stream) {
        let mut text = [0; 5];
        stream.read_exact(&mut text).await.expect("five bytes");
        text.reverse();
        stream.write_all(&text).await.expect("written");
        stream.shutdown().await.expect("closed");
    }
}

fn credential(secret: &str) -> NodeCredential {
    NodeCredential { node: NodeId::from_name("n"), secret: secret.to_owned() }
}

async fn check(peer: &Peer) {
    let beat = Request::NodeHeartbeat { credential: credential("s") };
    for _ in 0..300 {
        assert_eq!(
            peer.call(&beat).await.expect("reply"),
            Reply::NodeHeartbeat { heartbeat_ttl: 7, known: true }
        );
    }
    let wrong = Request::NodeHeartbeat { credential: credential("x") };
    assert!(
        matches!(peer.call(&wrong).await, Err(CallError::Fault(f)) if f.kind == FaultKind::Denied)
    );
    let mut stream = peer.open_http().await.expect("opens");
    stream.write_all(b"hello").await.expect("written");
    let mut back = String::new();
    stream.read_to_string(&mut back).await.expect("read");
    assert_eq!(back, "olleh");
}

use crate::peer::CallError;

#[tokio::test]
async fn calls_and_tunnels_work_both_ways_within_a_process() {
    let (a, b) = in_memory(Arc::new(Echo), Arc::new(Echo));
    check(&a).await;
    check(&b).await;
}

#[tokio::test]
async fn calls_and_tunnels_work_over_tcp_and_the_end_is_noticed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("address").to_string();
    let server = tokio::spawn(serve(listener, Arc::new(Echo)));
    let peer = dial(&address, Arc::new(Echo)).await.expect("dials");
    check(&peer).await;
    assert!(!peer.is_closed());
    server.abort();
}

#[tokio::test]
async fn a_call_given_up_frees_its_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("address").to_string();
    tokio::spawn(serve(listener, Arc::new(Echo)));
    let peer = dial(&address, Arc::new(Echo)).await.expect("dials");
    let poll = Request::NodeAllocs { credential: credential("s"), since: 0, wait: 0 };
    for _ in 0..STREAMS_MAX + 10 {
        let given_up = tokio::time::timeout(Duration::from_micros(200), peer.call(&poll)).await;
        assert!(given_up.is_err(), "the long poll never answers");
    }
    check(&peer).await;
}

#[tokio::test]
async fn a_stranger_is_refused_with_a_sentence() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("address").to_string();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("accepts");
        socket.write_all(b"HTTP/1.1 400 Bad Request").await.expect("written");
    });
    let error = dial(&address, Arc::new(Echo)).await.expect_err("refused");
    assert!(error.to_string().contains("does not speak"), "{error}");
}
