//! The writer thread: takes requests in order, gathers waiting appends, syncs once for all.
//!
//! After the first failed write or sync the thread refuses everything: what the kernel did with
//! the dirty pages is unknown, so no later sync on the same file may be believed.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use openraft::storage::IOFlushed;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::disk::{Disk, Place};
use super::index::Index;
use super::meta::Meta;
use super::record::Record;
use super::store::Counters;
use crate::raft_types::Types;

/// Payload bytes gathered into one write.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(crate) type Done = oneshot::Sender<io::Result<()>>;

pub(crate) enum Request {
    Append {
        records: Vec<Record>,
        flushed: IOFlushed<Types>,
    },
    Meta {
        change: Box<dyn FnOnce(&mut Meta) + Send>,
        done: Done,
    },
    Truncate {
        place: Option<(u64, Place)>,
        done: Done,
    },
    Purge {
        index: u64,
        done: Done,
    },
    /// Answers once everything before it is on disk.
    Barrier {
        done: Done,
    },
}

pub(crate) struct Writer {
    pub(crate) disk: Disk,
    pub(crate) index: Arc<Mutex<Index>>,
    pub(crate) counters: Arc<Counters>,
}

impl Writer {
    pub(crate) fn spawn(self) -> io::Result<(Sender<Request>, std::thread::JoinHandle<()>)> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || self.run(&receiver))?;
        Ok((sender, thread))
    }

    fn run(mut self, requests: &Receiver<Request>) {
        let mut waiting = None;
        while let Some(request) = waiting.take().or_else(|| requests.recv().ok()) {
            match request {
                Request::Append { records, flushed } => {
                    waiting = self.append(records, flushed, requests);
                }
                Request::Meta { change, done } => {
                    self.answer(done, |disk| disk.store_meta(change));
                }
                Request::Truncate { place, done } => {
                    self.answer(done, |disk| disk.truncate(place));
                }
                Request::Purge { index, done } => self.answer(done, |disk| disk.purge(index)),
                Request::Barrier { done } => self.answer(done, |_| Ok(())),
            }
            self.publish();
        }
    }

    /// Writes this append and those that wait behind it; returns the request that ended the row.
    fn append(
        &mut self,
        mut records: Vec<Record>,
        flushed: IOFlushed<Types>,
        requests: &Receiver<Request>,
    ) -> Option<Request> {
        let mut callbacks = vec![flushed];
        let mut bytes: usize = records.iter().map(|record| record.payload.len()).sum();
        let mut left_over = None;
        while bytes < BATCH_BYTES {
            match requests.try_recv() {
                Ok(Request::Append { records: more, flushed }) => {
                    bytes += more.iter().map(|record| record.payload.len()).sum::<usize>();
                    records.extend(more);
                    callbacks.push(flushed);
                }
                Ok(other) => {
                    left_over = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        let first = records.first().map_or(0, |record| record.index);
        let began = Instant::now();
        let result = self.guarded(|disk| disk.append(&records));
        self.counters.note_write(records.len() as u64, began.elapsed());
        let outcome = result.map(|places| {
            let mut index = self.index.lock();
            index.files = self.disk.files();
            index.written(first, places);
        });
        for callback in callbacks {
            callback.io_completed(copy_of(&outcome));
        }
        left_over
    }

    fn answer(&mut self, done: Done, work: impl FnOnce(&mut Disk) -> io::Result<()>) {
        let result = self.guarded(work);
        self.index.lock().files = self.disk.files();
        // A caller that went away needs no answer.
        let _ = done.send(result);
    }

    /// Runs `work` unless something failed before; remembers the failure.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Disk) -> io::Result<T>) -> io::Result<T> {
        if let Some(failure) = self.counters.failure() {
            return Err(io::Error::other(format!("the log stopped after: {failure}")));
        }
        let result = work(&mut self.disk);
        if let Err(error) = &result {
            self.counters.fail(error.to_string());
        }
        result
    }

    fn publish(&self) {
        self.counters.note_disk(self.disk.syncs, self.disk.bytes());
    }
}

fn copy_of(outcome: &io::Result<()>) -> io::Result<()> {
    match outcome {
        Ok(()) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    }
}
