//! Connections: yamux over TCP between processes, pairs of pipes within one.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};

use crate::peer::{OPENS_WAITING_MAX, Open, Peer, Service, Stream, serve_stream};

/// How long a connection may take to be made and greeted.
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(10);
/// How many streams one connection may have open.
pub const STREAMS_MAX: usize = 1024;
/// The bytes a pipe within the process holds before the writer waits.
const PIPE_BYTES: usize = 64 << 10;
/// Both ends send this first: a name, and the version of the protocol.
const GREETING: [u8; 8] = *b"MUSTER\x00\x01";

/// Connects to a server and offers `service` to it.
///
/// # Errors
/// Nothing listens there, or it does not speak this protocol.
pub async fn dial(address: &str, service: Arc<dyn Service>) -> io::Result<Peer> {
    let connect = async {
        let mut socket = TcpStream::connect(address).await?;
        greet(&mut socket).await?;
        io::Result::Ok(socket)
    };
    let socket = tokio::time::timeout(DIAL_TIMEOUT, connect).await.map_err(|_| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no greeting from {address} within {DIAL_TIMEOUT:?}"),
        )
    })??;
    Ok(start(socket, yamux::Mode::Client, address.into(), service))
}

/// Accepts connections until the listener fails for good.
pub async fn serve(listener: TcpListener, service: Arc<dyn Service>) {
    loop {
        let (mut socket, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, for one: others may close theirs.
                tracing::warn!(%error, "accepting an RPC connection failed");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let service = service.clone();
        tokio::spawn(async move {
            match tokio::time::timeout(DIAL_TIMEOUT, greet(&mut socket)).await {
                Ok(Ok(())) => {
                    start(socket, yamux::Mode::Server, address.to_string().into(), service);
                }
                Ok(Err(error)) => tracing::warn!(%address, %error, "RPC connection refused"),
                Err(_) => tracing::warn!(%address, "RPC connection sent no greeting"),
            }
        });
    }
}

async fn greet(socket: &mut TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.write_all(&GREETING).await?;
    let mut theirs = [0; GREETING.len()];
    socket.read_exact(&mut theirs).await?;
    if theirs[..7] != GREETING[..7] {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the other end does not speak Muster's RPC protocol",
        ));
    }
    if theirs[7] != GREETING[7] {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the other end speaks version {} of the RPC protocol, this one {}",
                theirs[7], GREETING[7]
            ),
        ));
    }
    Ok(())
}

fn start(
    socket: TcpStream,
    mode: yamux::Mode,
    address: Arc<str>,
    service: Arc<dyn Service>,
) -> Peer {
    let mut config = yamux::Config::default();
    config.set_max_num_streams(STREAMS_MAX);
    let connection = yamux::Connection::new(socket.compat(), config, mode);
    let (opens, wanted) = mpsc::channel(OPENS_WAITING_MAX);
    let (closed, is_closed) = watch::channel(false);
    let peer = Peer::new(opens, is_closed, address);
    tokio::spawn(drive(connection, wanted, closed, peer.clone(), service));
    peer
}

/// Owns the connection: opens streams for us, hands in those of the other end, until it ends.
async fn drive(
    mut connection: yamux::Connection<tokio_util::compat::Compat<TcpStream>>,
    mut wanted: mpsc::Receiver<Open>,
    closed: watch::Sender<bool>,
    peer: Peer,
    service: Arc<dyn Service>,
) {
    let mut waiting: Option<Open> = None;
    loop {
        enum Happened {
            Inbound(Option<Result<yamux::Stream, yamux::ConnectionError>>),
            Opened(Result<yamux::Stream, yamux::ConnectionError>),
            Wanted(Option<Open>),
        }
        let happened = poll_fn(|cx| {
            if waiting.is_some() {
                if let Poll::Ready(opened) = connection.poll_new_outbound(cx) {
                    return Poll::Ready(Happened::Opened(opened));
                }
            } else if let Poll::Ready(open) = wanted.poll_recv(cx) {
                return Poll::Ready(Happened::Wanted(open));
            }
            connection.poll_next_inbound(cx).map(Happened::Inbound)
        })
        .await;
        match happened {
            Happened::Wanted(Some(open)) => waiting = Some(open),
            Happened::Wanted(None) => break,
            Happened::Opened(result) => {
                let result =
                    result.map(|s| Box::new(s.compat()) as Stream).map_err(io::Error::other);
                if let Some(open) = waiting.take() {
                    // The one who asked may have left; then the stream is dropped and closed.
                    let _ = open.send(result);
                }
            }
            Happened::Inbound(Some(Ok(stream))) => {
                let stream: Stream = Box::new(stream.compat());
                tokio::spawn(serve_stream(peer.clone(), service.clone(), stream));
            }
            Happened::Inbound(Some(Err(error))) => {
                tracing::debug!(peer = %peer.address, %error, "RPC connection ended");
                break;
            }
            Happened::Inbound(None) => break,
        }
    }
    // Nobody listens when no call is under way.
    let _ = closed.send(true);
}

/// Two ends within one process: what `a` opens is served by `service_of_b`, and the other way.
/// Returns the peers as seen by `a` and by `b`.
pub fn in_memory(service_of_a: Arc<dyn Service>, service_of_b: Arc<dyn Service>) -> (Peer, Peer) {
    let (opens_a, wanted_a) = mpsc::channel(OPENS_WAITING_MAX);
    let (opens_b, wanted_b) = mpsc::channel(OPENS_WAITING_MAX);
    let (closed_a, is_closed_a) = watch::channel(false);
    let (closed_b, is_closed_b) = watch::channel(false);
    let seen_by_a = Peer::new(opens_a, is_closed_a, "in-memory".into());
    let seen_by_b = Peer::new(opens_b, is_closed_b, "in-memory".into());
    tokio::spawn(pipes(wanted_a, closed_a, seen_by_b.clone(), service_of_b));
    tokio::spawn(pipes(wanted_b, closed_b, seen_by_a.clone(), service_of_a));
    (seen_by_a, seen_by_b)
}

async fn pipes(
    mut wanted: mpsc::Receiver<Open>,
    closed: watch::Sender<bool>,
    caller: Peer,
    service: Arc<dyn Service>,
) {
    while let Some(open) = wanted.recv().await {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        if open.send(Ok(Box::new(ours))).is_ok() {
            tokio::spawn(serve_stream(caller.clone(), service.clone(), Box::new(theirs)));
        }
    }
    let _ = closed.send(true);
}

#[cfg(test)]
mod tests;
