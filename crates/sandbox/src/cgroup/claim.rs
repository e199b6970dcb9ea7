//! Which node directories have a living agent, and the removal of those that lost theirs.
//!
//! An agent holds a lock on its node's directory in the deciding tree. The kernel gives the lock
//! back however the agent ends, so that any later agent on the machine can tell a directory that
//! was left behind from one in use, without knowing the other agent's data directory.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{
    CREATE_ATTEMPTS_MAX, CgroupError, Hierarchies, PARENT, SUPERVISORS, create_directory, failed,
    pids_in, remove_tree, subdirectories,
};
use crate::identity::is_gone;

/// Says that the node's directories are in use. Dropping it says no more than that they are not:
/// tasks that go on keep theirs. [`NodeClaim::give_back`] removes them as well.
#[derive(Debug)]
pub struct NodeClaim {
    on: Hierarchies,
    node_id: String,
    /// Holds the lock; none where there is no hierarchy.
    lock: Option<File>,
}

impl NodeClaim {
    /// Makes the node's directory if it is not there.
    pub fn acquire(on: &Hierarchies, node_id: &str) -> Result<Self, CgroupError> {
        // Shared, so that a restarted agent need not wait for its predecessor's last child; that no
        // two agents use one data directory is the lock of that directory's business.
        let acquired = Self::with(on, node_id, FlockOperation::LockShared)?;
        Ok(acquired.expect("a lock that is waited for is had"))
    }

    /// The claim of a node whose agent is gone; none when somebody claims it.
    pub fn acquire_alone(on: &Hierarchies, node_id: &str) -> Result<Option<Self>, CgroupError> {
        Self::with(on, node_id, FlockOperation::NonBlockingLockExclusive)
    }

    fn with(
        on: &Hierarchies,
        node_id: &str,
        operation: FlockOperation,
    ) -> Result<Option<Self>, CgroupError> {
        let mut claim = Self { on: on.clone(), node_id: node_id.to_owned(), lock: None };
        let Some((_, path)) = on.node_directories(node_id).next() else { return Ok(Some(claim)) };
        for _ in 0..CREATE_ATTEMPTS_MAX {
            create_directory(&path).map_err(failed("create", &path))?;
            let file = match File::open(&path) {
                Err(error) if is_gone(&error) => continue,
                other => other.map_err(failed("open", &path))?,
            };
            match flock(&file, operation) {
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                other => other.map_err(|error| failed("lock", &path)(error.into()))?,
            }
            if is_still_at(&file, &path).map_err(failed("look at", &path))? {
                claim.lock = Some(file);
                return Ok(Some(claim));
            }
        }
        Err(failed("keep", &path)(io::ErrorKind::ResourceBusy.into()))
    }

    /// Removes the node's directories when nothing runs in them, and the common parent when this
    /// was the last node. `all_ended`: the caller has ended all tasks, so that a supervisor that is
    /// still seen is on its way out and worth the wait.
    pub fn give_back(mut self, all_ended: bool) {
        // Held until the directories are gone: whoever sweeps takes this for the sign that a later
        // claim of the same name is not in them.
        let lock = self.lock.take();
        // The one with the lock last: once it is gone, a new claim can be made and filled.
        let directories: Vec<_> = self.on.node_directories(&self.node_id).collect();
        for (_, path) in directories.iter().rev() {
            if all_ended {
                let _ = remove_tree(&path.join(SUPERVISORS));
            }
            // Each of these fails harmlessly while somebody is inside.
            let _ = fs::remove_dir(path.join(SUPERVISORS));
            remove_empty(path);
        }
        if let Some(file) = lock {
            // A copy in a child that has yet to execute its program must not keep it.
            let _ = flock(&file, FlockOperation::Unlock);
        }
    }
}

/// Removes the directories of nodes without an agent and without a process: what killed agents left
/// when their tasks had ended or ended later. Answers the node ids.
pub fn sweep_dead_nodes(on: &Hierarchies) -> Result<Vec<String>, CgroupError> {
    let Some((_, deciding)) = on.trees.first() else { return Ok(Vec::new()) };
    let mut found = BTreeSet::new();
    for (_, root) in &on.trees {
        let path = root.join(PARENT);
        found.extend(subdirectories(&path).map_err(failed("list", &path))?);
    }
    let mut removed = Vec::new();
    for name in found {
        let path = deciding.join(PARENT).join(&name);
        // A directory that is left in another tree alone is locked like any other.
        create_directory(&path).map_err(failed("create", &path))?;
        let file = match File::open(&path) {
            Err(error) if is_gone(&error) => continue,
            other => other.map_err(failed("open", &path))?,
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        // A lock on a directory that was removed meanwhile says nothing of the one that is there.
        if !is_still_at(&file, &path).map_err(failed("look at", &path))? {
            continue;
        }
        let directories: Vec<PathBuf> =
            on.trees.iter().map(|(_, root)| root.join(PARENT).join(&name)).collect();
        if directories.iter().any(|path| is_populated(path).unwrap_or(true)) {
            continue;
        }
        // The one with the lock last: once it is gone, a new claim can be made and filled.
        for path in directories.iter().rev() {
            remove_leaves_first(path);
        }
        if !directories.iter().any(|path| path.exists()) {
            removed.push(name);
        }
    }
    Ok(removed)
}

fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(now) => Ok(now.ino() == file.metadata()?.ino()),
        Err(error) if is_gone(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_populated(path: &Path) -> io::Result<bool> {
    if !pids_in(path)?.is_empty() {
        return Ok(true);
    }
    for below in subdirectories(path)? {
        if is_populated(&path.join(below))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Unlike `remove_tree`, without patience: what turns out to be in use stays.
fn remove_leaves_first(path: &Path) {
    for below in subdirectories(path).unwrap_or_default() {
        remove_leaves_first(&path.join(below));
    }
    remove_empty(path);
}

fn remove_empty(path: &Path) {
    // Fails harmlessly while somebody is inside.
    let _ = fs::remove_dir(path);
    if let Some(parent) = path.parent().filter(|parent| parent.ends_with(PARENT)) {
        let _ = fs::remove_dir(parent);
    }
}
