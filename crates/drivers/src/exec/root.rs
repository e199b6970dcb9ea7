//! What a task finds in its root, and the mount points for it.
//!
//! Mount points are empty directories and files in the task's directory. An earlier run of the task
//! may have put links there, so each step goes by a descriptor and follows none.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ::supervisor::protocol::LaunchMount;
use rustix::fs::{AtFlags, Mode, OFlags, chmodat, mkdirat, open, openat};
use rustix::io::Errno;
use sandbox::isolation::KERNEL_MOUNT_POINTS;

use super::ExecOptions;

/// What tasks see of the host unless the node says otherwise; what a host does not have is left
/// out.
const USUAL: [&str; 8] =
    ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/run/resolvconf", "/sbin", "/usr"];
/// Where the directory is that the tasks of an allocation share.
const ALLOC: &str = "alloc";

const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::PATH).union(OFlags::CLOEXEC);

/// Makes the mount points and answers the mounts, outer ones first.
pub(super) fn furnish(
    options: &ExecOptions,
    task_dir: &Path,
    alloc_dir: &Path,
) -> Result<Vec<LaunchMount>, String> {
    let root = open(task_dir, FOLDER, Mode::empty())
        .map_err(|error| format!("cannot open {}: {error}", task_dir.display()))?;
    // Either path may lead through links.
    let allocations = fs::canonicalize(&options.alloc_root).ok();
    let mut mounts = Vec::new();
    for (source, target) in of_host(options)? {
        let real = match fs::canonicalize(&source) {
            Ok(real) => real,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && options.chroot_env.is_none() =>
            {
                continue;
            }
            Err(error) => return Err(format!("chroot source {}: {error}", source.display())),
        };
        make_mount_point(&root, &target, real.is_dir())?;
        let within = allocations.as_ref().and_then(|path| path.strip_prefix(&real).ok());
        mounts.push(LaunchMount {
            source: bytes(&source),
            target: bytes(&target),
            read_only: true,
        });
        // The task would see every other task's directory, and its own once more.
        if let Some(within) = within {
            let target = bytes(&target.join(within));
            mounts.push(LaunchMount { source: Vec::new(), target, read_only: true });
        }
    }
    make_mount_point(&root, Path::new(ALLOC), true)?;
    mounts.push(LaunchMount {
        source: bytes(alloc_dir),
        target: ALLOC.as_bytes().to_vec(),
        read_only: false,
    });
    for name in KERNEL_MOUNT_POINTS {
        make_mount_point(&root, Path::new(name), true)?;
    }
    Ok(mounts)
}

pub(super) fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// Sources and targets, the latter without a leading slash and in such an order that none covers
/// one before it.
fn of_host(options: &ExecOptions) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let given = options.chroot_env.iter().flatten();
    let given = given.map(|(source, target)| (source.as_str(), target.as_str()));
    let usual = USUAL.iter().map(|path| (*path, *path));
    let usual = usual.filter(|_| options.chroot_env.is_none());
    let mut all = Vec::new();
    for (source, target) in given.chain(usual) {
        let below = below_root(target);
        match below.filter(|below| !below.as_os_str().is_empty() && source.starts_with('/')) {
            Some(below) => all.push((PathBuf::from(source), below)),
            None => return Err(format!("chroot_env cannot put {source:?} at {target:?}")),
        }
    }
    all.sort_by(|(_, one), (_, other)| one.cmp(other));
    Ok(all)
}

/// None for a path that leads upwards.
fn below_root(path: &str) -> Option<PathBuf> {
    let parts = Path::new(path)
        .components()
        .filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
    parts
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect()
}

fn make_mount_point(root: &OwnedFd, target: &Path, is_directory: bool) -> Result<(), String> {
    let failed =
        |error: Errno| format!("cannot make the mount point /{}: {error}", target.display());
    let mut names: Vec<_> = target.iter().collect();
    let file = if is_directory { None } else { names.pop() };
    let mut at: Option<OwnedFd> = None;
    for name in names {
        let parent = at.as_ref().unwrap_or(root);
        match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
            // The agent's umask takes rights away at the making.
            Ok(()) => chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())
                .map_err(failed)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        at = Some(openat(parent, name, FOLDER, Mode::empty()).map_err(failed)?);
    }
    let Some(name) = file else { return Ok(()) };
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(at.as_ref().unwrap_or(root), name, flags, Mode::from_raw_mode(0o644)) {
        // What else it might be shows when something is mounted there, which follows no link.
        Ok(_) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    use super::*;

    fn with(chroot_env: &[(&str, &str)]) -> ExecOptions {
        let chroot_env: BTreeMap<String, String> =
            chroot_env.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        ExecOptions { chroot_env: Some(chroot_env), ..ExecOptions::default() }
    }

    #[test]
    fn mount_points_are_made_and_outer_mounts_come_first() {
        let place = tempfile::tempdir().unwrap();
        let options = with(&[("/etc", "/x/y"), ("/etc/passwd", "/x/y/z"), ("/bin/sh", "a/sh")]);
        for _ in 0..2 {
            let mounts = furnish(&options, place.path(), Path::new("/shared")).unwrap();
            let targets: Vec<&[u8]> = mounts.iter().map(|mount| mount.target.as_slice()).collect();
            assert_eq!(targets, [b"a/sh".as_slice(), b"x/y", b"x/y/z", b"alloc"]);
            assert_eq!(mounts.iter().filter(|mount| mount.read_only).count(), 3);
        }
        assert!(place.path().join("a/sh").is_file() && place.path().join("proc").is_dir());
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let error = |options: &ExecOptions| {
            furnish(options, place.path(), Path::new("/shared")).unwrap_err()
        };
        assert!(error(&with(&[("/no/such", "/x")])).contains("chroot source /no/such"));
        assert!(error(&with(&[("/etc", "/")])).contains("chroot_env cannot put"));
        assert!(error(&with(&[("/etc", "/../x")])).contains("chroot_env cannot put"));
        symlink("/tmp", place.path().join("link")).unwrap();
        assert!(error(&with(&[("/etc", "/link/x")])).contains("mount point /link/x"));
    }

    #[test]
    fn the_directories_of_allocations_are_hidden() {
        let place = tempfile::tempdir().unwrap();
        let host = tempfile::tempdir().unwrap();
        fs::create_dir(host.path().join("alloc")).unwrap();
        symlink(host.path(), place.path().join("link")).unwrap();
        let link = place.path().join("link").to_str().unwrap().to_owned();
        let options =
            ExecOptions { alloc_root: host.path().join("alloc"), ..with(&[(&link, "/u")]) };
        let mounts = furnish(&options, place.path(), Path::new("/shared")).unwrap();
        assert_eq!((mounts[1].source.len(), mounts[1].target.as_slice()), (0, &b"u/alloc"[..]));
    }
}
