//! The directories of an allocation:
//!
//! ```text
//! <alloc_dir>/<alloc id>/alloc/{data,logs,tmp}    shared by the tasks
//!                       /<task>/{local,secrets,tmp}
//! ```
//! Tasks may run as any user and share these, so they are open to all; the directory above them
//! lets nobody look around. Everything is made beneath a descriptor and no link is followed: a
//! task that runs already may have put one there.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use model::ids::AllocId;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, chmodat, chownat, mkdirat, open, openat};
use rustix::io::Errno;
use sandbox::MemoryDir;

/// The user that owns what belongs to nobody in particular.
const NOBODY: u32 = 65_534;
const SHARED: &str = "alloc";
const SECRETS: &str = "secrets";

/// The places of one allocation.
#[derive(Debug, Clone)]
pub(crate) struct AllocDir {
    pub(crate) root: PathBuf,
}

impl AllocDir {
    pub(crate) fn of(alloc_dir: &Path, id: &AllocId) -> Self {
        Self { root: alloc_dir.join(id.to_string()) }
    }

    pub(crate) fn shared(&self) -> PathBuf {
        self.root.join(SHARED)
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join(SHARED).join("logs")
    }

    pub(crate) fn secrets(&self, task: &str) -> PathBuf {
        self.root.join(task).join(SECRETS)
    }

    /// Puts memory in the place of the task's secrets directory, if that is not done. Kept through
    /// restarts of the task; looked at anew at each start, since a reboot takes it away.
    pub(crate) fn keep_secrets_in_memory(
        &self,
        task: &str,
        wanted: &MemoryDir<'_>,
    ) -> io::Result<()> {
        let flags = FOLDER | OFlags::CLOEXEC;
        let root = open(&self.root, flags, Mode::empty())?;
        let task = openat(&root, task, flags, Mode::empty())?;
        wanted.ensure(&task, Path::new(SECRETS))
    }

    /// Takes the secrets of all tasks away.
    pub(crate) fn remove_secrets(&self) -> io::Result<()> {
        let entries = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in entries {
            sandbox::remove_memory_dir(&entry?.path().join(SECRETS))?;
        }
        Ok(())
    }

    pub(crate) fn task(&self, task: &str) -> PathBuf {
        self.root.join(task)
    }

    /// Makes the shared directories and those of one task; those that are there stay.
    pub(crate) fn build(&self, task: &str) -> io::Result<()> {
        let parent = self.root.parent().unwrap_or(Path::new("/"));
        let parent = open(parent, FOLDER | OFlags::CLOEXEC, Mode::empty())?;
        let name = self.root.file_name().unwrap_or_default();
        let (root, is_new) = folder(&parent, Path::new(name), 0o711)?;
        if is_new {
            let (shared, _) = open_folder(&root, SHARED)?;
            for name in ["data", "logs", "tmp"] {
                open_folder(&shared, name)?;
            }
        }
        let (task, is_new) = open_folder(&root, task)?;
        if is_new {
            open_folder(&task, "local")?;
            open_folder(&task, SECRETS)?;
            folder(&task, Path::new("tmp"), 0o1777)?;
        }
        Ok(())
    }
}

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::PATH);

/// A folder for everybody, owned by nobody.
fn open_folder(parent: &OwnedFd, name: &str) -> io::Result<(OwnedFd, bool)> {
    folder(parent, Path::new(name), 0o777)
}

/// Opens the folder, and says whether it was made just now.
fn folder(parent: impl AsFd, name: &Path, mode: u32) -> io::Result<(OwnedFd, bool)> {
    let parent = parent.as_fd();
    let is_new = match mkdirat(parent, name, Mode::from_raw_mode(mode)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error.into()),
    };
    if is_new && mode & 0o7 == 0o7 {
        // The agent's umask takes rights away at the making.
        chmodat(parent, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        if rustix::process::geteuid().is_root() {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    let opened = openat(parent, name, FOLDER | OFlags::CLOEXEC, Mode::empty())?;
    Ok((opened, is_new))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn directories_are_open_to_the_tasks_and_made_once() {
        let place = tempfile::tempdir().unwrap();
        let directory = AllocDir::of(place.path(), &AllocId::from_name("a"));
        directory.build("web").unwrap();
        std::fs::write(directory.task("web").join("local/kept"), "").unwrap();
        directory.build("web").unwrap();
        directory.build("side").unwrap();
        let mode = |path: &str| {
            std::fs::metadata(directory.root.join(path)).unwrap().permissions().mode() & 0o7777
        };
        assert_eq!(mode(""), 0o711);
        for path in ["alloc", "alloc/data", "alloc/logs", "web/local", "web/secrets", "side"] {
            assert_eq!(mode(path), 0o777, "{path}");
        }
        assert_eq!(mode("web/tmp"), 0o1777);
        assert!(directory.task("web").join("local/kept").exists());
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = AllocDir::of(place.path(), &AllocId::from_name("a"));
        directory.build("web").unwrap();
        std::os::unix::fs::symlink("/tmp", directory.task("side")).unwrap();
        assert!(directory.build("side").is_err());
    }
}
