//! The log as openraft sees it: index in memory, requests to the writer thread.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use openraft::storage::{IOFlushed, LogState, RaftLogStorage};
use openraft::{OptionalSend, RaftLogReader};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Recovery;
use super::disk::{Disk, DiskConfig};
use super::index::Index;
use super::meta::{SavedLogId, SavedVote};
use super::record::Record;
use super::writer::{Request, Writer};
use crate::errors::{OpenError, StartError};
use crate::raft_types::{LogId, RaftLogEntry, Types, Vote, log_id, to_parts};

/// Figures of the log, and the failure that stopped it.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) entries: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) write_us_max: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn note_write(&self, entries: u64, took: Duration) {
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.write_us_max.fetch_max(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_disk(&self, syncs: u64, bytes: u64) {
        self.syncs.store(syncs, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Keeps the first failure: later ones follow from it.
    pub(crate) fn fail(&self, failure: String) {
        self.failure.lock().get_or_insert(failure);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }
}

#[derive(Clone)]
pub(crate) struct LogReader {
    index: Arc<Mutex<Index>>,
    vote: Arc<Mutex<Option<Vote>>>,
}

pub(crate) struct LogStore {
    reader: LogReader,
    /// `None`: the log lives in memory only.
    writer: Option<Sender<Request>>,
}

/// An opened log, before openraft gets it.
pub(crate) struct Opened {
    pub(crate) store: LogStore,
    pub(crate) counters: Arc<Counters>,
    pub(crate) recovery: Recovery,
    pub(crate) purged: Option<LogId>,
    /// Ends when the store is dropped; joining it proves that the files are closed.
    pub(crate) thread: Option<std::thread::JoinHandle<()>>,
}

impl LogStore {
    pub(crate) fn in_memory() -> Opened {
        let reader = LogReader { index: Arc::default(), vote: Arc::default() };
        Opened {
            store: LogStore { reader, writer: None },
            counters: Arc::default(),
            recovery: Recovery::default(),
            purged: None,
            thread: None,
        }
    }

    pub(crate) fn open(config: &DiskConfig) -> Result<Opened, StartError> {
        let loaded = Disk::open(config)?;
        let mut index = Index::default();
        index.files = loaded.disk.files();
        index.purged = loaded.meta.purged.map(|id| log_id(id.term, id.index));
        let purged = index.purged;
        for (record, place) in loaded.records {
            index.push(&record, Some(place), false);
        }
        let vote = loaded.meta.vote.map(|saved| match saved.committed {
            true => Vote::new_committed(saved.term, saved.node_id),
            false => Vote::new(saved.term, saved.node_id),
        });
        let index = Arc::new(Mutex::new(index));
        let counters = Arc::<Counters>::default();
        counters.note_disk(0, loaded.disk.bytes());
        let writer = Writer { disk: loaded.disk, index: index.clone(), counters: counters.clone() };
        let (sender, thread) = writer.spawn().map_err(StartError::Thread)?;
        let reader = LogReader { index, vote: Arc::new(Mutex::new(vote)) };
        Ok(Opened {
            store: LogStore { reader, writer: Some(sender) },
            counters,
            recovery: loaded.recovery,
            purged,
            thread: Some(thread),
        })
    }

    /// Sends a request to the writer and waits until it is durable.
    async fn request(
        &self,
        request: impl FnOnce(oneshot::Sender<io::Result<()>>) -> Request,
    ) -> io::Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let (done, answer) = oneshot::channel();
        writer.send(request(done)).map_err(|_| writer_gone())?;
        answer.await.map_err(|_| writer_gone())?
    }
}

fn writer_gone() -> io::Error {
    io::Error::other("the log writer has ended")
}

impl RaftLogReader<Types> for LogReader {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> io::Result<Vec<RaftLogEntry>> {
        let plan = self.index.lock().plan(bounds(&range))?;
        plan.into_iter().map(|planned| planned.read()).collect()
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(*self.vote.lock())
    }
}

fn bounds(range: &impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    start..end
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = LogReader;

    async fn get_log_state(&mut self) -> io::Result<LogState<Types>> {
        let index = self.reader.index.lock();
        Ok(LogState { last_purged_log_id: index.purged, last_log_id: index.last() })
    }

    async fn get_log_reader(&mut self) -> LogReader {
        self.reader.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        let saved = SavedVote {
            term: vote.leader_id.term,
            node_id: vote.leader_id.voted_for,
            committed: vote.committed,
        };
        self.request(|done| Request::Meta {
            change: Box::new(move |meta| meta.vote = Some(saved)),
            done,
        })
        .await?;
        *self.reader.vote.lock() = Some(*vote);
        Ok(())
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types>) -> io::Result<()>
    where
        I: IntoIterator<Item = RaftLogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut records = Vec::new();
        for entry in entries {
            let (id, kind, payload) = to_parts(entry)?;
            records.push(Record { term: id.leader_id.term, index: id.index, kind, payload });
        }
        {
            let mut index = self.reader.index.lock();
            for record in &records {
                if !index.accepts(record.index) {
                    let (got, want) = (record.index, index.next());
                    return Err(io::Error::other(format!("entry {got} does not follow {want}")));
                }
                index.push(record, None, true);
            }
        }
        match &self.writer {
            Some(writer) => writer
                .send(Request::Append { records, flushed: callback })
                .map_err(|_| writer_gone()),
            None => {
                callback.io_completed(Ok(()));
                Ok(())
            }
        }
    }

    async fn truncate_after(&mut self, last_log_id: Option<LogId>) -> io::Result<()> {
        let from = last_log_id.map_or(0, |id| id.index + 1);
        // The writer works in order, so every record before this request has its place by then;
        // the barrier makes the place known here.
        self.request(|done| Request::Barrier { done }).await?;
        let place = {
            let mut index = self.reader.index.lock();
            if from >= index.next() {
                return Ok(());
            }
            let place = index.place(from).map(|place| (from, place));
            index.truncate(from);
            place
        };
        self.request(|done| Request::Truncate { place, done }).await
    }

    async fn purge(&mut self, id: LogId) -> io::Result<()> {
        self.reader.index.lock().purge(id);
        let saved = SavedLogId { term: id.leader_id.term, index: id.index };
        self.request(|done| Request::Meta {
            change: Box::new(move |meta| meta.purged = Some(saved)),
            done,
        })
        .await?;
        self.request(|done| Request::Purge { index: id.index, done }).await
    }
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    }
}
