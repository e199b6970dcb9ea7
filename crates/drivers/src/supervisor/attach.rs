//! Finds a supervised task again after the agent was restarted.

use std::time::Duration;

use ::supervisor::protocol::{Reply, Request, VERSION, VERSION_MIN};
use tokio::sync::watch;

use super::connection::{Frames, already_ended, connected, ended, watch_end};
use super::{Supervised, SupervisedHandle, blocking, files};
use crate::task::{ExitResult, RecoverError};

/// How long a supervisor may take to say who it is.
const ATTACH_LIMIT: Duration = Duration::from_secs(10);

/// What became of the task.
pub(crate) enum Found {
    Running(Supervised),
    Exited(Supervised, ExitResult),
    Lost(Supervised, ExitResult),
}

pub(crate) async fn attach(handle: SupervisedHandle) -> Result<Found, RecoverError> {
    if !(VERSION_MIN..=VERSION).contains(&handle.protocol) {
        return Err(RecoverError::OtherVersion { found: handle.protocol, expected: VERSION });
    }
    if !handle.is_confirmed() {
        return find_intended(handle).await;
    }
    let state_dir = handle.state_dir.clone();
    let socket = blocking(move || files::connect(&state_dir)).await;
    if let Ok(socket) = socket
        && let Ok(frames) = Frames::new(socket)
        && let Some(frames) = introduce(frames, &handle).await
    {
        let ended = supervisor_end(&handle);
        return Ok(Found::Running(connected(frames, handle, ended)));
    }
    // Nobody is there, or somebody else, or it hangs: the record decides, and without one the task
    // is ended here.
    let concluded = handle.clone();
    let result = blocking(move || files::conclude(&concluded)).await;
    let result = result.map_err(RecoverError::Cleanup)?;
    let end = supervisor_end(&handle);
    let task = ended(result.clone(), handle, end);
    if result.lost {
        return Ok(Found::Lost(task, result));
    }
    Ok(Found::Exited(task, result))
}

/// Finds out what became of a start that was intended and never confirmed.
///
/// The state directory belongs to this one start. While it is empty nothing was launched, and once
/// it is removed a supervisor that comes late cannot listen in it and so launches nothing.
async fn find_intended(handle: SupervisedHandle) -> Result<Found, RecoverError> {
    let intended = handle.clone();
    let launched = blocking(move || files::was_launched(&intended)).await;
    if !launched.map_err(RecoverError::Cleanup)? {
        return Err(RecoverError::NotStarted);
    }
    let state_dir = handle.state_dir.clone();
    let socket = blocking(move || files::connect(&state_dir)).await;
    if let Ok(socket) = socket
        && let Ok(mut frames) = Frames::new(socket)
    {
        let answer = async {
            frames.send(&Request::Attach { version: handle.protocol }).await.ok()?;
            frames.next().await.ok()
        };
        if let Ok(Some(Reply::Started(running))) = tokio::time::timeout(ATTACH_LIMIT, answer).await
        {
            let handle = handle.confirmed(running);
            let ended = supervisor_end(&handle);
            return Ok(Found::Running(connected(frames, handle, ended)));
        }
    }
    let concluded = handle.clone();
    let result = blocking(move || files::conclude(&concluded)).await;
    let result = result.map_err(RecoverError::Cleanup)?;
    let task = ended(result.clone(), handle, already_ended());
    Ok(if result.lost { Found::Lost(task, result) } else { Found::Exited(task, result) })
}

/// `None` unless the supervisor answers in time and is the one that was recorded.
async fn introduce(mut frames: Frames, handle: &SupervisedHandle) -> Option<Frames> {
    let answer = async {
        frames.send(&Request::Attach { version: handle.protocol }).await.ok()?;
        frames.next().await.ok()
    };
    match tokio::time::timeout(ATTACH_LIMIT, answer).await {
        Ok(Some(Reply::Started(running))) if handle.is_of(&running) => Some(frames),
        Ok(Some(Reply::Started(running))) => {
            tracing::warn!(
                expected_pid = handle.supervisor_pid,
                found_pid = running.supervisor_pid,
                "another supervisor than the recorded one is in the state directory; ending it"
            );
            // Its task must not run beside the one that will be started instead.
            let _ = frames.send(&Request::Kill).await;
            let _ = tokio::time::timeout(ATTACH_LIMIT, frames.next()).await;
            None
        }
        _ => None,
    }
}

fn supervisor_end(handle: &SupervisedHandle) -> watch::Receiver<bool> {
    match handle.supervisor().open() {
        // Still a child where an agent recovers what it started itself, as tests do; then it is
        // reaped by the watcher of its start.
        Ok(Some(process)) => watch_end(process.into_pidfd(), false),
        _ => already_ended(),
    }
}
