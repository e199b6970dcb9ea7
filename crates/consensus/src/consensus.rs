//! The handle: start, propose, barrier, leadership, snapshots, shutdown.
//!
//! Start opens the files, lets openraft rebuild the state from the snapshot, elects this server at
//! once (there is one voter) and returns when every entry of the log is applied. The engine's
//! ticks stay off: without peers there is nobody to send a heartbeat to and nothing to time out.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use openraft::async_runtime::WatchReceiver;
use openraft::errors::{
    ClientWriteError, ForwardReason, ForwardToLeader, LinearizableReadError, RaftError,
};
use openraft::{Raft, ReadPolicy, SnapshotPolicy};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use crate::errors::{OpenError, ProposeError, StartError};
use crate::log::{Counters, DiskConfig, LogStore, Opened, Recovery};
use crate::machine::{Machine, Progress, StateMachine};
use crate::network::SingleServer;
use crate::raft_types::{Data, Types};
use crate::snapshot::{SnapshotReader, SnapshotStore};

/// Largest entry. The biggest real ones are jobs with inlined templates.
pub const MAX_ENTRY_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of proposals waiting for their answer; further callers wait for room.
pub const MAX_IN_FLIGHT_BYTES: usize = 64 * 1024 * 1024;
/// What a proposal counts as at least, so that their number is bounded too.
const ROOM_BYTES: usize = 4 * 1024;
/// How long a start waits for its own election; it takes milliseconds.
const ELECTION_LIMIT: Duration = Duration::from_secs(10);
/// How long a requested snapshot may take before the request gives up.
const SNAPSHOT_LIMIT: Duration = Duration::from_secs(120);
/// How long a shutdown waits for its threads to close their files.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// How consensus is started.
#[derive(Clone, Debug)]
pub struct Config {
    /// Stays the same for the life of the data directory.
    pub node_id: u64,
    /// `None` keeps log and snapshots in memory: nothing survives a restart.
    pub data_dir: Option<PathBuf>,
    /// Make a cluster of this one server if the directory is empty.
    pub bootstrap: bool,
    /// A snapshot is taken after so many entries ...
    pub snapshot_entries: u64,
    /// ... or after so many bytes of entries, whichever comes first.
    pub snapshot_bytes: u64,
    /// Entries kept behind the snapshot, for followers that lag a little.
    pub trailing_entries: u64,
    /// Size of a segment file; small on a laptop, larger on a server.
    pub segment_bytes: u64,
}

impl Config {
    /// The usual thresholds.
    pub fn new(node_id: u64, data_dir: Option<PathBuf>) -> Config {
        Config {
            node_id,
            data_dir,
            bootstrap: true,
            snapshot_entries: 8192,
            snapshot_bytes: 64 * 1024 * 1024,
            trailing_entries: 1024,
            segment_bytes: 8 * 1024 * 1024,
        }
    }
}

/// Who leads, as this server sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    pub term: u64,
    pub leader: Option<u64>,
    /// Whether this server leads. Call [`Consensus::read_barrier`] before acting on local state.
    pub is_self: bool,
}

/// Figures for operators and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub node_id: u64,
    pub term: u64,
    pub leader: Option<u64>,
    pub last_log_index: u64,
    pub last_applied: u64,
    /// Last entry in the newest snapshot; 0 without one.
    pub snapshot_index: u64,
    /// Last entry removed from the log; 0 while none is.
    pub purged_index: u64,
    pub log_bytes: u64,
    pub entries_written: u64,
    pub syncs: u64,
    /// The slowest write with its sync.
    pub write_us_max: u64,
    /// Proposals waiting for their answer, each rounded up to 4 KiB.
    pub in_flight_bytes: usize,
    /// What opening the log repaired.
    pub recovery: Recovery,
    /// The storage error that ended this server's work.
    pub failure: Option<String>,
}

/// The newest snapshot, to be copied elsewhere.
pub struct Snapshot {
    pub index: u64,
    pub term: u64,
    /// What the state machine wrote, checked block by block.
    pub reader: Box<dyn io::Read + Send>,
}

/// A cheap handle; all clones are the same log.
#[derive(Clone)]
pub struct Consensus {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    raft: Raft<Types, Machine>,
    counters: Arc<Counters>,
    progress: Arc<Progress>,
    snapshots: SnapshotStore,
    recovery: Recovery,
    leadership: watch::Receiver<Leadership>,
    /// One permit for each [`ROOM_BYTES`].
    room: Semaphore,
    tasks: [AbortHandle; 2],
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Consensus {
    /// Opens the log, rebuilds the state, becomes leader. Must run inside a tokio runtime.
    pub async fn start(config: Config, machine: impl StateMachine) -> Result<Self, StartError> {
        let mut threads = Vec::new();
        match Self::start_with(config, machine, &mut threads).await {
            Ok(consensus) => {
                consensus.inner.threads.lock().append(&mut threads);
                Ok(consensus)
            }
            Err(error) => {
                // The caller gets no handle, so the files and their lock are released here.
                join(threads).await;
                Err(error)
            }
        }
    }

    async fn start_with(
        config: Config,
        machine: impl StateMachine,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> Result<Self, StartError> {
        let mut opened = match &config.data_dir {
            None => LogStore::in_memory(),
            Some(dir) => LogStore::open(&DiskConfig {
                dir: dir.clone(),
                node_id: config.node_id,
                segment_bytes: config.segment_bytes,
            })?,
        };
        threads.extend(opened.thread.take());
        let snapshots = open_snapshots(&config, &opened)?;
        let started = Machine::start(machine, snapshots.clone(), config.snapshot_bytes)
            .map_err(StartError::Thread)?;
        threads.push(started.thread);
        let raft = Raft::new(
            config.node_id,
            Arc::new(engine_config(&config)),
            SingleServer,
            opened.store,
            started.machine,
        )
        .await
        .map_err(|fatal| StartError::Recover(fatal.to_string()))?;
        let (sender, leadership) = watch::channel(Leadership::default());
        let tasks = [
            tokio::spawn(watch_leadership(raft.clone(), config.node_id, sender)).abort_handle(),
            tokio::spawn(snapshot_when_due(raft.clone(), started.progress.clone())).abort_handle(),
        ];
        let consensus = Consensus {
            inner: Arc::new(Inner {
                config,
                raft,
                counters: opened.counters,
                progress: started.progress,
                snapshots,
                recovery: opened.recovery,
                leadership,
                room: Semaphore::new(MAX_IN_FLIGHT_BYTES / ROOM_BYTES),
                tasks,
                threads: Mutex::default(),
            }),
        };
        let elected = consensus.elect_self().await;
        if elected.is_err() {
            consensus.shutdown().await;
        }
        elected.map(|()| consensus)
    }

    /// Commits one entry and answers with its index and the state machine's response. If the
    /// caller stops waiting, the entry is still committed.
    pub async fn propose(&self, data: Bytes) -> Result<(u64, Bytes), ProposeError> {
        if data.len() > MAX_ENTRY_BYTES {
            return Err(ProposeError::TooLarge { len: data.len(), limit: MAX_ENTRY_BYTES });
        }
        let rooms = (data.len() / ROOM_BYTES + 1) as u32;
        let _room =
            self.inner.room.acquire_many(rooms).await.map_err(|_| ProposeError::Shutdown)?;
        match self.inner.raft.client_write(Data(data)).await {
            Ok(written) => Ok((written.log_id.index, written.data.0)),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
                Err(not_leader(&forward))
            }
            Err(RaftError::APIError(
                ClientWriteError::LogEntryDiscarded(_)
                | ClientWriteError::ChangeMembershipError(_)
                | ClientWriteError::PreconditionFailed(_),
            )) => Err(ProposeError::Retry),
            Err(RaftError::Fatal(fatal)) => Err(self.ended(&fatal)),
        }
    }

    /// Returns once everything committed before the call is applied here: a read of the local
    /// state afterwards is linearizable. Answers the index that was waited for.
    pub async fn read_barrier(&self) -> Result<u64, ProposeError> {
        match self.inner.raft.ensure_linearizable(ReadPolicy::ReadIndex).await {
            Ok(read) => Ok(read.index()),
            Err(RaftError::APIError(LinearizableReadError::ForwardToLeader(forward))) => {
                Err(not_leader(&forward))
            }
            Err(RaftError::APIError(LinearizableReadError::QuorumNotEnough(_))) => {
                Err(ProposeError::Retry)
            }
            Err(RaftError::Fatal(fatal)) => Err(self.ended(&fatal)),
        }
    }

    /// Watches leadership. The sender is gone once consensus has ended.
    pub fn leader(&self) -> watch::Receiver<Leadership> {
        self.inner.leadership.clone()
    }

    /// Index of the last applied entry.
    pub fn last_applied(&self) -> u64 {
        self.inner.progress.last_applied.load(Ordering::Acquire)
    }

    pub fn stats(&self) -> Stats {
        let inner = &self.inner;
        let metrics = inner.raft.metrics();
        let metrics = metrics.borrow_watched();
        Stats {
            node_id: inner.config.node_id,
            term: metrics.current_term,
            leader: metrics.current_leader,
            last_log_index: metrics.last_log_index.unwrap_or(0),
            last_applied: self.last_applied(),
            snapshot_index: metrics.snapshot.map_or(0, |id| id.index),
            purged_index: metrics.purged.map_or(0, |id| id.index),
            log_bytes: inner.counters.bytes.load(Ordering::Relaxed),
            entries_written: inner.counters.entries.load(Ordering::Relaxed),
            syncs: inner.counters.syncs.load(Ordering::Relaxed),
            write_us_max: inner.counters.write_us_max.load(Ordering::Relaxed),
            in_flight_bytes: MAX_IN_FLIGHT_BYTES - inner.room.available_permits() * ROOM_BYTES,
            recovery: inner.recovery.clone(),
            failure: inner.counters.failure(),
        }
    }

    /// Takes a snapshot that covers everything applied so far; answers its last index.
    pub async fn take_snapshot(&self) -> Result<u64, ProposeError> {
        let wanted = self.last_applied();
        let mut progress = self.inner.raft.metrics();
        let work = async {
            let mut triggered = None;
            loop {
                let (done, running) = {
                    let metrics = progress.borrow_watched();
                    (metrics.snapshot.map_or(0, |id| id.index), metrics.running_state.clone())
                };
                running.map_err(|fatal| self.ended(&fatal))?;
                if done >= wanted {
                    return Ok(done);
                }
                // A snapshot already under way when this one was asked for ends below `wanted`:
                // ask again after each that ends.
                if triggered != Some(done) {
                    triggered = Some(done);
                    self.inner.raft.trigger().snapshot().await.map_err(|f| self.ended(&f))?;
                }
                progress.changed().await.map_err(|_| ProposeError::Shutdown)?;
            }
        };
        tokio::time::timeout(SNAPSHOT_LIMIT, work).await.unwrap_or(Err(ProposeError::Retry))
    }

    /// Opens the newest snapshot for copying, if there is one.
    pub fn newest_snapshot(&self) -> Result<Option<Snapshot>, ProposeError> {
        let Some((_, data)) = self.inner.snapshots.current() else { return Ok(None) };
        let (meta, reader) =
            SnapshotReader::open(&data).map_err(|e| ProposeError::Storage(e.to_string()))?;
        let (index, term) = meta.last_log_id.map_or((0, 0), |id| (id.index, id.leader_id.term));
        Ok(Some(Snapshot { index, term, reader: Box::new(reader) }))
    }

    /// Ends everything and waits until the files are closed and the lock is free. Proposals still
    /// waiting get [`ProposeError::Shutdown`]. Calling it again does nothing.
    pub async fn shutdown(&self) {
        self.inner.room.close();
        for task in &self.inner.tasks {
            task.abort();
        }
        // A panic of the engine is reported by whoever waited for an answer.
        let _ = self.inner.raft.shutdown().await;
        let threads = std::mem::take(&mut *self.inner.threads.lock());
        join(threads).await;
    }

    async fn elect_self(&self) -> Result<(), StartError> {
        let raft = &self.inner.raft;
        let recover = |text: String| StartError::Recover(text);
        if raft.is_initialized().await.map_err(|e| recover(e.to_string()))? {
            raft.trigger().elect(false).await.map_err(|e| recover(e.to_string()))?;
        } else if self.inner.config.bootstrap {
            let voters = BTreeSet::from([self.inner.config.node_id]);
            raft.initialize(voters).await.map_err(|e| recover(e.to_string()))?;
        } else {
            return Err(StartError::NotBootstrapped);
        }
        let began = Instant::now();
        let mut leadership = self.leader();
        let led = tokio::time::timeout(
            ELECTION_LIMIT,
            leadership.wait_for(|leadership| leadership.is_self),
        );
        match led.await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => {
                let failure = self.inner.counters.failure();
                return Err(recover(failure.unwrap_or_else(|| "the engine ended".into())));
            }
            Err(_) => {
                let waited_ms = began.elapsed().as_millis() as u64;
                return Err(StartError::NoLeader { waited_ms });
            }
        }
        self.read_barrier().await.map_err(|e| recover(e.to_string()))?;
        Ok(())
    }

    fn ended(&self, fatal: &openraft::errors::Fatal<Types>) -> ProposeError {
        use openraft::errors::Fatal;
        match (self.inner.counters.failure(), fatal) {
            (Some(failure), _) => ProposeError::Storage(failure),
            (None, Fatal::Stopped) => ProposeError::Shutdown,
            (None, Fatal::StorageError(_) | Fatal::Panicked) => {
                self.inner.counters.fail(fatal.to_string());
                ProposeError::Storage(fatal.to_string())
            }
        }
    }
}

/// Waits until the threads have closed their files; they end when the engine drops its parts.
async fn join(threads: Vec<JoinHandle<()>>) {
    let joined = tokio::task::spawn_blocking(move || {
        for thread in threads {
            // A panic on the apply thread was already answered as a storage error.
            let _ = thread.join();
        }
    });
    let _ = tokio::time::timeout(CLOSE_LIMIT, joined).await;
}

fn open_snapshots(config: &Config, opened: &Opened) -> Result<SnapshotStore, OpenError> {
    let Some(dir) = &config.data_dir else { return Ok(SnapshotStore::in_memory()) };
    let snapshots = SnapshotStore::open(dir.join("snapshots"))?;
    let covered = snapshots.current().and_then(|(meta, _)| meta.last_log_id);
    if let Some(purged) = opened.purged
        && covered.is_none_or(|covered| covered.index < purged.index)
    {
        return Err(OpenError::SnapshotMissing {
            dir: dir.clone(),
            purged: purged.index,
            found: covered.map_or("missing".into(), |id| format!("at entry {}", id.index)),
        });
    }
    Ok(snapshots)
}

fn engine_config(config: &Config) -> openraft::Config {
    openraft::Config {
        cluster_name: "muster".into(),
        snapshot_policy: SnapshotPolicy::LogsSinceLast(config.snapshot_entries),
        max_in_snapshot_log_to_keep: config.trailing_entries,
        enable_tick: false,
        enable_heartbeat: false,
        enable_elect: false,
        // A leader that lost unsynced entries must not continue in the same term: a follower may
        // hold other entries under the same term and index. So each start takes a new term.
        enable_leader_restore: Some(false),
        ..openraft::Config::default()
    }
}

fn not_leader(forward: &ForwardToLeader<Types>) -> ProposeError {
    match forward.reason {
        ForwardReason::NotLeader => ProposeError::NotLeader { leader: forward.leader_id },
        ForwardReason::LeadershipTransfer | ForwardReason::LeaseExpired => ProposeError::Retry,
    }
}

async fn watch_leadership(
    raft: Raft<Types, Machine>,
    node_id: u64,
    sender: watch::Sender<Leadership>,
) {
    let mut metrics = raft.server_metrics();
    // The task must not keep the engine alive after the last handle is gone.
    drop(raft);
    loop {
        let seen = {
            let server = metrics.borrow_watched();
            let is_self = server.current_leader == Some(node_id) && server.state.is_leader();
            Leadership { term: server.vote.leader_id.term, leader: server.current_leader, is_self }
        };
        sender.send_if_modified(|current| std::mem::replace(current, seen) != seen);
        if metrics.changed().await.is_err() {
            return;
        }
    }
}

async fn snapshot_when_due(raft: Raft<Types, Machine>, progress: Arc<Progress>) {
    loop {
        progress.snapshot_due.notified().await;
        if raft.trigger().snapshot().await.is_err() {
            return;
        }
    }
}
