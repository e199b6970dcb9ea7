//! Builds the root of an isolated program, in the child between clone and exec.
//!
//! The calls of `rustix` used here are bare system calls: they take no lock, allocate nothing and
//! leave the C library's error number alone. Everything goes by descriptors below the new root, so
//! that no link which an earlier run of the task left there leads anywhere.

use std::ffi::CStr;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, statat, symlinkat,
};
use rustix::io::{Errno, Result};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
    mount_change, move_mount, open_tree, unmount,
};

use crate::isolation::{Isolation, Mount};

/// Device files of the host that programs get.
const DEVICES: [(&CStr, &CStr); 6] = [
    (c"null", c"/dev/null"),
    (c"zero", c"/dev/zero"),
    (c"full", c"/dev/full"),
    (c"random", c"/dev/random"),
    (c"urandom", c"/dev/urandom"),
    (c"tty", c"/dev/tty"),
];
const LINKS: [(&CStr, &CStr); 5] = [
    (c"fd", c"/proc/self/fd"),
    (c"stdin", c"/proc/self/fd/0"),
    (c"stdout", c"/proc/self/fd/1"),
    (c"stderr", c"/proc/self/fd/2"),
    (c"ptmx", c"pts/ptmx"),
];
/// The kernel's record for `mount_setattr`: set, clear, propagation, user namespace.
type Attributes = [u64; 4];
const PRIVATE: u64 = 1 << 18;
const AT_RECURSIVE: libc::c_int = 0x8000;
const NO_SUID: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID;
const NO_DEVICES: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NODEV;
const NO_PROGRAMS: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOEXEC;
const READ_ONLY: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_RDONLY;

/// Where building the root stopped.
pub(super) enum Failed {
    Root(Errno),
    /// By its place in the list.
    Mount(usize, Errno),
}

/// Leaves the calling process with the isolated root as its root and working directory. It must
/// have been cloned with a mount namespace of its own.
pub(super) fn enter(isolation: &Isolation) -> std::result::Result<(), Failed> {
    let root = attach_root(&isolation.root).map_err(Failed::Root)?;
    for (place, mount) in isolation.mounts.iter().enumerate() {
        attach(root.as_fd(), mount).map_err(|error| Failed::Mount(place, error))?;
    }
    leave_old_root(root.as_fd()).map_err(Failed::Root)
}

fn attach_root(path: &CStr) -> Result<OwnedFd> {
    // From here on nothing done in this namespace is seen in another.
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let root = clone_tree(CWD, path, OpenTreeFlags::AT_RECURSIVE)?;
    set_attributes(root.as_fd(), NO_DEVICES)?;
    move_mount(root.as_fd(), c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(root)
}

/// The old root ends up on top of the new one and is taken off.
fn leave_old_root(root: BorrowedFd<'_>) -> Result<()> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

fn attach(root: BorrowedFd<'_>, mount: &Mount) -> Result<()> {
    match mount {
        Mount::Bind { source, target, read_only } => {
            let tree = clone_tree(CWD, source, OpenTreeFlags::AT_RECURSIVE)?;
            let wanted = if *read_only { READ_ONLY | NO_DEVICES } else { NO_DEVICES };
            set_attributes(tree.as_fd(), wanted)?;
            move_to(tree.as_fd(), find(root, target)?.as_fd())
        }
        Mount::ReadOnly { target } => absent_is_fine(make_read_only(root, target)),
        Mount::Hidden { target } => absent_is_fine(hide(root, target)),
        Mount::Proc { target } => {
            let proc = new_filesystem(c"proc", &[], NO_SUID | NO_DEVICES | NO_PROGRAMS)?;
            move_to(proc.as_fd(), find(root, target)?.as_fd())
        }
        Mount::Sys { target } => {
            let flags = READ_ONLY | NO_SUID | NO_DEVICES | NO_PROGRAMS;
            let sys = new_filesystem(c"sysfs", &[], flags)?;
            move_to(sys.as_fd(), find(root, target)?.as_fd())
        }
        Mount::Devices { target } => attach_devices(find(root, target)?.as_fd()),
    }
}

fn make_read_only(root: BorrowedFd<'_>, target: &CStr) -> Result<()> {
    let place = find(root, target)?;
    let tree = clone_tree(root, target, OpenTreeFlags::empty())?;
    set_attributes(tree.as_fd(), READ_ONLY | NO_SUID | NO_DEVICES | NO_PROGRAMS)?;
    move_to(tree.as_fd(), place.as_fd())
}

fn hide(root: BorrowedFd<'_>, target: &CStr) -> Result<()> {
    let place = find(root, target)?;
    let flags = READ_ONLY | NO_SUID | NO_DEVICES | NO_PROGRAMS;
    let found = statat(&place, c"", AtFlags::EMPTY_PATH)?;
    let cover = if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
        new_filesystem(c"tmpfs", &[(c"mode", c"0555"), (c"nr_inodes", c"2")], flags)?
    } else {
        let null = clone_tree(CWD, c"/dev/null", OpenTreeFlags::empty())?;
        set_attributes(null.as_fd(), flags)?;
        null
    };
    move_to(cover.as_fd(), place.as_fd())
}

fn attach_devices(place: BorrowedFd<'_>) -> Result<()> {
    let flags = NO_SUID | NO_DEVICES | NO_PROGRAMS;
    let options = [(c"mode", c"0755"), (c"size", c"65536")];
    let devices = new_filesystem(c"tmpfs", &options, flags)?;
    move_to(devices.as_fd(), place)?;
    let devices = devices.as_fd();
    for (name, source) in DEVICES {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(openat(devices, name, new, Mode::from_raw_mode(0o666))?);
        // Unlike one that is made here, the host's own can be opened.
        let device = clone_tree(CWD, source, OpenTreeFlags::empty())?;
        set_attributes(device.as_fd(), NO_SUID | NO_PROGRAMS)?;
        move_to(device.as_fd(), find(devices, name)?.as_fd())?;
    }
    for (name, target) in LINKS {
        symlinkat(target, devices, name)?;
    }
    let options = [(c"mode", c"0620"), (c"ptmxmode", c"0666"), (c"gid", c"5")];
    let terminals = new_filesystem(c"devpts", &options, NO_SUID | NO_PROGRAMS)?;
    let memory = new_filesystem(c"tmpfs", &[(c"mode", c"1777")], flags)?;
    for (name, filesystem) in [(c"pts", terminals), (c"shm", memory)] {
        mkdirat(devices, name, Mode::from_raw_mode(0o755))?;
        move_to(filesystem.as_fd(), find(devices, name)?.as_fd())?;
    }
    Ok(())
}

fn new_filesystem(
    kind: &CStr,
    options: &[(&CStr, &CStr)],
    flags: MountAttrFlags,
) -> Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// A detached copy of what is mounted at a path.
fn clone_tree(from: BorrowedFd<'_>, path: &CStr, flags: OpenTreeFlags) -> Result<OwnedFd> {
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(from, path, clone | flags)
}

fn find(root: BorrowedFd<'_>, target: &CStr) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, target, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn move_to(tree: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", place, c"", flags)
}

fn absent_is_fine(result: Result<()>) -> Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// For a whole detached tree; a flag given when a tree is bound would be lost, and one set by
/// remounting would reach the topmost mount alone.
fn set_attributes(tree: BorrowedFd<'_>, flags: MountAttrFlags) -> Result<()> {
    set_attributes_raw(tree.as_raw_fd(), [u64::from(flags.bits()), 0, PRIVATE, 0])
}

/// The error that the kernel gives for a descriptor that is none.
pub(crate) fn set_attributes_of_nothing() -> Errno {
    set_attributes_raw(-1, [0; 4]).err().unwrap_or(Errno::BADF)
}

fn set_attributes_raw(tree: libc::c_int, attributes: Attributes) -> Result<()> {
    // SAFETY: the path ends with zero, and the record is of the size that is given.
    let code = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | AT_RECURSIVE,
            (&raw const attributes).cast::<u64>(),
            size_of::<Attributes>(),
        )
    };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: reads the thread's error number, which the failed call has just set.
    Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }))
}
