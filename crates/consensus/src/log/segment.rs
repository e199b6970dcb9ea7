//! One segment file: its header, its creation, and the scan that tells a torn tail from damage.
//!
//! A segment is created whole (temporary name, header, preallocation, sync, rename), so a header is
//! never torn. It is filled from front to back; what follows the last record is zero.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record::{self, ALIGN, Parsed, Record};
use crate::errors::OpenError;

const MAGIC: &[u8; 8] = b"MUSTRLOG";
/// Format number in each segment header.
const FORMAT: u32 = 1;
/// Bytes before the first record.
pub(crate) const HEADER_BYTES: usize = 32;

pub(crate) fn file_name(first: u64) -> String {
    format!("{first:020}.seg")
}

pub(crate) fn first_of(name: &str) -> Option<u64> {
    name.strip_suffix(".seg").filter(|digits| digits.len() == 20)?.parse().ok()
}

/// Creates and preallocates the segment that starts with entry `first`.
pub(crate) fn create(dir: &Path, first: u64, size: u64) -> io::Result<File> {
    let path = dir.join(file_name(first));
    let temporary = path.with_extension("seg.tmp");
    let file =
        OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&temporary)?;
    preallocate(&file, size)?;
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&first.to_le_bytes());
    let crc = crc32fast::hash(&header[..24]);
    header[24..28].copy_from_slice(&crc.to_le_bytes());
    file.write_all_at(&header, 0)?;
    file.sync_all()?;
    std::fs::rename(&temporary, &path)?;
    super::sync_dir(dir)?;
    Ok(file)
}

/// Cuts the file at `end` and gives it zeros up to `size` again.
pub(crate) fn cut(file: &File, end: u64, size: u64) -> io::Result<()> {
    file.set_len(end)?;
    preallocate(file, size.max(end))?;
    file.sync_all()
}

fn preallocate(file: &File, size: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        // Some file systems cannot reserve; a sparse file only loses the early "disk full".
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(size),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn check_header(path: &Path, bytes: &[u8], first: u64) -> Result<(), OpenError> {
    if bytes.len() < HEADER_BYTES || &bytes[..8] != MAGIC {
        return Err(OpenError::corrupt(path, 0, "not a log segment"));
    }
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    if crc32fast::hash(&bytes[..24]) != number(24) {
        return Err(OpenError::corrupt(path, 0, "checksum of the segment header does not match"));
    }
    if number(8) != FORMAT {
        return Err(OpenError::Format { file: path.into(), found: number(8), known: FORMAT });
    }
    let written = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
    if written != first {
        return Err(OpenError::corrupt(path, 16, "the header names another first entry"));
    }
    Ok(())
}

/// The records of a segment and where they end.
pub(crate) struct Scan {
    pub(crate) records: Vec<(Record, usize)>,
    pub(crate) end: usize,
    /// Bytes of a write that a crash interrupted, to be cut off at `end`.
    pub(crate) torn_bytes: u64,
}

/// What is known about a segment before it is read.
pub(crate) struct Expect {
    pub(crate) path: PathBuf,
    pub(crate) first: u64,
    /// Whether no segment follows; only the last one can have a torn tail.
    pub(crate) last: bool,
    /// Offset up to which the records are known to have been synced.
    pub(crate) durable: usize,
}

pub(crate) fn scan(buffer: &[u8], expect: &Expect) -> Result<Scan, OpenError> {
    check_header(&expect.path, buffer, expect.first)?;
    let corrupt = |at, reason: &str| OpenError::corrupt(&expect.path, at, reason);
    let (mut at, mut records, mut term) = (HEADER_BYTES, Vec::new(), 0);
    let reason = loop {
        match record::parse(buffer, at) {
            Parsed::Record { record, next, .. } => {
                if record.index != expect.first + records.len() as u64 || record.term < term {
                    return Err(corrupt(at, "an entry is out of order"));
                }
                term = record.term;
                records.push((record, at));
                at = next;
            }
            Parsed::End => break "a record was overwritten by zeros",
            Parsed::Bad(reason) => break reason,
        }
    };
    if at < expect.durable {
        return Err(corrupt(at, &format!("{reason}, in a part that was synced before")));
    }
    let torn_bytes = last_non_zero(buffer).saturating_sub(at) as u64;
    if torn_bytes > 0 {
        if !expect.last {
            return Err(corrupt(at, &format!("{reason}, and newer segments follow")));
        }
        if let Some(later) = proof_of_sync(buffer, at) {
            return Err(corrupt(
                at,
                &format!("{reason}, and the later record at {later} is whole"),
            ));
        }
    }
    Ok(Scan { records, end: at, torn_bytes })
}

/// Finds a whole record after `bad` that was written after `bad` had been synced.
fn proof_of_sync(buffer: &[u8], bad: usize) -> Option<usize> {
    let start = (bad + 1).next_multiple_of(ALIGN);
    (start..buffer.len()).step_by(ALIGN).find(
        |at| matches!(record::parse(buffer, *at), Parsed::Record { synced, .. } if synced > bad),
    )
}

/// End of what was written. Compares whole blocks: most of a fresh segment is zeros.
fn last_non_zero(buffer: &[u8]) -> usize {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut end = buffer.len();
    while end >= ZEROS.len() && buffer[end - ZEROS.len()..end] == ZEROS {
        end -= ZEROS.len();
    }
    buffer[..end].iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1)
}
