//! One record of a segment file: a 32 byte header, the payload, zero padding to eight bytes.
//!
//! ```text
//! 0  u32 payload length          24  u32 synced: offset in this file up to which everything
//! 4  u32 crc32 of all but crc        was on disk when this record's write began
//! 8  u64 term                    28  u8  kind
//! 16 u64 index                   29  3   "rec"
//! ```
//! `synced` is what tells a torn tail from damage: a record whose `synced` lies beyond a bad
//! place proves that the place was once intact on disk.

use bytes::Bytes;

use crate::raft_types::Kind;

pub(crate) const HEADER_BYTES: usize = 32;
pub(crate) const ALIGN: usize = 8;
const MARK: &[u8; 3] = b"rec";

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) term: u64,
    pub(crate) index: u64,
    pub(crate) kind: Kind,
    pub(crate) payload: Bytes,
}

/// What stands at an offset.
pub(crate) enum Parsed {
    Record {
        record: Record,
        synced: usize,
        next: usize,
    },
    /// Nothing was ever written here.
    End,
    Bad(&'static str),
}

/// Bytes a payload of `len` occupies on disk.
pub(crate) fn size_on_disk(len: usize) -> usize {
    (HEADER_BYTES + len).next_multiple_of(ALIGN)
}

pub(crate) fn encode(out: &mut Vec<u8>, record: &Record, synced: u32) {
    let start = out.len();
    let len = u32::try_from(record.payload.len()).expect("entries are bounded by MAX_ENTRY_BYTES");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&record.term.to_le_bytes());
    out.extend_from_slice(&record.index.to_le_bytes());
    out.extend_from_slice(&synced.to_le_bytes());
    out.push(record.kind as u8);
    out.extend_from_slice(MARK);
    out.extend_from_slice(&record.payload);
    let crc = checksum(&out[start..]);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    out.resize(start + size_on_disk(record.payload.len()), 0);
}

pub(crate) fn parse(buffer: &[u8], at: usize) -> Parsed {
    let rest = &buffer[at.min(buffer.len())..];
    if rest.iter().take(HEADER_BYTES).all(|byte| *byte == 0) {
        return Parsed::End;
    }
    if rest.len() < HEADER_BYTES {
        return Parsed::Bad("the file ends inside a record header");
    }
    if &rest[29..32] != MARK {
        return Parsed::Bad("no record header");
    }
    let len = u32_at(rest, 0) as usize;
    let next = at + size_on_disk(len);
    if next > buffer.len() {
        return Parsed::Bad("the file ends inside a record");
    }
    let body = &rest[..HEADER_BYTES + len];
    if checksum(body) != u32_at(rest, 4) {
        return Parsed::Bad("checksum mismatch");
    }
    // Padding is outside the checksum: it is always zero, so a flip there is visible too.
    if rest[HEADER_BYTES + len..next - at].iter().any(|byte| *byte != 0) {
        return Parsed::Bad("padding is not zero");
    }
    let Some(kind) = Kind::from_byte(rest[28]) else {
        return Parsed::Bad("unknown record kind");
    };
    let record = Record {
        term: u64_at(rest, 8),
        index: u64_at(rest, 16),
        kind,
        payload: Bytes::copy_from_slice(&body[HEADER_BYTES..]),
    };
    Parsed::Record { record, synced: u32_at(rest, 24) as usize, next }
}

fn checksum(record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&record[..4]);
    hasher.update(&record[8..]);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
