//! The files of an open log, owned by the writer thread.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::meta::{Durable, DurableFile, Meta, MetaFile};
use super::record::{self, Record};
use super::segment::{self, Expect, HEADER_BYTES};
use super::{Recovery, sync_dir};
use crate::errors::OpenError;

/// How a data directory is opened.
pub(crate) struct DiskConfig {
    pub(crate) dir: PathBuf,
    pub(crate) node_id: u64,
    pub(crate) segment_bytes: u64,
}

/// Where a written record lies.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) segment: u64,
    pub(crate) at: u32,
}

struct Segment {
    file: Arc<File>,
    path: PathBuf,
    size: u64,
    /// Where the next record goes.
    end: u64,
    /// First index after this segment, once it holds anything.
    next: u64,
}

pub(crate) struct Disk {
    log_dir: PathBuf,
    segment_bytes: u64,
    segments: BTreeMap<u64, Segment>,
    meta: MetaFile,
    durable: DurableFile,
    buffer: Vec<u8>,
    pub(crate) syncs: u64,
    /// Held for as long as the log is open; dropped last.
    _lock: File,
}

/// An open log with everything that was read from it.
pub(crate) struct Loaded {
    pub(crate) disk: Disk,
    pub(crate) meta: Meta,
    pub(crate) records: Vec<(Record, Place)>,
    pub(crate) recovery: Recovery,
}

impl Disk {
    pub(crate) fn open(config: &DiskConfig) -> Result<Loaded, OpenError> {
        let dir = &config.dir;
        let log_dir = dir.join("log");
        std::fs::create_dir_all(&log_dir).map_err(OpenError::io("create", &log_dir))?;
        let lock = lock(dir)?;
        let firsts = list_segments(&log_dir)?;
        let meta = open_meta(config, !firsts.is_empty())?;
        let (durable, known) = DurableFile::open(dir.join("durable"))
            .map_err(OpenError::io("open", dir.join("durable")))?;
        let mut disk = Disk {
            log_dir,
            segment_bytes: config.segment_bytes,
            segments: BTreeMap::new(),
            meta,
            durable,
            buffer: Vec::new(),
            syncs: 0,
            _lock: lock,
        };
        let (records, recovery) = disk.load(&firsts, known)?;
        let meta = disk.meta.meta.clone();
        Ok(Loaded { disk, meta, records, recovery })
    }

    fn load(
        &mut self,
        firsts: &[u64],
        known: Durable,
    ) -> Result<(Vec<(Record, Place)>, Recovery), OpenError> {
        let (mut all, mut recovery): (Vec<(Record, Place)>, _) = (Vec::new(), Recovery::default());
        let purged_next = self.meta.meta.purged.map_or(0, |id| id.index + 1);
        if known.offset > 0 && firsts.last().is_none_or(|last| *last < known.segment) {
            let path = self.log_dir.join(segment::file_name(known.segment));
            return Err(OpenError::corrupt(path, 0, "a segment that was synced is missing"));
        }
        for (position, first) in firsts.iter().copied().enumerate() {
            let path = self.log_dir.join(segment::file_name(first));
            let before = all.last().map_or(purged_next, |(record, _)| record.index + 1);
            if first > before || (position > 0 && first != before) {
                let reason = format!("entries from {before} on are missing before this segment");
                return Err(OpenError::corrupt(path, 0, reason));
            }
            let buffer = std::fs::read(&path).map_err(OpenError::io("read", &path))?;
            let last = position + 1 == firsts.len();
            let durable = if first == known.segment { known.offset as usize } else { 0 };
            let scan =
                segment::scan(&buffer, &Expect { path: path.clone(), first, last, durable })?;
            let file = File::options()
                .read(true)
                .write(true)
                .open(&path)
                .map_err(OpenError::io("open", &path))?;
            let end = scan.end as u64;
            let mut size = buffer.len() as u64;
            if last && (scan.torn_bytes > 0 || size < self.segment_bytes) {
                // A cut that adds no zeros beyond what was there keeps the next scan exact.
                segment::cut(&file, end, self.segment_bytes)
                    .map_err(OpenError::io("cut the torn tail of", &path))?;
                size = self.segment_bytes.max(end);
            }
            if scan.torn_bytes > 0 {
                recovery.torn = Some((path.clone(), end, scan.torn_bytes));
            }
            let next = first + scan.records.len() as u64;
            let place = |at: usize| Place { segment: first, at: at as u32 };
            all.extend(scan.records.into_iter().map(|(record, at)| (record, place(at))));
            self.segments.insert(first, Segment { file: Arc::new(file), path, size, end, next });
        }
        all.retain(|(record, _)| record.index >= purged_next);
        recovery.entries = all.len() as u64;
        Ok((all, recovery))
    }

    pub(crate) fn files(&self) -> BTreeMap<u64, Arc<File>> {
        self.segments.iter().map(|(first, segment)| (*first, segment.file.clone())).collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.size).sum()
    }

    /// Writes records and syncs them; one sync unless a segment fills up.
    pub(crate) fn append(&mut self, records: &[Record]) -> io::Result<Vec<Place>> {
        let mut places = Vec::with_capacity(records.len());
        let mut rest = records;
        while let Some(next) = rest.first() {
            let fits =
                self.room_for(record::size_on_disk(next.payload.len()) as u64, next.index)?;
            let (first, segment) = self.segments.iter_mut().next_back().expect("room_for made one");
            let synced = segment.end as u32;
            self.buffer.clear();
            let mut count = 0;
            for record in rest {
                let size = record::size_on_disk(record.payload.len()) as u64;
                if count > 0 && self.buffer.len() as u64 + size > fits {
                    break;
                }
                let at = synced + self.buffer.len() as u32;
                places.push(Place { segment: *first, at });
                record::encode(&mut self.buffer, record, synced);
                count += 1;
            }
            segment.file.write_all_at(&self.buffer, segment.end)?;
            segment.file.sync_data()?;
            segment.end += self.buffer.len() as u64;
            segment.size = segment.size.max(segment.end);
            segment.next = rest[count - 1].index + 1;
            self.syncs += 1;
            let durable = Durable { segment: *first, offset: segment.end };
            self.durable.store(durable)?;
            rest = &rest[count..];
        }
        // A rare huge batch must not keep its buffer for ever.
        if self.buffer.capacity() > KEPT_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        Ok(places)
    }

    /// Makes sure the last segment takes a record of `size`; answers how many bytes are free.
    fn room_for(&mut self, size: u64, index: u64) -> io::Result<u64> {
        if let Some(segment) = self.segments.values().next_back() {
            let free = segment.size.saturating_sub(segment.end);
            if free >= size {
                return Ok(free);
            }
        }
        let bytes = self.segment_bytes.max(HEADER_BYTES as u64 + size);
        let file = segment::create(&self.log_dir, index, bytes)?;
        let path = self.log_dir.join(segment::file_name(index));
        let end = HEADER_BYTES as u64;
        let segment = Segment { file: Arc::new(file), path, size: bytes, end, next: index };
        self.segments.insert(index, segment);
        Ok(bytes - end)
    }

    pub(crate) fn store_meta(&mut self, change: impl FnOnce(&mut Meta)) -> io::Result<()> {
        let mut meta = self.meta.meta.clone();
        change(&mut meta);
        self.meta.store(meta)
    }

    /// Removes the entries from `place` on; `None` removes all.
    pub(crate) fn truncate(&mut self, place: Option<(u64, Place)>) -> io::Result<()> {
        self.durable.forget()?;
        let keep = place.as_ref().map(|(_, place)| place.segment);
        while let Some((first, segment)) = self.segments.last_key_value() {
            if Some(*first) == keep {
                break;
            }
            std::fs::remove_file(&segment.path)?;
            let first = *first;
            self.segments.remove(&first);
            sync_dir(&self.log_dir)?;
        }
        if let Some((next, place)) = place {
            let segment = self.segments.get_mut(&place.segment).expect("the loop stopped at it");
            segment::cut(&segment.file, place.at.into(), segment.size)?;
            segment.end = place.at.into();
            segment.next = next;
        }
        Ok(())
    }

    /// Deletes the segments that hold nothing after `index`.
    pub(crate) fn purge(&mut self, index: u64) -> io::Result<()> {
        let gone: Vec<u64> = self
            .segments
            .iter()
            .filter(|(_, segment)| segment.next <= index + 1)
            .map(|(first, _)| *first)
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        if gone.len() == self.segments.len() {
            self.durable.forget()?;
        }
        for first in gone {
            let segment = self.segments.remove(&first).expect("listed above");
            std::fs::remove_file(&segment.path)?;
        }
        sync_dir(&self.log_dir)
    }
}

/// Write buffers above this are given back after use.
const KEPT_BUFFER_BYTES: usize = 256 * 1024;

/// How long the lock may be held by the last children of a process that is gone.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
/// Between two attempts at the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(OpenError::io("open", &path))?;
    let began = Instant::now();
    let mut attempt = file.try_lock();
    // A child of a killed process has a copy of the descriptor until it executes its program.
    while matches!(attempt, Err(TryLockError::WouldBlock)) && began.elapsed() < LOCK_PATIENCE {
        std::thread::sleep(LOCK_PAUSE);
        attempt = file.try_lock();
    }
    match attempt {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { dir: dir.into() }),
        Err(TryLockError::Error(e)) => Err(OpenError::io("lock", &path)(e)),
    }
}

fn open_meta(config: &DiskConfig, has_segments: bool) -> Result<MetaFile, OpenError> {
    let path = config.dir.join("meta");
    match MetaFile::open(&path)? {
        Some(file) if file.meta.node_id == config.node_id => Ok(file),
        Some(file) => Err(OpenError::OtherNode {
            dir: config.dir.clone(),
            found: file.meta.node_id,
            wanted: config.node_id,
        }),
        None if has_segments => {
            Err(OpenError::corrupt(path, 0, "the file is missing although the log has entries"))
        }
        None => {
            let meta = Meta { node_id: config.node_id, ..Meta::default() };
            MetaFile::create(&path, meta).map_err(OpenError::io("create", &path))
        }
    }
}

/// First entries of the segments in order; removes half-created ones.
fn list_segments(log_dir: &Path) -> Result<Vec<u64>, OpenError> {
    let mut firsts = Vec::new();
    for entry in std::fs::read_dir(log_dir).map_err(OpenError::io("list", log_dir))? {
        let path = entry.map_err(OpenError::io("list", log_dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".tmp") {
            std::fs::remove_file(&path).map_err(OpenError::io("remove", &path))?;
        } else if let Some(first) = segment::first_of(name) {
            firsts.push(first);
        }
    }
    firsts.sort_unstable();
    Ok(firsts)
}
