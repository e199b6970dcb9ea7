//! Runs openraft's own storage contract suite on this store, on disk and in memory.

use openraft::StorageError;
use openraft::testing::log::{StoreBuilder, Suite};
use tempfile::TempDir;

use super::disk::DiskConfig;
use super::store::LogStore;
use crate::machine::{Entry, Machine, SnapshotSource, StateMachine};
use crate::raft_types::Types;
use crate::snapshot::SnapshotStore;

struct Nothing;

impl StateMachine for Nothing {
    fn apply(&mut self, entries: &[Entry]) -> Vec<bytes::Bytes> {
        entries.iter().map(|entry| entry.data.clone()).collect()
    }

    fn snapshot(&self) -> Box<dyn SnapshotSource + Send> {
        Box::new(Nothing)
    }

    fn restore(&mut self, reader: &mut dyn std::io::Read) -> std::io::Result<()> {
        std::io::copy(reader, &mut std::io::sink()).map(|_| ())
    }
}

impl SnapshotSource for Nothing {
    fn write_to(self: Box<Self>, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        out.write_all(b"nothing")
    }
}

struct OnDisk;
struct InMemory;

impl StoreBuilder<Types, LogStore, Machine, TempDir> for OnDisk {
    async fn build(&self) -> Result<(TempDir, LogStore, Machine), StorageError<Types>> {
        let dir = TempDir::new().unwrap();
        let config = DiskConfig { dir: dir.path().into(), node_id: 0, segment_bytes: 4096 };
        let opened = LogStore::open(&config).unwrap();
        let snapshots = SnapshotStore::open(dir.path().join("snapshots")).unwrap();
        let started = Machine::start(Nothing, snapshots, u64::MAX).unwrap();
        Ok((dir, opened.store, started.machine))
    }
}

impl StoreBuilder<Types, LogStore, Machine, ()> for InMemory {
    async fn build(&self) -> Result<((), LogStore, Machine), StorageError<Types>> {
        let started = Machine::start(Nothing, SnapshotStore::in_memory(), u64::MAX).unwrap();
        Ok(((), LogStore::in_memory().store, started.machine))
    }
}

#[tokio::test]
async fn store_on_disk_keeps_openrafts_storage_contract() {
    Suite::test_all(OnDisk).await.unwrap();
}

#[tokio::test]
async fn store_in_memory_keeps_openrafts_storage_contract() {
    Suite::test_all(InMemory).await.unwrap();
}
