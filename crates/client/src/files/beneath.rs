//! Opens paths beneath an allocation's directory; nothing leads out of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use crate::fault::Fault;

const ESCAPES: &str = "Path escapes the alloc directory";
/// Folders of a task that only the task may read.
const SECRET: [&str; 2] = ["secrets", "private"];

/// The directory of one allocation.
pub(crate) struct AllocRoot {
    directory: OwnedFd,
    path: PathBuf,
}

/// Something opened, with the path a message names it by.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) shown: PathBuf,
}

impl AllocRoot {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self { directory: open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Opens for reading; `verb` heads the message of a failure. Pipes are not waited for.
    pub(crate) fn read(&self, path: &str, verb: &str) -> Result<Opened, Fault> {
        self.open_with(path, verb, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
    }

    /// Opens to look at, whatever it is.
    pub(crate) fn look(&self, path: &str, verb: &str) -> Result<Opened, Fault> {
        self.open_with(path, verb, OFlags::PATH)
    }

    /// A file of bytes that is no secret.
    pub(crate) fn read_content(&self, path: &str, verb: &str) -> Result<Opened, Fault> {
        let opened = self.read(path, verb)?;
        let metadata = opened.file.metadata();
        let metadata = metadata.map_err(|error| failure(verb, &opened.shown, &error))?;
        if metadata.is_dir() {
            return Err(Fault::internal(format!("file \"{path}\" is a directory")));
        }
        if !metadata.is_file() {
            return Err(Fault::internal(format!("file \"{path}\" is not a regular file")));
        }
        if self.is_secret(&opened.file) {
            return Err(Fault::internal(format!("Reading secret file prohibited: {path}")));
        }
        Ok(opened)
    }

    fn open_with(&self, path: &str, verb: &str, flags: OFlags) -> Result<Opened, Fault> {
        let relative = path.trim_start_matches('/');
        let shown = self.path.join(relative);
        let relative = if relative.is_empty() { "." } else { relative };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        match openat2(&self.directory, relative, flags, Mode::empty(), resolve) {
            Ok(file) => Ok(Opened { file: file.into(), shown }),
            Err(Errno::XDEV) => Err(Fault::internal(ESCAPES)),
            Err(error) => Err(failure(verb, &shown, &error.into())),
        }
    }

    /// By where it really is: a link may have led there.
    fn is_secret(&self, file: &File) -> bool {
        let real = |fd: i32| std::fs::read_link(format!("/proc/self/fd/{fd}"));
        let (Ok(root), Ok(path)) = (real(self.directory.as_raw_fd()), real(file.as_raw_fd()))
        else {
            return true;
        };
        let Ok(relative) = path.strip_prefix(&root) else { return true };
        let second = relative.components().nth(1);
        second.is_some_and(|part| SECRET.iter().any(|name| part.as_os_str() == *name))
    }
}

/// `open /a/b: no such file or directory`.
pub(crate) fn failure(verb: &str, path: &Path, error: &io::Error) -> Fault {
    let reason = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => "no such file or directory".to_owned(),
        Some(Errno::NOTDIR) => "not a directory".to_owned(),
        Some(Errno::ACCESS) => "permission denied".to_owned(),
        Some(Errno::LOOP) => "too many levels of symbolic links".to_owned(),
        _ => error.to_string(),
    };
    Fault::internal(format!("{verb} {}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn message(root: &AllocRoot, path: &str) -> String {
        match root.read_content(path, "stat") {
            Ok(_) => "opened".to_owned(),
            Err(fault) => fault.message,
        }
    }

    #[test]
    fn no_path_and_no_link_leads_out_and_secrets_stay_secret() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("id");
        std::fs::create_dir_all(path.join("alloc/data")).unwrap();
        std::fs::create_dir_all(path.join("t/secrets")).unwrap();
        std::fs::write(path.join("alloc/data/f"), "x").unwrap();
        std::fs::write(path.join("t/secrets/key"), "x").unwrap();
        std::fs::write(place.path().join("outside"), "x").unwrap();
        let link =
            |target: &str, name: &str| symlink(target, path.join("alloc").join(name)).unwrap();
        link("../../outside", "out");
        link("/etc/passwd", "absolute");
        link("../t/secrets/key", "secret");
        link("data/f", "inside");
        let root = AllocRoot::open(&path).unwrap();
        assert_eq!(message(&root, "/alloc/data/f"), "opened");
        assert_eq!(message(&root, "alloc/inside"), "opened");
        for path in ["../..", "../outside", "alloc/out", "alloc/absolute", "alloc/../../outside"] {
            assert_eq!(message(&root, path), ESCAPES, "{path}");
        }
        for path in ["t/secrets/key", "alloc/secret"] {
            assert!(message(&root, path).starts_with("Reading secret file prohibited"), "{path}");
        }
        assert_eq!(message(&root, "/alloc"), "file \"/alloc\" is a directory");
        let missing = format!("stat {}/none: no such file or directory", path.display());
        assert_eq!(message(&root, "/none"), missing);
    }
}
