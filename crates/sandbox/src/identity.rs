//! The identity of a process: a pid alone may be given to a stranger, so the start time and the
//! boot go with it, and a signal goes through a descriptor that was checked against them.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Names one process for as long as the machine's records last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessId {
    pub pid: u32,
    /// Start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    pub boot_id: String,
}

impl ProcessId {
    /// The identity of a process that the caller knows to be alive or not yet waited for.
    pub fn of(pid: u32) -> io::Result<Self> {
        Ok(Self { pid, start_ticks: start_ticks(pid)?, boot_id: boot_id().to_owned() })
    }

    /// Opens the process, or answers `None` when it is gone or the pid belongs to another one.
    pub fn open(&self) -> io::Result<Option<Process>> {
        if self.boot_id != boot_id() {
            return Ok(None);
        }
        let Some(pid) = Pid::from_raw(self.pid as i32) else { return Ok(None) };
        let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The descriptor pins the process: if the start time read afterwards is the expected one,
        // the pid still meant the expected process while the descriptor was opened.
        match start_ticks(self.pid) {
            Ok(ticks) if ticks == self.start_ticks => Ok(Some(Process { pidfd })),
            Ok(_) => Ok(None),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A process held by a descriptor, so that no signal can reach anybody else.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
}

impl Process {
    pub fn from_pidfd(pidfd: OwnedFd) -> Self {
        Self { pidfd }
    }

    /// Sends a signal; a process that has ended is reported as `ESRCH`.
    pub fn signal(&self, number: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(number)
            .ok_or_else(|| io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error()))?;
        Ok(pidfd_send_signal(&self.pidfd, signal)?)
    }

    /// Waits until the process has ended; `false` when the time ran out.
    pub fn wait_end(&self, limit: Duration) -> io::Result<bool> {
        wait_ready(self.pidfd.as_fd(), PollFlags::IN, limit)
    }

    pub fn into_pidfd(self) -> OwnedFd {
        self.pidfd
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// The id of this boot of the machine; empty where the kernel does not tell.
pub fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    })
}

/// Polls one descriptor with a deadline, through interruptions.
pub(crate) fn wait_ready(
    fd: BorrowedFd<'_>,
    flags: PollFlags,
    limit: Duration,
) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut polled = [PollFd::from_borrowed_fd(fd, flags)];
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn start_ticks(pid: u32) -> io::Result<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat"))?;
    parse_start_ticks(&stat)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unreadable process status"))
}

/// The program's name stands in parentheses and may itself contain spaces and parentheses, so
/// fields are counted from the last closing one.
fn parse_start_ticks(stat: &[u8]) -> Option<u64> {
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&stat[end_of_name + 1..]).ok()?;
    // After the name comes field 3; the start time is field 22.
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ENODEV))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_is_found_behind_a_hostile_program_name() {
        let stat = b"7 (a) R 1) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1 1";
        assert_eq!(parse_start_ticks(stat), Some(4242));
    }

    #[test]
    fn own_process_is_opened_and_a_stranger_with_the_same_pid_is_not() {
        let own = ProcessId::of(std::process::id()).unwrap();
        assert!(own.open().unwrap().is_some());
        let earlier = ProcessId { start_ticks: own.start_ticks - 1, ..own.clone() };
        assert!(earlier.open().unwrap().is_none());
        let other_boot = ProcessId { boot_id: "another".to_owned(), ..own };
        assert!(other_boot.open().unwrap().is_none());
    }
}
