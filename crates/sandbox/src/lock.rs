//! An exclusive lock on a directory: two agents on one data directory would ruin each other.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// How long a lock may be held by the last children of a process that is gone.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);
/// The name of the lock file inside the directory.
const LOCK_FILE: &str = "lock";

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{path} is in use by another process")]
    Taken { path: PathBuf },
    #[error("cannot lock {path}")]
    Io { path: PathBuf, source: io::Error },
}

/// Held while the directory belongs to this process; the kernel gives it back at the end, however
/// the process ends.
#[derive(Debug)]
pub struct DirLock {
    file: File,
}

impl DirLock {
    /// Waits a moment for a holder that is about to go.
    pub fn acquire(directory: &Path) -> Result<Self, LockError> {
        Self::within(directory, PATIENCE)
    }

    /// Does not wait.
    pub fn acquire_now(directory: &Path) -> Result<Self, LockError> {
        Self::within(directory, Duration::ZERO)
    }

    fn within(directory: &Path, patience: Duration) -> Result<Self, LockError> {
        let path = directory.join(LOCK_FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| LockError::Io { path: path.clone(), source })?;
        let began = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { file }),
                // A child of a killed agent has a copy of the descriptor until it executes.
                Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Taken { path }),
                Err(error) => return Err(LockError::Io { path, source: error.into() }),
            }
        }
    }
}

impl Drop for DirLock {
    /// Closing alone would not do: a child between its start and its exec has a copy of the
    /// descriptor, and would keep the lock for that moment.
    fn drop(&mut self) {
        // Nothing can be done about a failure; the end of the process unlocks, too.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_is_refused_until_the_first_lets_go() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirLock::acquire(directory.path()).unwrap();
        assert!(matches!(DirLock::acquire(directory.path()), Err(LockError::Taken { .. })));
        drop(first);
        DirLock::acquire(directory.path()).unwrap();
    }
}
