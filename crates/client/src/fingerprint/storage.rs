//! The disk that allocations live on.

use std::fs;
use std::path::Path;

use super::Found;

pub(crate) struct Storage {
    pub(super) found: Found,
    pub(super) total_bytes: u64,
}

pub(super) fn probe(alloc_dir: &Path) -> Storage {
    let mut found = Found::default();
    let mount = mount_of(alloc_dir);
    found.set("unique.storage.volume", mount.map_or_else(String::new, |mount| mount.device));
    let mut total_bytes = 0;
    if let Ok(stat) = rustix::fs::statvfs(alloc_dir) {
        total_bytes = stat.f_blocks * stat.f_frsize;
        found.set("unique.storage.bytestotal", total_bytes);
        found.set("unique.storage.bytesfree", stat.f_bavail * stat.f_frsize);
    }
    Storage { found, total_bytes }
}

/// One line of the mount table.
pub(crate) struct Mount {
    pub(crate) device: String,
    pub(crate) point: String,
}

/// The mount a path is on: the one with the longest matching point.
pub(crate) fn mount_of(path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    let table = fs::read_to_string("/proc/mounts").ok()?;
    let mounts = table.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some(Mount { device: fields.next()?.to_owned(), point: fields.next()?.to_owned() })
    });
    // Of two mounts on one point the later one is seen.
    mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.len())
}
