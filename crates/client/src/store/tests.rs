//! What is kept is found again, and damage does not stop the node.

use std::sync::mpsc;

use model::alloc::ClientStatus;
use model::ids::NodeId;

use super::*;
use crate::alloc::record::View;

fn nobody() -> OnDurable {
    Arc::new(|_| {})
}

fn view() -> View {
    View {
        status: ClientStatus::Running,
        description: "d".to_owned(),
        tasks: Arc::default(),
        health: None,
    }
}

fn progress() -> Progress {
    Progress { tasks: BTreeMap::new(), health: None, begun: true }
}

#[test]
fn allocations_come_back_with_their_shared_job_and_ended_ones_as_final_records() {
    let place = tempfile::tempdir().unwrap();
    let job = Arc::new(Job { id: Some("j".to_owned()), ..Job::default() });
    let alloc = crate::fixture::alloc(job.clone(), Default::default());
    let other = AllocId::from_name("other");
    let (reports, reported) = mpsc::channel();
    let on_durable: OnDurable = Arc::new(move |updates| drop(reports.send(updates)));
    let (store, _) = Store::open(place.path(), on_durable).unwrap();
    store.put_job(&JobVersion::of(&alloc), &job);
    store.put_alloc(&alloc);
    store.put_progress(alloc.id, &progress(), view().update(alloc.id, NodeId::default()));
    let record = Final { view: view(), finished_at: 7 };
    store.put_final(other, &record, view().update(other, NodeId::default()));
    store.close();
    let count: usize = reported.iter().map(|updates: Vec<AllocUpdate>| updates.len()).sum();
    assert_eq!(count, 2);
    drop(store);
    let (_store, loaded) = Store::open(place.path(), nobody()).unwrap();
    assert_eq!(loaded.live, [(Arc::new(alloc), Some(progress()))]);
    assert_eq!(loaded.finals, [(other, record)]);
    assert_eq!(loaded.unreadable_records, 0);
}

#[test]
fn a_damaged_file_is_put_aside() {
    for damage in [&b"no database"[..], &[0; 4096], &[]] {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join(FILE), damage).unwrap();
        let (store, loaded) = Store::open(place.path(), nobody()).unwrap();
        assert!(loaded.live.is_empty());
        assert_eq!(loaded.moved_aside.is_some(), !damage.is_empty());
        drop(store);
        Store::open(place.path(), nobody()).unwrap();
    }
}

#[test]
fn a_flipped_bit_costs_one_record() {
    let whole = format::encode(&progress());
    assert_eq!(format::decode::<Progress>(&whole), Some(progress()));
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[byte] ^= 1;
        assert_eq!(format::decode::<Progress>(&damaged), None, "{byte}");
    }
    assert_eq!(format::decode::<Progress>(b"ab"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_was_full_is_written_again_once_there_is_room() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    /// Takes the small file system away, whatever happens.
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = unmount(self.0, UnmountFlags::DETACH);
        }
    }
    if !rustix::process::geteuid().is_root() {
        println!("skipped: mounting a small file system needs root");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    mount("tmpfs", place.path(), "tmpfs", MountFlags::empty(), c"size=24m").unwrap();
    let _mounted = Mounted(place.path());
    let (store, _) = Store::open(place.path(), nobody()).unwrap();
    store.durable().await;
    let filler = place.path().join("filler");
    // Fills it to the last byte.
    let filled = std::fs::write(&filler, vec![0; 32 << 20]);
    assert!(filled.is_err());
    let record =
        Final { view: View { description: "x".repeat(1 << 20), ..view() }, finished_at: 7 };
    let id = AllocId::from_name("a");
    store.put_final(id, &record, view().update(id, NodeId::default()));
    let stuck = tokio::time::timeout(Duration::from_millis(300), store.durable()).await;
    assert!(stuck.is_err(), "nothing can be written to a full disk");
    std::fs::remove_file(&filler).unwrap();
    tokio::time::timeout(Duration::from_secs(20), store.durable()).await.expect("written at last");
    store.close();
    let (_store, loaded) = Store::open(place.path(), nobody()).unwrap();
    assert_eq!(loaded.finals.len(), 1);
    assert!(loaded.moved_aside.is_none());
}
