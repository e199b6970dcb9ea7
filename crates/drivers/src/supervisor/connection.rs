//! The asynchronous task behind each connection, and the one that reaps a supervisor.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ::supervisor::protocol::{MESSAGE_BYTES_MAX, Reply, Request, frame_bytes};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::{CALLS_MAX, Call, Supervised, SupervisedHandle, blocking, files};
use crate::task::ExitResult;

/// Between attempts to end what a lost supervisor has left; each attempt has waited already.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A socket that speaks in frames.
pub(super) struct Frames {
    stream: UnixStream,
    received: Vec<u8>,
}

impl Frames {
    pub(super) fn new(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: UnixStream::from_std(stream)?, received: Vec::new() })
    }

    pub(super) async fn send(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&request.encode()).await
    }

    /// The next reply, or an error at the end of the stream. Losing the future loses nothing:
    /// what was received stays.
    pub(super) async fn next(&mut self) -> io::Result<Reply> {
        loop {
            let length = frame_bytes(&self.received, MESSAGE_BYTES_MAX).map_err(invalid)?;
            if let Some(length) = length.filter(|length| *length <= self.received.len()) {
                let reply = Reply::decode(&self.received[..length]).map_err(invalid)?;
                self.received.drain(..length);
                return Ok(reply);
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// A live connection. The asynchronous task ends with the connection or with the last
/// [`Supervised`], whichever is first.
pub(super) fn connected(
    frames: Frames,
    handle: SupervisedHandle,
    supervisor_ended: watch::Receiver<bool>,
) -> Supervised {
    let handle = Arc::new(handle);
    let (calls, receiver) = mpsc::channel(CALLS_MAX);
    let (exit_sender, exit) = watch::channel(None);
    let actor = Actor {
        frames,
        calls: receiver,
        waiting: VecDeque::new(),
        exit: exit_sender,
        handle: handle.clone(),
    };
    tokio::spawn(actor.run());
    Supervised { handle, calls, exit, supervisor_ended }
}

/// A task that is known to have ended.
pub(super) fn ended(
    result: ExitResult,
    handle: SupervisedHandle,
    supervisor_ended: watch::Receiver<bool>,
) -> Supervised {
    let (calls, _) = mpsc::channel(1);
    let (_, exit) = watch::channel(Some(result));
    Supervised { handle: Arc::new(handle), calls, exit, supervisor_ended }
}

struct Actor {
    frames: Frames,
    calls: mpsc::Receiver<Call>,
    /// Who waits for the next answers, in order.
    waiting: VecDeque<oneshot::Sender<Reply>>,
    exit: watch::Sender<Option<ExitResult>>,
    handle: Arc<SupervisedHandle>,
}

impl Actor {
    async fn run(mut self) {
        let result = loop {
            // No more questions than places for answers: a supervisor that stopped answering must
            // not make this grow.
            let may_ask = self.waiting.len() < CALLS_MAX;
            tokio::select! {
                reply = self.frames.next() => match reply {
                    Ok(Reply::Exited(record)) => break files::exit_result(&record),
                    Ok(reply) => {
                        if let Some(answer) = self.waiting.pop_front() {
                            // Whoever asked may have stopped waiting.
                            let _ = answer.send(reply);
                        }
                    }
                    Err(_) => break self.conclude().await,
                },
                call = self.calls.recv(), if may_ask => match call {
                    Some(call) => {
                        // A failure shows as the end of the stream in the other branch.
                        let _ = self.frames.send(&call.request).await;
                        self.waiting.extend(call.answer);
                    }
                    None => return,
                },
                // Kill must not wait behind unanswered questions for ever: the caller has a limit.
            }
        };
        self.exit.send_replace(Some(result));
    }

    /// The supervisor is gone without a word. Until nothing of the task is left its end is not
    /// reported, since a second copy would be started beside it.
    async fn conclude(&self) -> ExitResult {
        loop {
            let handle = self.handle.clone();
            match blocking(move || files::conclude(&handle)).await {
                Ok(result) => return result,
                Err(error) => {
                    tracing::error!(error, "cannot end what a lost supervisor has left; trying on");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }
}

/// Tells when a process has ended; a child of this process is reaped then. Runs on after the
/// receivers are gone, so that no zombie is left.
pub(super) fn watch_end(pidfd: OwnedFd, is_child: bool) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        #[expect(
            deprecated,
            reason = "deprecated for types whose raw descriptor may change; an OwnedFd's does not"
        )]
        let pidfd = AsyncFd::with_interest(pidfd, Interest::READABLE);
        if let Ok(pidfd) = pidfd {
            // Only the runtime's shutdown makes this fail.
            let _ = pidfd.readable().await;
            if is_child {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                let _ = waitid(WaitId::PidFd(pidfd.get_ref().as_fd()), options);
            }
        }
        sender.send_replace(true);
    });
    receiver
}

/// For a process that is known to have ended.
pub(super) fn already_ended() -> watch::Receiver<bool> {
    watch::channel(true).1
}
