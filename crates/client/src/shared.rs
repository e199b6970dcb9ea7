//! What every part of the client needs and nobody changes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use drivers::Registry;
use model::alloc::Alloc;
use model::ids::NodeId;
use parking_lot::Mutex;
use sandbox::DirLock;
use sandbox::cgroup::NodeClaim;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::alloc::directory::AllocDir;
use crate::config::Config;
use crate::store::Store;

/// Tasks being prepared or started at once: enough to keep the machine busy, few enough that a
/// burst does not turn into hundreds of threads that wait for the disk.
pub(crate) const STARTS_AT_ONCE_MAX: usize = 8;

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) node_id: NodeId,
    /// `attr.…`, `meta.…`, `node.…`: what jobs may refer to.
    pub(crate) facts: BTreeMap<String, String>,
    /// Variables of the agent that tasks inherit.
    pub(crate) inherited: BTreeMap<String, String>,
    pub(crate) drivers: Registry,
    pub(crate) store: Store,
    pub(crate) starts: Semaphore,
    /// When a task was last prepared or started.
    pub(crate) last_start: Mutex<Option<Instant>>,
    /// Kept as long as anything of this client runs, so that no second one meets its tasks.
    pub(crate) lock: Mutex<Option<DirLock>>,
    /// The node's directories among the control groups; none where the machine offers none.
    pub(crate) claim: Mutex<Option<NodeClaim>>,
}

impl Shared {
    /// A turn to prepare or start a task; given back when it is dropped.
    pub(crate) async fn turn_to_start(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        let turn = self.starts.acquire().await.ok();
        *self.last_start.lock() = Some(Instant::now());
        turn
    }

    pub(crate) fn last_start(&self) -> Option<Instant> {
        *self.last_start.lock()
    }

    pub(crate) fn alloc_dir(&self, alloc: &Alloc) -> AllocDir {
        AllocDir::of(&self.config.alloc_dir, &alloc.id)
    }

    /// The folder of all starts of tasks.
    pub(crate) fn starts_dir(&self) -> PathBuf {
        self.config.state_dir.join(STARTS_DIR)
    }

    /// A folder for one start of one task; names chosen by users are no part of it.
    pub(crate) fn start_dir(&self, alloc: &Alloc, task: usize, start: u64) -> PathBuf {
        self.starts_dir().join(format!("{}-{task}-{start}", alloc.id.0.simple()))
    }
}

pub(crate) const STARTS_DIR: &str = "starts";
