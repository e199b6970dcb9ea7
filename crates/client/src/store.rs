//! The node's memory on disk: what each allocation is and how far it has come.
//!
//! One thread owns the database. Writers leave their changes in a map, where a newer one replaces
//! an older one of the same key, and the thread takes all of them into one transaction: many
//! allocations share one flush. What a change makes reportable is passed on once it is durable.

mod format;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::alloc::{Alloc, AllocUpdate};
use model::ids::AllocId;
use model::job::Job;
use parking_lot::{Condvar, Mutex};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::oneshot;

use crate::alloc::record::{Final, JobVersion, Progress};

type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;
const JOBS: Table = TableDefinition::new("jobs-1");
const ALLOCS: Table = TableDefinition::new("allocs-1");
const PROGRESS: Table = TableDefinition::new("progress-1");
const FINAL: Table = TableDefinition::new("final-1");
const TABLES: [Table; 4] = [JOBS, ALLOCS, PROGRESS, FINAL];

const FILE: &str = "client.redb";
/// Pages kept in memory; the whole of it is seldom larger.
const CACHE_BYTES: usize = 1 << 20;
/// Between attempts to write to a disk that refuses.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Where reports of durable changes go.
pub(crate) type OnDurable = Arc<dyn Fn(Vec<AllocUpdate>) + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Job,
    Alloc,
    Progress,
    Final,
}

impl Kind {
    fn table(self) -> Table {
        TABLES[self as usize]
    }
}

/// What is found at the start.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) live: Vec<(Arc<Alloc>, Option<Progress>)>,
    pub(crate) finals: Vec<(AllocId, Final)>,
    /// Where a broken database was put.
    pub(crate) moved_aside: Option<PathBuf>,
    pub(crate) unreadable_records: usize,
}

#[derive(Default)]
struct Pending {
    writes: BTreeMap<(Kind, Vec<u8>), Option<Vec<u8>>>,
    updates: BTreeMap<AllocId, AllocUpdate>,
    waiting: Vec<oneshot::Sender<()>>,
    closing: bool,
}

struct Shared {
    pending: Mutex<Pending>,
    wake: Condvar,
}

/// The way to the database. The last one that is dropped ends the thread once all is written.
pub(crate) struct Store {
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// Why the store cannot be opened, even anew.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the client's state in {path}")]
pub struct StoreError {
    pub path: PathBuf,
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl Store {
    /// Opens the database. One that cannot be read is put aside, and an empty one takes its place:
    /// a damaged file must not keep a node out of work.
    pub(crate) fn open(
        directory: &Path,
        on_durable: OnDurable,
    ) -> Result<(Self, Loaded), StoreError> {
        let path = directory.join(FILE);
        let attempt = std::panic::AssertUnwindSafe(|| open_and_load(&path));
        // The database's own checks may panic on a file that somebody has changed.
        let (database, loaded) = match std::panic::catch_unwind(attempt) {
            Ok(Ok(opened)) => opened,
            failed => {
                let reason = match failed {
                    Ok(Err(error)) => error.to_string(),
                    _ => "the file is damaged".to_owned(),
                };
                let aside = directory.join(format!("{FILE}.broken-{}", crate::clock::now()));
                tracing::error!(
                    path = %path.display(), moved_to = %aside.display(), reason,
                    "the client's state cannot be read; starting without it"
                );
                let failure = |source| StoreError { path: path.clone(), source };
                std::fs::rename(&path, &aside).map_err(|error| failure(error.into()))?;
                let (database, mut loaded) = open_and_load(&path).map_err(failure)?;
                loaded.moved_aside = Some(aside);
                (database, loaded)
            }
        };
        let shared = Arc::new(Shared { pending: Mutex::default(), wake: Condvar::new() });
        let for_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("client-store".to_owned())
            .spawn({
                let path = path.clone();
                move || write_until_closed(database, &path, &for_thread, &on_durable)
            })
            .map_err(|error| StoreError { path, source: error.into() })?;
        Ok((Self { shared, thread: Mutex::new(Some(thread)) }, loaded))
    }

    pub(crate) fn put_job(&self, version: &JobVersion, job: &Job) {
        self.write(Kind::Job, version.key().into_bytes(), Some(format::encode(job)));
    }

    pub(crate) fn remove_job(&self, version: &JobVersion) {
        self.write(Kind::Job, version.key().into_bytes(), None);
    }

    pub(crate) fn put_alloc(&self, alloc: &Alloc) {
        self.write(Kind::Alloc, key(&alloc.id), Some(format::encode(alloc)));
    }

    /// Keeps how far an allocation has come, then reports it.
    pub(crate) fn put_progress(&self, id: AllocId, progress: &Progress, report: AllocUpdate) {
        let value = format::encode(progress);
        let mut pending = self.shared.pending.lock();
        pending.writes.insert((Kind::Progress, key(&id)), Some(value));
        pending.updates.insert(id, report);
        self.shared.wake.notify_one();
    }

    /// Puts the final record in the place of all others of an allocation, then reports it.
    pub(crate) fn put_final(&self, id: AllocId, record: &Final, report: AllocUpdate) {
        let value = format::encode(record);
        let mut pending = self.shared.pending.lock();
        pending.writes.insert((Kind::Final, key(&id)), Some(value));
        pending.writes.insert((Kind::Progress, key(&id)), None);
        pending.writes.insert((Kind::Alloc, key(&id)), None);
        pending.updates.insert(id, report);
        self.shared.wake.notify_one();
    }

    pub(crate) fn forget(&self, id: AllocId) {
        let mut pending = self.shared.pending.lock();
        for kind in [Kind::Final, Kind::Progress, Kind::Alloc] {
            pending.writes.insert((kind, key(&id)), None);
        }
        pending.updates.remove(&id);
        self.shared.wake.notify_one();
    }

    /// Waits until everything written so far is on disk.
    pub(crate) async fn durable(&self) {
        let (done, waiting) = oneshot::channel();
        self.shared.pending.lock().waiting.push(done);
        self.shared.wake.notify_one();
        // The sender is dropped only by a thread that ended, which does so when all is written.
        let _ = waiting.await;
    }

    /// Writes what is left and ends the thread.
    pub(crate) fn close(&self) {
        self.shared.pending.lock().closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there was logged by the runtime; there is nothing left to save.
            let _ = thread.join();
        }
    }

    fn write(&self, kind: Kind, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.shared.pending.lock().writes.insert((kind, key), value);
        self.shared.wake.notify_one();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

fn key(id: &AllocId) -> Vec<u8> {
    id.0.as_bytes().to_vec()
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn open_and_load(path: &Path) -> Result<(Database, Loaded), Failure> {
    let database = redb::Builder::new().set_cache_size(CACHE_BYTES).create(path)?;
    let transaction = database.begin_write()?;
    for table in TABLES {
        transaction.open_table(table)?;
    }
    transaction.commit()?;
    let loaded = load(&database)?;
    Ok((database, loaded))
}

fn load(database: &Database) -> Result<Loaded, Failure> {
    let mut loaded = Loaded::default();
    let transaction = database.begin_read()?;
    let mut unreadable = 0;
    let mut jobs: BTreeMap<Vec<u8>, Arc<Job>> = BTreeMap::new();
    for row in transaction.open_table(JOBS)?.iter()? {
        let (key, value) = row?;
        match format::decode(value.value()) {
            Some(job) => drop(jobs.insert(key.value().to_vec(), Arc::new(job))),
            None => unreadable += 1,
        }
    }
    let progress = transaction.open_table(PROGRESS)?;
    for row in transaction.open_table(ALLOCS)?.iter()? {
        let (key, value) = row?;
        let alloc: Option<Alloc> = format::decode(value.value());
        let job = alloc.as_ref().and_then(|a| jobs.get(JobVersion::of(a).key().as_bytes()));
        let (Some(mut alloc), Some(job)) = (alloc.clone(), job) else {
            unreadable += 1;
            continue;
        };
        alloc.spec = job.clone();
        let progress = progress.get(key.value())?.and_then(|value| format::decode(value.value()));
        loaded.live.push((Arc::new(alloc), progress));
    }
    for row in transaction.open_table(FINAL)?.iter()? {
        let (key, value) = row?;
        let id = <[u8; 16]>::try_from(key.value()).ok().map(uuid::Uuid::from_bytes);
        match (id, format::decode(value.value())) {
            (Some(id), Some(record)) => loaded.finals.push((AllocId(id), record)),
            _ => unreadable += 1,
        }
    }
    loaded.unreadable_records = unreadable;
    Ok(loaded)
}

fn write_until_closed(database: Database, path: &Path, shared: &Shared, on_durable: &OnDurable) {
    let mut database = Some(database);
    loop {
        let mut pending = shared.pending.lock();
        while pending.writes.is_empty() && pending.updates.is_empty() && pending.waiting.is_empty()
        {
            if pending.closing {
                return;
            }
            shared.wake.wait(&mut pending);
        }
        let closing = pending.closing;
        let taken = std::mem::take(&mut *pending);
        pending.closing = closing;
        drop(pending);
        while let Err(error) = commit_reopened(&mut database, path, &taken.writes) {
            tracing::error!(%error, "the client's state cannot be written; trying again");
            if shared.pending.lock().closing {
                break;
            }
            std::thread::sleep(RETRY_PAUSE);
        }
        if !taken.updates.is_empty() {
            on_durable(taken.updates.into_values().collect());
        }
        for done in taken.waiting {
            // The one who waited may have left.
            let _ = done.send(());
        }
    }
}

/// Commits; after a failure the database is closed and opened anew by the next attempt, since it
/// refuses everything once a write has failed (a full disk), however well the disk is afterwards.
fn commit_reopened(
    database: &mut Option<Database>,
    path: &Path,
    writes: &BTreeMap<(Kind, Vec<u8>), Option<Vec<u8>>>,
) -> Result<(), Failure> {
    let open = match database.take() {
        Some(open) => open,
        // Opening repairs what the failed write left.
        None => redb::Builder::new().set_cache_size(CACHE_BYTES).open(path)?,
    };
    commit(&open, writes)?;
    *database = Some(open);
    Ok(())
}

fn commit(
    database: &Database,
    writes: &BTreeMap<(Kind, Vec<u8>), Option<Vec<u8>>>,
) -> Result<(), Failure> {
    if writes.is_empty() {
        return Ok(());
    }
    let transaction = database.begin_write()?;
    for kind in [Kind::Job, Kind::Alloc, Kind::Progress, Kind::Final] {
        let mut of_kind = writes.iter().filter(|((other, _), _)| *other == kind).peekable();
        if of_kind.peek().is_none() {
            continue;
        }
        let mut table = transaction.open_table(kind.table())?;
        for ((_, key), value) in of_kind {
            match value {
                Some(value) => table.insert(key.as_slice(), value.as_slice())?,
                None => table.remove(key.as_slice())?,
            };
        }
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests;
