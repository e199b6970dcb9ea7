//! Log files of one stream: `<name>.0`, `<name>.1`, … each filled to the byte before the next
//! begins, the oldest removed.
//!
//! The task can write into the directory and put something else in its place, so neither is
//! trusted: the directory is opened once, links are not followed and pipes not opened.
//! A file that cannot be written (a full disk) never holds the task up: the bytes are dropped and
//! counted, and the next output tries again.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, open, openat, unlinkat};

use crate::wire::{Malformed, Reader, Writer};

/// A task that makes up a file with a huge number must not keep its supervisor busy removing the
/// files between; what lies further back stays.
const REMOVED_AT_ONCE_MAX: u64 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    pub files_max: u32,
    pub file_bytes_max: u64,
}

impl LogLimits {
    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.u32(self.files_max);
        writer.u64(self.file_bytes_max);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { files_max: reader.u32()?, file_bytes_max: reader.u64()? })
    }
}

#[derive(Debug)]
pub struct RotatingLog {
    directory: OwnedFd,
    name: String,
    limits: LogLimits,
    /// Numbers of the oldest file that may exist and of the one being written.
    oldest: u64,
    current: u64,
    file: Option<File>,
    size: u64,
    dropped_bytes: u64,
}

impl RotatingLog {
    /// Goes on where an earlier writer stopped. The current file exists afterwards, even if empty.
    pub fn open(directory: &Path, name: &str, limits: LogLimits) -> io::Result<Self> {
        // Only the last part of the path is in reach of a task.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = open(directory, flags, Mode::empty())?;
        let numbers = existing(&directory, name)?;
        let mut log = Self {
            directory,
            name: name.to_owned(),
            limits,
            oldest: numbers.map_or(0, |(oldest, _)| oldest),
            current: numbers.map_or(0, |(_, current)| current),
            file: None,
            size: 0,
            dropped_bytes: 0,
        };
        log.open_current()?;
        Ok(log)
    }

    /// Takes all bytes, whatever happens to them.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.dropped_bytes += bytes.len() as u64;
                    return;
                }
            }
        }
    }

    pub fn set_limits(&mut self, limits: LogLimits) {
        self.limits = limits;
        self.remove_old();
    }

    pub fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size_max = self.limits.file_bytes_max.max(1);
        if self.size >= size_max {
            self.file = None;
            self.current += 1;
            self.size = 0;
            self.remove_old();
        }
        let room = usize::try_from(size_max - self.size).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if self.file.is_none() {
            self.open_current()?;
            // The file may have been there already, with less room than assumed.
            return Ok(0);
        }
        let file = self.file.as_mut().expect("opened just above");
        let written = file.write(part)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.size += written as u64;
        Ok(written)
    }

    fn open_current(&mut self) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::APPEND;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = File::from(openat(&self.directory, self.file_name(self.current), flags, mode)?);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        self.size = metadata.len();
        self.file = Some(file);
        Ok(())
    }

    fn remove_old(&mut self) {
        let files_max = u64::from(self.limits.files_max.max(1));
        self.oldest = self.oldest.max(self.current.saturating_sub(files_max + REMOVED_AT_ONCE_MAX));
        while self.current - self.oldest >= files_max {
            // Somebody else may have removed it, and there is nobody to tell of other errors.
            let _ = unlinkat(&self.directory, self.file_name(self.oldest), AtFlags::empty());
            self.oldest += 1;
        }
    }

    fn file_name(&self, number: u64) -> String {
        format!("{}.{number}", self.name)
    }
}

/// The lowest and highest number of the files that are there.
fn existing(directory: &OwnedFd, name: &str) -> io::Result<Option<(u64, u64)>> {
    let mut found: Option<(u64, u64)> = None;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let number = file_name
            .to_str()
            .ok()
            .and_then(|text| text.strip_prefix(name)?.strip_prefix('.'))
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            // Numbers near the end of the range can only come from somebody playing tricks.
            .and_then(|digits| digits.parse::<u64>().ok().filter(|number| *number < 1 << 60));
        if let Some(number) = number {
            let (oldest, current) = found.unwrap_or((number, number));
            found = Some((oldest.min(number), current.max(number)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_directory_leads_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let (logs, outside) = (place.path().join("logs"), place.path().join("outside"));
        fs::create_dir(&logs).unwrap();
        fs::create_dir(&outside).unwrap();
        let mut log = RotatingLog::open(&logs, "t.stdout", limits(2, 4)).unwrap();
        log.write(b"one");
        // What a task can do to the folder that it shares with the supervisor.
        fs::rename(&logs, place.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &logs).unwrap();
        log.write(b"two three");
        assert!(RotatingLog::open(&logs, "t.stdout", limits(2, 4)).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    fn limits(files_max: u32, file_bytes_max: u64) -> LogLimits {
        LogLimits { files_max, file_bytes_max }
    }

    /// Names and contents of all files, in order.
    fn files(directory: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    fn check(directory: &Path, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        assert_eq!(files(directory), expected);
    }

    #[test]
    fn files_are_filled_to_the_byte_and_the_oldest_goes() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = RotatingLog::open(directory.path(), "t.stdout", limits(2, 4)).unwrap();
        check(directory.path(), &[("t.stdout.0", "")]);
        log.write(b"abcd");
        check(directory.path(), &[("t.stdout.0", "abcd")]);
        log.write(b"efghijk");
        check(directory.path(), &[("t.stdout.1", "efgh"), ("t.stdout.2", "ijk")]);
        assert_eq!(log.dropped_bytes(), 0);
    }

    #[test]
    fn a_later_writer_goes_on_in_the_last_file() {
        let directory = tempfile::tempdir().unwrap();
        RotatingLog::open(directory.path(), "t", limits(3, 4)).unwrap().write(b"abcdef");
        fs::write(directory.path().join("t.x"), "").unwrap();
        RotatingLog::open(directory.path(), "t", limits(3, 4)).unwrap().write(b"ghi");
        check(directory.path(), &[("t.0", "abcd"), ("t.1", "efgh"), ("t.2", "i"), ("t.x", "")]);
    }

    #[test]
    fn fewer_files_are_kept_as_soon_as_the_limit_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = RotatingLog::open(directory.path(), "t", limits(5, 1)).unwrap();
        log.write(b"abcde");
        log.set_limits(limits(2, 1));
        check(directory.path(), &[("t.3", "d"), ("t.4", "e")]);
    }

    #[test]
    fn a_link_in_place_of_a_log_file_is_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let mut log = RotatingLog::open(directory.path(), "t", limits(2, 1)).unwrap();
        std::os::unix::fs::symlink(outside.path(), directory.path().join("t.1")).unwrap();
        log.write(b"ab");
        assert_eq!(log.dropped_bytes(), 1);
        assert_eq!(fs::read(outside.path()).unwrap(), b"");
    }

    #[test]
    fn a_full_disk_costs_output_but_no_time() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = RotatingLog::open(directory.path(), "t", limits(2, 10)).unwrap();
        log.file = Some(OpenOptions::new().write(true).open("/dev/full").unwrap());
        log.write(b"abc");
        assert_eq!(log.dropped_bytes(), 3);
        log.file = None;
        log.write(b"def");
        check(directory.path(), &[("t.0", "def")]);
    }
}
