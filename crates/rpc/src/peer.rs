//! The other end of a connection, and what we offer to it.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};

use crate::frame;
use crate::methods::{Fault, Reply, Request};

/// How many streams may wait to be opened on one connection.
pub const OPENS_WAITING_MAX: usize = 256;

/// Anything bytes flow over both ways.
pub trait StreamIo: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> StreamIo for T {}

/// One open stream.
pub type Stream = Box<dyn StreamIo>;

/// The first byte of a stream says what it is.
const CALL: u8 = 1;
const HTTP: u8 = 2;

pub(crate) type Open = oneshot::Sender<io::Result<Stream>>;

/// The other end of a connection. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Peer {
    opens: mpsc::Sender<Open>,
    closed: watch::Receiver<bool>,
    /// The address of the other end, for logs.
    pub address: Arc<str>,
}

/// What this end offers to the other.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Answers one request.
    async fn call(&self, peer: &Peer, request: Request) -> Result<Reply, Fault>;
    /// Serves one HTTP connection to its end.
    async fn http(&self, stream: Stream);
}

/// Why a call brought no reply.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("the connection to {0} is closed")]
    Closed(Arc<str>),
    #[error("talking to {address} failed")]
    Io { address: Arc<str>, source: io::Error },
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Peer {
    pub(crate) fn new(
        opens: mpsc::Sender<Open>,
        closed: watch::Receiver<bool>,
        address: Arc<str>,
    ) -> Self {
        Self { opens, closed, address }
    }

    /// Asks and waits for the reply. Dropping the future gives the stream back.
    ///
    /// # Errors
    /// The connection is gone, or the other end refused.
    pub async fn call(&self, request: &Request) -> Result<Reply, CallError> {
        let io_error = |source| CallError::Io { address: self.address.clone(), source };
        let mut stream = self.open(CALL).await?;
        frame::write(&mut stream, request).await.map_err(io_error)?;
        let answer: Result<Reply, Fault> = frame::read(&mut stream).await.map_err(io_error)?;
        answer.map_err(CallError::Fault)
    }

    /// Opens a stream that speaks HTTP/1.1 to the other end's API.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn open_http(&self) -> Result<Stream, CallError> {
        self.open(HTTP).await
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow() || self.opens.is_closed()
    }

    /// Waits for the end of the connection.
    pub async fn wait_closed(&self) {
        let mut closed = self.closed.clone();
        // An error means that the connection's task is gone, which is the same.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    async fn open(&self, kind: u8) -> Result<Stream, CallError> {
        let gone = || CallError::Closed(self.address.clone());
        let (answer, opened) = oneshot::channel();
        self.opens.send(answer).await.map_err(|_| gone())?;
        let io_error = |source| CallError::Io { address: self.address.clone(), source };
        let mut stream = opened.await.map_err(|_| gone())?.map_err(io_error)?;
        stream.write_all(&[kind]).await.map_err(io_error)?;
        Ok(stream)
    }
}

/// Serves one stream that the other end opened.
pub(crate) async fn serve_stream(peer: Peer, service: Arc<dyn Service>, mut stream: Stream) {
    let mut kind = [0];
    if stream.read_exact(&mut kind).await.is_err() {
        return;
    }
    match kind[0] {
        CALL => {
            let Ok(request) = frame::read::<Request>(&mut stream).await else { return };
            // The caller may leave while it waits; then its answer is not worked out to the end.
            let answer = tokio::select! {
                answer = service.call(&peer, request) => answer,
                () = hung_up(&mut stream) => return,
            };
            if let Err(error) = frame::write(&mut stream, &answer).await {
                tracing::debug!(peer = %peer.address, %error, "reply was not delivered");
            }
            let _ = stream.shutdown().await;
        }
        HTTP => service.http(stream).await,
        other => {
            tracing::warn!(peer = %peer.address, kind = other, "stream of an unknown kind refused")
        }
    }
}

/// Ends when the other end closes the stream: a caller sends nothing after its request.
async fn hung_up(stream: &mut Stream) {
    let mut byte = [0];
    let _ = stream.read(&mut byte).await;
}
