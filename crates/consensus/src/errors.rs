//! Errors of the crate's door.

use std::io;
use std::path::PathBuf;

/// Why a data directory cannot be opened. Nothing in the directory was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("data directory {dir} is in use by another process (its file `lock` is held); stop that process or choose another directory", dir = .dir.display())]
    InUse { dir: PathBuf },
    #[error("{file} is damaged at byte {offset}: {reason}; restore the directory from a backup or remove this server and let it join anew", file = .file.display())]
    Corrupt { file: PathBuf, offset: u64, reason: String },
    #[error(
        "{reason}; restore the directory from a backup or remove this server and let it join anew"
    )]
    Snapshot { reason: String },
    #[error("the log starts after entry {purged}, but the snapshot that holds what came before is {found}; restore {dir} from a backup", dir = .dir.display())]
    SnapshotMissing { dir: PathBuf, purged: u64, found: String },
    #[error("{file} has format {found}, this program knows {known}", file = .file.display())]
    Format { file: PathBuf, found: u32, known: u32 },
    #[error("data directory {dir} belongs to node {found}, not to node {wanted}", dir = .dir.display())]
    OtherNode { dir: PathBuf, found: u64, wanted: u64 },
    #[error("cannot {action} {path}", path = .path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Why consensus did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the data directory holds no cluster yet and bootstrap is off")]
    NotBootstrapped,
    #[error("the state could not be rebuilt from snapshot and log: {0}")]
    Recover(String),
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    #[error("no leader within {waited_ms} ms of the start")]
    NoLeader { waited_ms: u64 },
}

/// Why a proposal, barrier or snapshot request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// The entry was not appended; ask the leader, if one is known.
    #[error("this server is not the leader")]
    NotLeader { leader: Option<u64> },
    /// The entry may or may not be committed; the caller tries again with its idempotency key.
    #[error("leadership is in doubt, try again")]
    Retry,
    #[error("an entry of {len} bytes is over the limit of {limit}")]
    TooLarge { len: usize, limit: usize },
    #[error("consensus is shut down")]
    Shutdown,
    /// The log or the state machine failed; this handle never acknowledges anything again.
    #[error("storage failed: {0}")]
    Storage(String),
}

impl OpenError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.into();
        move |source| OpenError::Io { action, path, source }
    }

    pub(crate) fn corrupt(
        file: impl Into<PathBuf>,
        offset: usize,
        reason: impl Into<String>,
    ) -> OpenError {
        OpenError::Corrupt { file: file.into(), offset: offset as u64, reason: reason.into() }
    }
}
