//! Directories in memory, for what must not reach a disk: small file systems mounted where the host
//! sees them, each marked with the node it belongs to.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, unmount,
};

use crate::cgroup::Hierarchies;

/// Heads the source of each mount, as `/proc/self/mountinfo` shows it; the node's id follows.
const SOURCE: &str = "muster-memory:";

/// A directory in memory, to be mounted over an empty one.
#[derive(Debug, Clone, Copy)]
pub struct MemoryDir<'a> {
    pub node_id: &'a str,
    pub uid: u32,
    pub gid: u32,
    pub size_bytes: u64,
}

impl MemoryDir<'_> {
    /// Mounts it at `name` beneath an open directory, unless something is mounted there already.
    /// Nobody but the user may enter, nothing in it can be executed, and no link is followed.
    pub fn ensure(&self, parent: &OwnedFd, name: &Path) -> io::Result<()> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = openat2(parent, name, flags, Mode::empty(), resolve)?;
        if fstat(&place)?.st_dev != fstat(parent)?.st_dev {
            return Ok(());
        }
        let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let source = format!("{SOURCE}{}", self.node_id);
        let numbers = [
            ("source", source),
            ("mode", "0700".to_owned()),
            ("uid", self.uid.to_string()),
            ("gid", self.gid.to_string()),
            ("size", self.size_bytes.to_string()),
        ];
        for (key, value) in numbers {
            fsconfig_set_string(context.as_fd(), key, value.as_str())?;
        }
        fsconfig_create(context.as_fd())?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(mount.as_fd(), c"", place.as_fd(), c"", flags)?)
    }
}

/// Takes a directory in memory away; what is in it is gone for whoever does not hold it open.
/// Nothing mounted there is fine.
pub fn remove_memory_dir(path: &Path) -> io::Result<()> {
    match unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT | rustix::io::Errno::PERM) => {
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Takes away the directories of this node that `keep` does not claim, and those of nodes that have
/// no control groups any more, which is to say neither an agent nor a task. Answers the paths.
pub fn sweep_memory_dirs(
    on: &Hierarchies,
    node_id: &str,
    keep: impl Fn(&Path) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mut removed = Vec::new();
    for (path, owner) in mounts.lines().filter_map(marked) {
        let is_stray =
            if owner == node_id { !keep(&path) } else { !on.is_empty() && !on.knows(&owner) };
        if is_stray {
            remove_memory_dir(&path)?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Mount point and node of a line of the mount table, if it is about a directory in memory.
fn marked(line: &str) -> Option<(PathBuf, String)> {
    let (left, right) = line.split_once(" - ")?;
    let owner = right.split(' ').nth(1)?.strip_prefix(SOURCE)?;
    let path = left.split(' ').nth(4)?;
    Some((PathBuf::from(unescape(path)), owner.to_owned()))
}

/// The kernel writes blanks and the like as a backslash and three octal digits.
fn unescape(text: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'\\').then(|| after.get(..3)).flatten();
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_mounts_are_found_in_the_mount_table() {
        let line = "61 24 0:47 / /data/a\\040b/secrets rw,nosuid shared:7 - tmpfs \
                    muster-memory:node-1 rw,size=1024k";
        let expected = (PathBuf::from("/data/a b/secrets"), "node-1".to_owned());
        assert_eq!(marked(line), Some(expected));
        assert_eq!(marked("61 24 0:47 / /tmp rw - tmpfs tmpfs rw"), None);
    }
}
