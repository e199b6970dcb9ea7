//! The index of the log in memory: term and place of each entry, and the payloads of recent ones.
//!
//! The apply thread reads entries moments after they are appended, so recent payloads are kept up
//! to [`CACHE_BYTES`]; older ones are read from their segment and checked again.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

use super::disk::Place;
use super::record::{self, Parsed, Record};
use crate::raft_types::{Kind, LogId, RaftLogEntry, from_parts, log_id};

/// Payload bytes kept in memory for entries that are on disk.
const CACHE_BYTES: usize = 1024 * 1024;

struct Slot {
    term: u64,
    kind: Kind,
    len: u32,
    /// `None` until the record is synced; always `None` in a log that lives in memory.
    place: Option<Place>,
    payload: Option<Bytes>,
}

#[derive(Default)]
pub(crate) struct Index {
    /// Index of the first slot; meaningless while there is none.
    first: u64,
    slots: VecDeque<Slot>,
    pub(crate) purged: Option<LogId>,
    pub(crate) files: BTreeMap<u64, Arc<File>>,
    cached_bytes: usize,
    /// Entries below this have given up their payload.
    evict_next: u64,
}

/// One entry of a read: what is known without the disk, and where the rest lies.
pub(crate) struct Planned {
    id: LogId,
    kind: Kind,
    source: Source,
}

enum Source {
    Cached(Bytes),
    File { file: Arc<File>, at: u64, size: usize },
}

impl Index {
    pub(crate) fn next(&self) -> u64 {
        match self.slots.len() as u64 {
            0 => self.purged.map_or(0, |id| id.index + 1),
            count => self.first + count,
        }
    }

    pub(crate) fn last(&self) -> Option<LogId> {
        match self.slots.back() {
            Some(slot) => Some(log_id(slot.term, self.next() - 1)),
            None => self.purged,
        }
    }

    pub(crate) fn push(&mut self, record: &Record, place: Option<Place>, keep: bool) {
        if self.slots.is_empty() {
            self.first = record.index;
            self.evict_next = record.index;
        }
        let payload = keep.then(|| record.payload.clone());
        self.cached_bytes += payload.as_ref().map_or(0, Bytes::len);
        let len = record.payload.len() as u32;
        self.slots.push_back(Slot { term: record.term, kind: record.kind, len, place, payload });
    }

    /// Whether `index` may follow. An empty log takes any start: a snapshot may come before it.
    pub(crate) fn accepts(&self, index: u64) -> bool {
        self.slots.is_empty() || index == self.next()
    }

    /// Notes that the records from `first` on are on disk, and drops old payloads.
    pub(crate) fn written(&mut self, first: u64, places: Vec<Place>) {
        let end = first + places.len() as u64;
        for (index, place) in (first..).zip(places) {
            if let Some(slot) = self.slot_mut(index) {
                slot.place = Some(place);
            }
        }
        while self.cached_bytes > CACHE_BYTES && self.evict_next < end {
            let index = self.evict_next;
            self.evict_next += 1;
            let freed = self.slot_mut(index).and_then(|slot| slot.payload.take());
            self.cached_bytes -= freed.map_or(0, |payload| payload.len());
        }
    }

    pub(crate) fn place(&self, index: u64) -> Option<Place> {
        self.slots.get(index.checked_sub(self.first)? as usize)?.place.clone()
    }

    /// Forgets the entries from `from` on.
    pub(crate) fn truncate(&mut self, from: u64) {
        while !self.slots.is_empty() && self.next() > from {
            let slot = self.slots.pop_back().expect("not empty");
            self.cached_bytes -= slot.payload.map_or(0, |payload| payload.len());
        }
        self.evict_next = self.evict_next.min(from);
    }

    /// Forgets the entries up to `id`.
    pub(crate) fn purge(&mut self, id: LogId) {
        while !self.slots.is_empty() && self.first <= id.index {
            let slot = self.slots.pop_front().expect("not empty");
            self.first += 1;
            self.cached_bytes -= slot.payload.map_or(0, |payload| payload.len());
        }
        self.evict_next = self.evict_next.max(self.first);
        self.purged = self.purged.max(Some(id));
    }

    /// Collects what a read of `range` needs; the caller reads without holding the lock.
    pub(crate) fn plan(&self, range: Range<u64>) -> io::Result<Vec<Planned>> {
        let start = range.start.max(self.first);
        let end = if self.slots.is_empty() { start } else { range.end.min(self.next()) };
        (start..end).map(|index| self.plan_one(index)).collect()
    }

    fn plan_one(&self, index: u64) -> io::Result<Planned> {
        let slot = &self.slots[(index - self.first) as usize];
        let source =
            match (&slot.payload, &slot.place) {
                (Some(payload), _) => Source::Cached(payload.clone()),
                (None, Some(place)) => Source::File {
                    file: self.files.get(&place.segment).cloned().ok_or_else(|| {
                        io::Error::other(format!("no segment holds entry {index}"))
                    })?,
                    at: place.at.into(),
                    size: record::size_on_disk(slot.len as usize),
                },
                (None, None) => return Err(io::Error::other(format!("entry {index} is nowhere"))),
            };
        Ok(Planned { id: log_id(slot.term, index), kind: slot.kind, source })
    }

    fn slot_mut(&mut self, index: u64) -> Option<&mut Slot> {
        self.slots.get_mut(index.checked_sub(self.first)? as usize)
    }
}

impl Planned {
    pub(crate) fn read(self) -> io::Result<RaftLogEntry> {
        let payload = match self.source {
            Source::Cached(payload) => payload,
            Source::File { file, at, size } => read_payload(&file, at, size, self.id)?,
        };
        from_parts(self.id, self.kind, payload)
    }
}

fn read_payload(file: &File, at: u64, size: usize, id: LogId) -> io::Result<Bytes> {
    let mut buffer = vec![0; size];
    file.read_exact_at(&mut buffer, at)?;
    match record::parse(&buffer, 0) {
        Parsed::Record { record, .. } if log_id(record.term, record.index) == id => {
            Ok(record.payload)
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("entry {} was damaged on disk after it was written, at offset {at}", id.index),
        )),
    }
}
