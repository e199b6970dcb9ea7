//! The two small files beside the segments: `meta` (vote and purge point) and `durable`.
//!
//! `meta` holds its record twice, 4096 bytes apart, each with a sequence number and a checksum. A
//! change writes and syncs one copy, then the other: a crash leaves at least one whole, and damage
//! to either copy costs nothing.
//!
//! `durable` names the place up to which the log was synced. It is written after each sync without
//! a sync of its own, so it is never ahead of the log; after a power cut it may be behind. It lets
//! the next start notice damage to the very last records, which would else look like a torn tail.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::errors::OpenError;

const META_MAGIC: &[u8; 8] = b"MUSTMETA";
const DURABLE_MAGIC: &[u8; 8] = b"MUSTDURA";
/// Format number of both files.
const FORMAT: u32 = 1;
/// Distance of the two copies: a disk sector of today's drives.
const COPY_BYTES: usize = 4096;
const HEADER_BYTES: usize = 24;
const CRC_BYTES: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) node_id: u64,
    pub(crate) vote: Option<SavedVote>,
    pub(crate) purged: Option<SavedLogId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedVote {
    pub(crate) term: u64,
    pub(crate) node_id: u64,
    pub(crate) committed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedLogId {
    pub(crate) term: u64,
    pub(crate) index: u64,
}

pub(crate) struct MetaFile {
    file: File,
    sequence: u64,
    pub(crate) meta: Meta,
}

impl MetaFile {
    /// Opens the file; `None` when there is none.
    pub(crate) fn open(path: &Path) -> Result<Option<MetaFile>, OpenError> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(OpenError::io("open", path)(e)),
        };
        let bytes = std::fs::read(path).map_err(OpenError::io("read", path))?;
        let mut newest: Option<(u64, Meta)> = None;
        for copy in bytes.chunks(COPY_BYTES).take(2) {
            match parse_copy(copy) {
                Some((FORMAT, sequence, Some(meta))) => {
                    if newest.as_ref().is_none_or(|(best, _)| sequence > *best) {
                        newest = Some((sequence, meta));
                    }
                }
                Some((FORMAT, _, None)) | None => {}
                Some((found, ..)) => {
                    return Err(OpenError::Format { file: path.into(), found, known: FORMAT });
                }
            }
        }
        let Some((sequence, meta)) = newest else {
            return Err(OpenError::corrupt(path, 0, "neither copy of the vote is whole"));
        };
        Ok(Some(MetaFile { file, sequence, meta }))
    }

    pub(crate) fn create(path: &Path, meta: Meta) -> io::Result<MetaFile> {
        let temporary = path.with_extension("tmp");
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&temporary)?;
        let sequence = 1;
        let copy = encode_copy(sequence, &meta)?;
        for place in 0..2 {
            file.write_all_at(&copy, place * COPY_BYTES as u64)?;
        }
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        super::sync_dir(path.parent().expect("the file lies in the data directory"))?;
        Ok(MetaFile { file, sequence, meta })
    }

    /// Replaces the record; durable on return.
    pub(crate) fn store(&mut self, meta: Meta) -> io::Result<()> {
        self.sequence += 1;
        let copy = encode_copy(self.sequence, &meta)?;
        for place in 0..2 {
            self.file.write_all_at(&copy, place * COPY_BYTES as u64)?;
            self.file.sync_data()?;
        }
        self.meta = meta;
        Ok(())
    }
}

fn encode_copy(sequence: u64, meta: &Meta) -> io::Result<Vec<u8>> {
    let body = rmp_serde::to_vec_named(meta).map_err(io::Error::other)?;
    let mut copy = Vec::with_capacity(COPY_BYTES);
    copy.extend_from_slice(META_MAGIC);
    copy.extend_from_slice(&FORMAT.to_le_bytes());
    copy.extend_from_slice(&(body.len() as u32).to_le_bytes());
    copy.extend_from_slice(&sequence.to_le_bytes());
    copy.extend_from_slice(&body);
    let crc = crc32fast::hash(&copy);
    copy.extend_from_slice(&crc.to_le_bytes());
    copy.resize(COPY_BYTES, 0);
    Ok(copy)
}

/// Format, sequence and record of one copy, if its checksum holds.
fn parse_copy(copy: &[u8]) -> Option<(u32, u64, Option<Meta>)> {
    if copy.len() < HEADER_BYTES || &copy[..8] != META_MAGIC {
        return None;
    }
    let number = |at: usize| u32::from_le_bytes(copy[at..at + 4].try_into().expect("four bytes"));
    let end = HEADER_BYTES + number(12) as usize;
    if end + CRC_BYTES > copy.len() || crc32fast::hash(&copy[..end]) != number(end) {
        return None;
    }
    let sequence = u64::from_le_bytes(copy[16..24].try_into().expect("eight bytes"));
    Some((number(8), sequence, rmp_serde::from_slice(&copy[HEADER_BYTES..end]).ok()))
}

/// The place up to which the log is synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durable {
    /// First entry of the segment.
    pub(crate) segment: u64,
    /// Offset in it; zero says nothing is known.
    pub(crate) offset: u64,
}

pub(crate) struct DurableFile {
    file: File,
}

impl DurableFile {
    /// Opens or creates the file. A missing or torn one only knows less.
    pub(crate) fn open(path: PathBuf) -> io::Result<(DurableFile, Durable)> {
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut bytes = [0; 32];
        let known = file.read_exact_at(&mut bytes, 0).is_ok()
            && &bytes[..8] == DURABLE_MAGIC
            && bytes[8..12] == FORMAT.to_le_bytes()
            && bytes[28..] == crc32fast::hash(&bytes[..28]).to_le_bytes();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let durable = match known {
            true => Durable { segment: number(12), offset: number(20) },
            false => Durable::default(),
        };
        Ok((DurableFile { file }, durable))
    }

    pub(crate) fn store(&self, durable: Durable) -> io::Result<()> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(DURABLE_MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..20].copy_from_slice(&durable.segment.to_le_bytes());
        bytes[20..28].copy_from_slice(&durable.offset.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        self.file.write_all_at(&bytes, 0)
    }

    /// Says that nothing is known, durably: called before records are taken away on purpose.
    pub(crate) fn forget(&self) -> io::Result<()> {
        self.store(Durable::default())?;
        self.file.sync_data()
    }
}
