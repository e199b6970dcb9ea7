//! Waits for changes in a directory: by the kernel's notices, or, where it gives none (its limit of
//! watches is reached), by looking again after a while.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe::Receiver;

/// How often to look where notices are not to be had.
const LOOK_PAUSE: Duration = Duration::from_millis(250);
/// A busy writer makes thousands of notices a second; a reader gains nothing from being faster.
const SETTLE_PAUSE: Duration = Duration::from_millis(5);
const NOTICES_BYTES: usize = 4096;

pub(super) struct Watcher {
    notices: Option<Receiver>,
}

impl Watcher {
    /// Watches the directory behind a descriptor, wherever it is by now.
    pub(super) fn of(directory: &File) -> Self {
        let notices = watch(directory);
        if let Err(error) = &notices {
            tracing::debug!(%error, "no notices of changes; looking at intervals instead");
        }
        Self { notices: notices.ok() }
    }

    /// Waits until something may have changed. What changes between two waits ends the second at
    /// once. May be given up at any time.
    pub(super) async fn changed(&self) {
        let Some(notices) = &self.notices else {
            tokio::time::sleep(LOOK_PAUSE).await;
            return;
        };
        match notices.readable().await {
            Ok(()) => {
                let mut buffer = [0; NOTICES_BYTES];
                // What they say does not matter, only that there were some.
                while notices.try_read(&mut buffer).is_ok_and(|length| length > 0) {}
                tokio::time::sleep(SETTLE_PAUSE).await;
            }
            Err(_) => tokio::time::sleep(LOOK_PAUSE).await,
        }
    }
}

fn watch(directory: &File) -> std::io::Result<Receiver> {
    let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let interest = WatchFlags::MODIFY
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO;
    inotify::add_watch(&notices, format!("/proc/self/fd/{}", directory.as_raw_fd()), interest)?;
    // The descriptor is no pipe but is read like one; tokio's own type for any descriptor has only
    // constructors that are deprecated or unsafe.
    Receiver::from_owned_fd_unchecked(notices)
}
