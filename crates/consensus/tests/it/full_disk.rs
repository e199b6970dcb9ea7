//! A disk that fills up: the proposal is refused and nothing is acknowledged afterwards.

use std::path::Path;

use bytes::Bytes;
use consensus::{Config, Consensus, ProposeError};
use rustix::mount::{MountFlags, UnmountFlags};
use tempfile::TempDir;

use crate::recorder::{config, recorder};

/// A small tmpfs, unmounted on drop.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(path: &Path) -> Option<Small<'_>> {
        let made =
            rustix::mount::mount("tmpfs", path, "tmpfs", MountFlags::empty(), Some(c"size=1m"));
        match made {
            Ok(()) => Some(Small(path)),
            Err(error) => {
                eprintln!("skipped: mounting a small tmpfs needs root ({error})");
                None
            }
        }
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0, UnmountFlags::DETACH);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_refuses_the_proposal_and_every_later_one_and_loses_nothing() {
    let dir = TempDir::new().unwrap();
    let Some(_mounted) = Small::mount(dir.path()) else { return };
    let settings = Config { segment_bytes: 128 * 1024, ..config(dir.path()) };
    let (machine, applied) = recorder();
    let log = Consensus::start(settings.clone(), machine).await.unwrap();
    let mut acknowledged = 0;
    let refused = loop {
        match log.propose(Bytes::from(vec![b'x'; 16 * 1024])).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1000, "the disk never filled");
    };
    assert!(
        matches!(&refused, ProposeError::Storage(text) if text.contains("No space")),
        "{refused}"
    );
    // Room again, but the process must not trust the file any more.
    let spare = dir.path().join("snapshots");
    std::fs::remove_dir_all(spare).unwrap();
    for _ in 0..3 {
        let later = log.propose(Bytes::from_static(b"small")).await;
        assert!(matches!(later, Err(ProposeError::Storage(_))), "{later:?}");
    }
    assert!(log.stats().failure.is_some());
    assert_eq!(applied.lock().unwrap().len(), acknowledged);
    log.shutdown().await;

    rustix::mount::mount_remount(dir.path(), MountFlags::empty(), c"size=16m").unwrap();
    let (machine, applied) = recorder();
    let log = Consensus::start(settings, machine).await.unwrap();
    assert!(applied.lock().unwrap().len() >= acknowledged);
    log.propose(Bytes::from_static(b"after")).await.unwrap();
    log.shutdown().await;
}
