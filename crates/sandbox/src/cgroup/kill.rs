//! Ends all processes of a group: at once where the kernel can (`cgroup.kill`, Linux 5.14),
//! otherwise in rounds of freezing, killing and waiting until nobody is left.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{CgroupError, Kind, failed, pids_in, subdirectories, wait_unpopulated, write};
use crate::identity::{is_gone, wait_ready};

pub(super) fn kill_all(kind: Kind, path: &Path, limit: Duration) -> Result<(), CgroupError> {
    let deadline = Instant::now() + limit;
    if kind == Kind::Unified {
        match write(&path.join("cgroup.kill"), "1") {
            Ok(()) => {
                return match wait_unpopulated(path, limit).map_err(failed("watch", path))? {
                    true => Ok(()),
                    false => Err(still_alive(path, limit)),
                };
            }
            Err(_) if !path.exists() => return Ok(()),
            // An old kernel has no such file.
            Err(error) if is_gone(&error) || super::is_denied(&error) => {}
            Err(error) => return Err(failed("kill", path)(error)),
        }
    }
    loop {
        let killed = kill_round(kind, path, deadline).map_err(failed("kill", path))?;
        if killed == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(still_alive(path, limit));
        }
    }
}

fn still_alive(path: &Path, waited: Duration) -> CgroupError {
    CgroupError::StillAlive { path: path.to_owned(), waited }
}

/// One round over a group and those below it; answers how many processes it has met.
fn kill_round(kind: Kind, path: &Path, deadline: Instant) -> io::Result<usize> {
    let mut met = 0;
    for below in subdirectories(path)? {
        met += kill_round(kind, &path.join(below), deadline)?;
    }
    if pids_in(path)?.is_empty() {
        return Ok(met);
    }
    // Frozen processes cannot fork, so the list is complete, and cannot end, so no pid in it is
    // given to a stranger meanwhile.
    set_frozen(kind, path, true);
    let listed = pids_in(path);
    let victims = listed.map(|pids| pids.into_iter().filter_map(kill_one).collect::<Vec<_>>());
    set_frozen(kind, path, false);
    for victim in &victims? {
        met += 1;
        let left = deadline.saturating_duration_since(Instant::now());
        wait_ready(std::os::fd::AsFd::as_fd(victim), PollFlags::IN, left)?;
    }
    Ok(met)
}

fn kill_one(pid: u32) -> Option<std::os::fd::OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()?;
    pidfd_send_signal(&pidfd, Signal::KILL).ok()?;
    Some(pidfd)
}

/// Without a freezer the rounds still end the group unless it forks faster than it is killed, in
/// which case the deadline tells.
fn set_frozen(kind: Kind, path: &Path, frozen: bool) {
    let (file, value) = match (kind, frozen) {
        (Kind::Unified, true) => ("cgroup.freeze", "1"),
        (Kind::Unified, false) => ("cgroup.freeze", "0"),
        (Kind::Freezer, true) => ("freezer.state", "FROZEN"),
        (Kind::Freezer, false) => ("freezer.state", "THAWED"),
        (Kind::Cpu | Kind::Memory | Kind::Pids, _) => return,
    };
    // Freezing is a request that completes later; what slips through is met by the next round.
    let _ = write(&path.join(file), value);
}
