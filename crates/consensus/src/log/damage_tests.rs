//! Damages the files of a log in every way a crash or a disk can, and opens it again.

use std::path::{Path, PathBuf};

use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::type_config::TypeConfigExt;
use tempfile::TempDir;

use super::disk::{Disk, DiskConfig, Loaded};
use super::record::Record;
use super::segment;
use super::store::LogStore;
use crate::errors::OpenError;
use crate::raft_types::{Kind, Types, Vote, from_parts, log_id};

const SEGMENT_BYTES: u64 = 4096;

fn open(dir: &Path) -> Result<Loaded, OpenError> {
    Disk::open(&DiskConfig { dir: dir.into(), node_id: 7, segment_bytes: SEGMENT_BYTES })
}

fn record(index: u64, len: usize) -> Record {
    let payload: Vec<u8> = (0..len).map(|at| (at as u8) ^ (index as u8) | 1).collect();
    Record { term: 3, index, kind: Kind::Normal, payload: payload.into() }
}

fn indexes(loaded: &Loaded) -> Vec<u64> {
    loaded.records.iter().map(|(record, _)| record.index).collect()
}

/// A log of five entries in one segment, one sync each. Answers the offset of each record.
fn five_entries() -> (TempDir, PathBuf, Vec<usize>) {
    let dir = TempDir::new().unwrap();
    let mut disk = open(dir.path()).unwrap().disk;
    let offsets =
        (0..5).map(|index| disk.append(&[record(index, 50)]).unwrap()[0].at as usize).collect();
    let path = dir.path().join("log").join(segment::file_name(0));
    (dir, path, offsets)
}

/// What a power cut does to the hint that is written without a sync.
fn lose_hint(dir: &Path) {
    std::fs::remove_file(dir.join("durable")).unwrap();
}

#[test]
fn reopened_log_has_every_entry_with_its_bytes() {
    let (dir, _, _) = five_entries();
    let loaded = open(dir.path()).unwrap();
    assert_eq!(indexes(&loaded), [0, 1, 2, 3, 4]);
    assert!(loaded.records.iter().all(|(r, _)| r.payload == record(r.index, 50).payload));
    assert_eq!(loaded.recovery.torn, None);
}

#[test]
fn last_write_torn_at_any_byte_is_cut_off_and_reported() {
    let (dir, path, offsets) = five_entries();
    let whole = std::fs::read(&path).unwrap();
    let last = offsets[4];
    let end = last + super::record::size_on_disk(50);
    for torn_at in last..end {
        for shorten in [true, false] {
            let mut bytes = whole.clone();
            if shorten {
                bytes.truncate(torn_at);
            } else {
                bytes[torn_at..].fill(0);
            }
            std::fs::write(&path, &bytes).unwrap();
            lose_hint(dir.path());
            let loaded = open(dir.path()).unwrap();
            // The padding of the last record carries nothing, so losing it in zeros loses nothing.
            let survives = !shorten && bytes == whole;
            let expected: &[u64] = if survives { &[0, 1, 2, 3, 4] } else { &[0, 1, 2, 3] };
            assert_eq!(indexes(&loaded), expected, "torn at {torn_at}, shortened: {shorten}");
            let torn = loaded.recovery.torn.clone();
            assert_eq!(torn.is_some(), !survives && torn_at > last, "torn at {torn_at}");
            if !survives {
                let mut disk = loaded.disk;
                disk.append(&[record(4, 9)]).unwrap();
                drop(disk);
                assert_eq!(indexes(&open(dir.path()).unwrap()), [0, 1, 2, 3, 4]);
            }
        }
    }
}

#[test]
fn acknowledged_last_record_that_vanished_is_refused_while_the_hint_survives() {
    let (dir, path, offsets) = five_entries();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[offsets[4]..].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    match open(dir.path()).err().unwrap() {
        OpenError::Corrupt { file, offset, .. } => {
            assert_eq!((file, offset), (path, offsets[4] as u64));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn flipped_bit_in_any_older_byte_is_refused_with_file_and_offset() {
    let (dir, path, offsets) = five_entries();
    let whole = std::fs::read(&path).unwrap();
    lose_hint(dir.path());
    for at in segment::HEADER_BYTES..offsets[4] {
        for bit in [0, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            let expected = *offsets.iter().rev().find(|offset| **offset <= at).unwrap() as u64;
            match open(dir.path()).err() {
                Some(OpenError::Corrupt { file, offset, .. }) => {
                    assert_eq!((&file, offset), (&path, expected), "byte {at} bit {bit}");
                }
                other => panic!("byte {at} bit {bit}: {other:?}"),
            }
            let untouched = std::fs::read(&path).unwrap();
            assert!(untouched == bytes, "a refused log must not be changed");
        }
    }
}

#[test]
fn flipped_bit_in_a_segment_header_is_refused() {
    let (dir, path, _) = five_entries();
    let whole = std::fs::read(&path).unwrap();
    for at in 0..28 {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&path, &bytes).unwrap();
        assert!(open(dir.path()).is_err(), "byte {at}");
    }
}

#[test]
fn missing_segment_is_refused() {
    for missing in 0..3 {
        let dir = TempDir::new().unwrap();
        let mut disk = open(dir.path()).unwrap().disk;
        for index in 0..12 {
            disk.append(&[record(index, 900)]).unwrap();
        }
        let paths: Vec<PathBuf> = disk
            .files()
            .keys()
            .map(|first| dir.path().join("log").join(segment::file_name(*first)))
            .collect();
        assert_eq!(paths.len(), 3);
        drop(disk);
        std::fs::remove_file(&paths[missing]).unwrap();
        assert!(matches!(open(dir.path()).err(), Some(OpenError::Corrupt { .. })), "{missing}");
    }
}

#[test]
fn records_larger_than_a_segment_and_batches_over_many_segments_survive() {
    let dir = TempDir::new().unwrap();
    let mut disk = open(dir.path()).unwrap().disk;
    disk.append(&[record(0, 10_000)]).unwrap();
    let batch: Vec<Record> = (1..40).map(|index| record(index, 700)).collect();
    disk.append(&batch).unwrap();
    drop(disk);
    let loaded = open(dir.path()).unwrap();
    assert_eq!(indexes(&loaded), (0..40).collect::<Vec<u64>>());
    assert!(loaded.records[1..].iter().all(|(r, _)| r.payload == record(r.index, 700).payload));
}

#[test]
fn one_damaged_copy_of_the_vote_costs_nothing_and_two_are_refused() {
    let (dir, _, _) = five_entries();
    let path = dir.path().join("meta");
    let vote = super::meta::SavedVote { term: 9, node_id: 7, committed: true };
    open(dir.path()).unwrap().disk.store_meta(|meta| meta.vote = Some(vote)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for copy in [0, 4096] {
        for at in 0..60 {
            let mut bytes = whole.clone();
            bytes[copy + at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(open(dir.path()).unwrap().meta.vote, Some(vote), "byte {}", copy + at);
        }
    }
    let mut bytes = whole;
    bytes[30] ^= 1;
    bytes[4096 + 30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(open(dir.path()).err(), Some(OpenError::Corrupt { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(open(dir.path()).err(), Some(OpenError::Corrupt { .. })));
}

#[test]
fn directory_of_another_node_or_another_process_is_refused_in_words() {
    let (dir, _, _) = five_entries();
    let held = open(dir.path()).unwrap();
    let error = open(dir.path()).err().unwrap();
    assert!(error.to_string().contains("is in use by another process"), "{error}");
    drop(held);
    let config = DiskConfig { dir: dir.path().into(), node_id: 8, segment_bytes: SEGMENT_BYTES };
    let error = Disk::open(&config).err().unwrap();
    assert!(error.to_string().contains("belongs to node 7, not to node 8"), "{error}");
}

#[test]
fn truncated_entries_never_come_back_and_purge_deletes_whole_segments() {
    let dir = TempDir::new().unwrap();
    let mut disk = open(dir.path()).unwrap().disk;
    let mut places = Vec::new();
    for index in 0..12 {
        places.extend(disk.append(&[record(index, 900)]).unwrap());
    }
    disk.truncate(Some((6, places[6].clone()))).unwrap();
    drop(disk);
    let mut loaded = open(dir.path()).unwrap();
    assert_eq!(indexes(&loaded), [0, 1, 2, 3, 4, 5]);
    let purged = super::meta::SavedLogId { term: 3, index: 4 };
    loaded.disk.store_meta(|meta| meta.purged = Some(purged)).unwrap();
    loaded.disk.purge(4).unwrap();
    assert_eq!(loaded.disk.files().len(), 1);
    drop(loaded);
    assert_eq!(indexes(&open(dir.path()).unwrap()), [5]);
}

#[tokio::test]
async fn log_that_failed_once_refuses_everything_even_when_the_cause_is_gone() {
    let dir = TempDir::new().unwrap();
    let config = DiskConfig { dir: dir.path().into(), node_id: 7, segment_bytes: SEGMENT_BYTES };
    let mut opened = LogStore::open(&config).unwrap();
    let append = async |store: &mut LogStore, index| {
        let (done, flushed) = Types::oneshot();
        let entry = from_parts(log_id(3, index), Kind::Normal, vec![1; 3000].into()).unwrap();
        store.append([entry], IOFlushed::signal(done)).await.unwrap();
        flushed.await.unwrap()
    };
    append(&mut opened.store, 0).await.unwrap();
    let (log, aside) = (dir.path().join("log"), dir.path().join("aside"));
    std::fs::rename(&log, &aside).unwrap();
    append(&mut opened.store, 1).await.unwrap_err();
    std::fs::rename(&aside, &log).unwrap();
    let error = append(&mut opened.store, 2).await.unwrap_err();
    assert!(error.to_string().contains("the log stopped after"), "{error}");
    opened.store.save_vote(&Vote::new(9, 7)).await.unwrap_err();
    assert!(opened.counters.failure().is_some());
    drop(opened.store);
    opened.thread.unwrap().join().unwrap();
    assert_eq!(indexes(&open(dir.path()).unwrap()), [0]);
}
