//! The apply thread: the one place that touches the [`StateMachine`], and what openraft calls to
//! reach it.
//!
//! ```text
//! openraft's worker ── Job::Apply ──► apply thread ── responses ──► proposers
//!                   ── Job::Capture ─► (cheap) ─► SnapshotSource ─► blocking thread ─► file
//!                   ── Job::Restore ─►
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use openraft::OptionalSend;
use openraft::alias::SnapshotOf;
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::raft_types::{Data, LogId, Payload, SnapshotMeta, StoredMembership, Types};
use crate::snapshot::{SnapshotData, SnapshotReader, SnapshotStore};

/// Entries given to the state machine at once.
const APPLY_BATCH: usize = 1024;

/// A committed entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    pub data: Bytes,
}

/// What the log is applied to. Lives on one thread of its own and may block there.
pub trait StateMachine: Send + 'static {
    /// Applies entries in order and answers each. Indexes rise but have gaps: entries of the
    /// engine itself are not shown.
    fn apply(&mut self, entries: &[Entry]) -> Vec<Bytes>;

    /// Captures the state cheaply; the result is written elsewhere while apply goes on.
    fn snapshot(&self) -> Box<dyn SnapshotSource + Send>;

    /// Replaces the state by what a [`SnapshotSource`] wrote. Bytes are checked before they come.
    fn restore(&mut self, reader: &mut dyn io::Read) -> io::Result<()>;
}

/// A captured state.
pub trait SnapshotSource {
    fn write_to(self: Box<Self>, out: &mut dyn io::Write) -> io::Result<()>;
}

enum Job {
    Apply { entries: Vec<EntryResponder<Types>>, done: oneshot::Sender<io::Result<()>> },
    Capture { done: oneshot::Sender<Box<dyn SnapshotSource + Send>> },
    Restore { data: SnapshotData, index: u64, done: oneshot::Sender<io::Result<()>> },
}

/// What the apply thread tells the rest.
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) last_applied: AtomicU64,
    /// Entry bytes applied since the last snapshot was captured.
    bytes_since_snapshot: AtomicU64,
    /// Told once when `bytes_since_snapshot` passes the limit.
    pub(crate) snapshot_due: Notify,
}

pub(crate) struct Machine {
    jobs: Sender<Job>,
    progress: Arc<Progress>,
    snapshots: SnapshotStore,
    last_applied: Option<LogId>,
    membership: StoredMembership,
}

/// The started apply thread.
pub(crate) struct Started {
    pub(crate) machine: Machine,
    pub(crate) progress: Arc<Progress>,
    pub(crate) thread: std::thread::JoinHandle<()>,
}

impl Machine {
    pub(crate) fn start(
        machine: impl StateMachine,
        snapshots: SnapshotStore,
        snapshot_bytes: u64,
    ) -> io::Result<Started> {
        let (jobs, receiver) = std::sync::mpsc::channel();
        let progress = Arc::<Progress>::default();
        let worker = Worker { machine, progress: progress.clone(), snapshot_bytes };
        let thread = std::thread::Builder::new()
            .name("apply".into())
            .spawn(move || worker.run(&receiver))?;
        let machine = Machine {
            jobs,
            progress: progress.clone(),
            snapshots,
            last_applied: None,
            membership: StoredMembership::default(),
        };
        Ok(Started { machine, progress, thread })
    }

    async fn job<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> io::Result<T> {
        let (done, answer) = oneshot::channel();
        self.jobs.send(job(done)).map_err(|_| thread_gone())?;
        answer.await.map_err(|_| thread_gone())
    }

    async fn capture(&self) -> io::Result<Builder> {
        let source = self.job(|done| Job::Capture { done }).await?;
        let meta = SnapshotMeta {
            last_log_id: self.last_applied,
            last_membership: self.membership.clone(),
        };
        self.progress.bytes_since_snapshot.store(0, Ordering::Relaxed);
        Ok(Builder { meta, source: Mutex::new(Some(source)), snapshots: self.snapshots.clone() })
    }
}

fn thread_gone() -> io::Error {
    io::Error::other("the apply thread has ended: the state machine panicked")
}

struct Worker<M> {
    machine: M,
    progress: Arc<Progress>,
    snapshot_bytes: u64,
}

impl<M: StateMachine> Worker<M> {
    fn run(mut self, jobs: &Receiver<Job>) {
        // Answers to callers that went away are dropped: nobody needs them.
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Apply { entries, done } => drop(done.send(self.apply(entries))),
                Job::Capture { done } => drop(done.send(self.machine.snapshot())),
                Job::Restore { data, index, done } => {
                    let restored = SnapshotReader::open(&data).and_then(|(_, mut reader)| {
                        self.machine.restore(&mut reader)?;
                        // The end block vouches for completeness: read on until it was seen.
                        io::copy(&mut reader, &mut io::sink())
                    });
                    if restored.is_ok() {
                        self.progress.last_applied.store(index, Ordering::Release);
                    }
                    drop(done.send(restored.map(|_| ())));
                }
            }
        }
    }

    fn apply(&mut self, entries: Vec<EntryResponder<Types>>) -> io::Result<()> {
        let Some(last) = entries.last().map(|(entry, _)| entry.log_id.index) else {
            return Ok(());
        };
        let (mut batch, mut responders, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut silent = Vec::new();
        for (entry, responder) in entries {
            let (index, term) = (entry.log_id.index, entry.log_id.leader_id.term);
            match entry.payload {
                Payload::Normal(data) => {
                    bytes += data.0.len() as u64;
                    batch.push(Entry { index, term, data: data.0 });
                    responders.push(responder);
                }
                Payload::Blank | Payload::Membership(_) => silent.push(responder),
            }
        }
        let responses = if batch.is_empty() { Vec::new() } else { self.machine.apply(&batch) };
        if responses.len() != batch.len() {
            let text = format!("{} answers to {} entries", responses.len(), batch.len());
            return Err(io::Error::other(text));
        }
        // Readers of `last_applied` may look at the state before the proposer hears of it.
        self.progress.last_applied.store(last, Ordering::Release);
        for (responder, response) in responders.into_iter().zip(responses) {
            if let Some(responder) = responder {
                responder.send(Data(response));
            }
        }
        for responder in silent.into_iter().flatten() {
            responder.send(Data::default());
        }
        self.note_bytes(bytes);
        Ok(())
    }

    fn note_bytes(&self, bytes: u64) {
        let before = self.progress.bytes_since_snapshot.fetch_add(bytes, Ordering::Relaxed);
        if before < self.snapshot_bytes && before + bytes >= self.snapshot_bytes {
            self.progress.snapshot_due.notify_one();
        }
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotData = SnapshotData;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        Ok((self.last_applied, self.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> io::Result<()>
    where
        Strm: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        let mut ended = false;
        while !ended {
            let mut batch = Vec::new();
            while batch.len() < APPLY_BATCH {
                match entries.next().await {
                    Some(entry) => batch.push(entry?),
                    None => {
                        ended = true;
                        break;
                    }
                }
            }
            let Some((last, _)) = batch.last() else { break };
            let last = last.log_id;
            let membership = batch.iter().rev().find_map(|(entry, _)| match &entry.payload {
                Payload::Membership(m) => {
                    Some(StoredMembership::new(Some(entry.log_id), m.clone()))
                }
                _ => None,
            });
            self.job(|done| Job::Apply { entries: batch, done }).await??;
            self.last_applied = Some(last);
            self.membership = membership.unwrap_or_else(|| self.membership.clone());
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        match self.capture().await {
            Ok(builder) => builder,
            // Building then fails with the same reason, which openraft can report.
            Err(_) => Builder {
                meta: SnapshotMeta::default(),
                source: Mutex::new(None),
                snapshots: self.snapshots.clone(),
            },
        }
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: SnapshotData,
    ) -> io::Result<()> {
        let own = self.snapshots.current().is_some_and(|(current, _)| current == *meta);
        let data = if own {
            snapshot
        } else {
            let snapshots = self.snapshots.clone();
            let meta = meta.clone();
            blocking(move || {
                let (_, mut reader) = SnapshotReader::open(&snapshot)?;
                snapshots.write(&meta, |out| io::copy(&mut reader, out).map(|_| ()))
            })
            .await?
        };
        let index = meta.last_log_id.map_or(0, |id| id.index);
        self.job(|done| Job::Restore { data, index, done }).await??;
        self.last_applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        Ok(())
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> io::Result<Option<SnapshotOf<Types, SnapshotData>>> {
        let current = self.snapshots.current();
        Ok(current.map(|(meta, snapshot)| openraft::Snapshot { meta, snapshot }))
    }
}

/// A captured state on its way to a file.
pub(crate) struct Builder {
    meta: SnapshotMeta,
    /// Taken once; the lock is what makes the builder `Sync`, which openraft asks for.
    source: Mutex<Option<Box<dyn SnapshotSource + Send>>>,
    snapshots: SnapshotStore,
}

impl RaftSnapshotBuilder<Types> for Builder {
    type SnapshotData = SnapshotData;

    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<Types, SnapshotData>> {
        let source = self.source.get_mut().take().ok_or_else(thread_gone)?;
        let (meta, snapshots) = (self.meta.clone(), self.snapshots.clone());
        let written = meta.clone();
        let snapshot =
            blocking(move || snapshots.write(&written, |out| source.write_to(out))).await?;
        Ok(openraft::Snapshot { meta, snapshot })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
