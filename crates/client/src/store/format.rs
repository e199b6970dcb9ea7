//! Values on disk: a checksum and named msgpack, so that fields can be added and rot is noticed.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    rmp_serde::encode::write_named(&mut bytes, value)
        .expect("records hold only what msgpack can say, and memory takes it");
    let checksum = crc32fast::hash(&bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// `None` for what was damaged or is of a layout this agent does not know.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (checksum, body) = bytes.split_first_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    rmp_serde::from_slice(body).ok()
}
