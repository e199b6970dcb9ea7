//! What a supervised task leaves outside the agent: exit record, socket, cgroup.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use ::supervisor::{EXIT_FILE, ExitRecord, SOCKET_FILE};
use sandbox::CgroupError;

use super::{KILL_LIMIT, SupervisedHandle};
use crate::task::{ExitResult, unix_nanos_now};

const LOST: &str = "supervisor lost, exit status unknown";

/// Connects to a supervisor by its state directory, whose path may be longer than a socket's.
pub(super) fn connect(state_dir: &Path) -> io::Result<UnixStream> {
    let directory = File::open(state_dir)?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_FILE}", directory.as_raw_fd()))
}

pub(super) fn exit_result(record: &ExitRecord) -> ExitResult {
    if record.dropped_log_bytes > 0 {
        tracing::warn!(bytes = record.dropped_log_bytes, "output could not be written to the logs");
    }
    ExitResult {
        exit_code: if record.signal == 0 { record.exit_code } else { 128 + record.signal },
        signal: record.signal,
        oom_killed: record.oom_killed,
        err: None,
        lost: false,
        finished_at_unix_nanos: record.finished_at_unix_nanos,
    }
}

pub(super) fn lost(reason: &str) -> ExitResult {
    ExitResult {
        exit_code: 0,
        signal: 0,
        oom_killed: false,
        err: Some(reason.to_owned()),
        lost: true,
        finished_at_unix_nanos: unix_nanos_now(),
    }
}

/// How the task ended, now that its supervisor is gone: by the record, or, without one, by ending
/// whatever is left of it here.
pub(super) fn conclude(handle: &SupervisedHandle) -> Result<ExitResult, String> {
    match ExitRecord::load(&handle.state_dir) {
        Ok(Some(record)) => return Ok(exit_result(&record)),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "an exit record cannot be read and counts as none"),
    }
    let known = handle.is_confirmed().then(|| [handle.supervisor(), handle.task()]);
    for process in known.into_iter().flatten() {
        if let Ok(Some(process)) = process.open() {
            // It may end by itself between the two calls.
            let _ = process.signal(9);
            let _ = process.wait_end(KILL_LIMIT);
        }
    }
    if let Some(cgroup) = handle.cgroup() {
        cgroup.kill_all(KILL_LIMIT).map_err(|error| chain(&error))?;
    }
    Ok(lost(LOST))
}

/// Whether the intended start was made: then its supervisor has left something in its directory.
/// If not, it cannot be made any more when this returns.
pub(super) fn was_launched(handle: &SupervisedHandle) -> Result<bool, String> {
    match fs::remove_dir(&handle.state_dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(true),
        Err(error) => return Err(error.to_string()),
    }
    if let Some(cgroup) = handle.cgroup().filter(sandbox::Cgroup::exists) {
        let removed = cgroup.kill_all(KILL_LIMIT).and_then(|()| cgroup.remove());
        removed.map_err(|error| chain(&error))?;
    }
    Ok(false)
}

/// Removes everything but the logs.
pub(super) fn give_back(handle: &SupervisedHandle) -> Result<(), String> {
    if let Some(cgroup) = handle.cgroup().filter(sandbox::Cgroup::exists) {
        let removed = cgroup.kill_all(KILL_LIMIT).and_then(|()| cgroup.remove());
        removed.map_err(|error| chain(&error))?;
    }
    remove_state(&handle.state_dir).map_err(|error| error.to_string())
}

pub(super) fn remove_state(state_dir: &Path) -> io::Result<()> {
    for name in [EXIT_FILE, SOCKET_FILE] {
        absent_is_fine(fs::remove_file(state_dir.join(name)))?;
    }
    match fs::remove_dir(state_dir) {
        // The caller keeps things of its own there.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        other => absent_is_fine(other),
    }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The whole chain of causes, for messages that leave this crate as text.
pub(super) fn chain(error: &CgroupError) -> String {
    use std::error::Error;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
