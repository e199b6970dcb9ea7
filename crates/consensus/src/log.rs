//! The log on disk: segment files written by one thread, with an index in memory.
//!
//! ```text
//! data_dir/lock                     held by flock while the log is open
//! data_dir/meta                     vote and purge point, two copies
//! data_dir/durable                  hint: synced up to here
//! data_dir/log/{first:020}.seg      records, preallocated
//! data_dir/snapshots/{index:020}.snap
//! ```

mod disk;
mod index;
mod meta;
mod record;
mod segment;
mod store;
mod writer;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod damage_tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use disk::DiskConfig;
pub(crate) use store::{Counters, LogStore, Opened};

/// What opening the log found and repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Entries found in the log.
    pub entries: u64,
    /// The interrupted last write that was cut off: file, offset and length in bytes.
    /// Nothing in it was ever acknowledged.
    pub torn: Option<(PathBuf, u64, u64)>,
}

pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
