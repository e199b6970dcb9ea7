//! What a development agent left that was killed: its tasks run on, and since the next one has
//! another data directory nobody will ever take them back. They end, and the directory goes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sandbox::{DirLock, Hierarchies};

use crate::identity;

/// Why an abandoned directory stays.
#[derive(Debug, thiserror::Error)]
pub enum AbandonedError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Cgroup(#[from] sandbox::CgroupError),
    #[error("a task of {count} cannot be ended")]
    Alive { count: usize },
}

/// Ends the tasks below a data directory and removes it, if no agent uses it. Whether it did.
///
/// The caller knows from the directory's name that its agent was a development agent which is
/// gone; this makes sure that nobody holds its locks and that it is this user's own: in a folder
/// that all may write to, anybody could put an id of somebody else's node.
///
/// # Errors
/// A task cannot be ended or a file not removed; the next attempt may do better.
pub fn end_abandoned(data_dir: &Path) -> Result<bool, AbandonedError> {
    let about = fs::symlink_metadata(data_dir)?;
    if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
        return Ok(false);
    }
    let state_dir = data_dir.join("client");
    if state_dir.is_dir() {
        let Ok(lock) = DirLock::acquire_now(&state_dir) else { return Ok(false) };
        let on = Hierarchies::detect();
        if let Some(node) = identity::existing(&state_dir)
            && !on.is_empty()
        {
            let node = node.to_string();
            let Some(claim) = sandbox::cgroup::NodeClaim::acquire_alone(&on, &node)? else {
                return Ok(false);
            };
            let report = sandbox::sweep(&on, &node, &BTreeSet::new())?;
            if !report.failed.is_empty() {
                return Err(AbandonedError::Alive { count: report.failed.len() });
            }
            sandbox::sweep_memory_dirs(&on, &node, |_| false)?;
            claim.give_back(true);
        }
        drop(lock);
    }
    fs::remove_dir_all(data_dir)?;
    Ok(true)
}
