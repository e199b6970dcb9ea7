//! Removes directories of ended allocations in the background, one after the other, and not while
//! tasks are being started if that can wait: an ext4 that has just deleted many inodes searches
//! long for new ones, which would make a burst of short tasks slow itself down.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::ids::AllocId;
use tokio::sync::{Notify, mpsc};

use crate::alloc::directory::AllocDir;
use crate::alloc::operations::blocking;
use crate::fault::Fault;
use crate::roster::{Entry, Roster};

/// No task was started for this long: the disk is free for removals.
const QUIET: Duration = Duration::from_millis(500);
/// A removal waits no longer than this for such a time.
const DEFER_MAX: Duration = Duration::from_secs(10);
/// Directories that may wait; beyond them removals go on beside the starts.
const WAITING_MAX: usize = 4096;

/// The way to the collector. The queue holds paths only, at most one for each allocation.
#[derive(Clone)]
pub(crate) struct Garbage {
    queue: mpsc::UnboundedSender<PathBuf>,
    look: Arc<Notify>,
}

/// The collector's end of the queue.
pub(crate) struct Queue(mpsc::UnboundedReceiver<PathBuf>);

impl Garbage {
    pub(crate) fn new() -> (Self, Queue) {
        let (queue, receiver) = mpsc::unbounded_channel();
        (Self { queue, look: Arc::default() }, Queue(receiver))
    }

    pub(crate) fn remove(&self, directory: PathBuf) {
        // Without a collector the client is ending; the next start finds the directory unknown.
        let _ = self.queue.send(directory);
    }

    /// An allocation has ended; perhaps an older one has to go.
    pub(crate) fn look(&self) {
        self.look.notify_one();
    }
}

/// Works until the client ends.
pub(crate) async fn run(roster: Arc<Roster>, mut queue: Queue, interval: Duration) {
    let mut waiting: VecDeque<(Instant, PathBuf)> = VecDeque::new();
    loop {
        let due = waiting.front().map(|(since, _)| {
            let now = Instant::now();
            if waiting.len() > WAITING_MAX {
                return now;
            }
            let quiet = roster.shared.last_start().map_or(now, |start| start + QUIET);
            quiet.min(*since + DEFER_MAX)
        });
        tokio::select! {
            directory = queue.0.recv() => match directory {
                Some(directory) => waiting.push_back((Instant::now(), directory)),
                None => return,
            },
            () = sleep_until(due) => {
                // Looked at again: starts may have gone on while this waited.
                let is_due = roster.shared.last_start().is_none_or(|start| start.elapsed() >= QUIET)
                    || waiting.len() > WAITING_MAX
                    || waiting.front().is_some_and(|(since, _)| since.elapsed() >= DEFER_MAX);
                if let Some((_, directory)) = is_due.then(|| waiting.pop_front()).flatten() {
                    remove_directory(directory).await;
                }
            }
            () = roster.garbage.look.notified() => collect_surplus(&roster),
            () = tokio::time::sleep(interval) => collect_surplus(&roster),
        }
    }
}

/// Until then, or for ever.
async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => std::future::pending().await,
    }
}

pub(crate) async fn remove_directory(directory: PathBuf) {
    let path = directory.clone();
    let remove = move || {
        AllocDir { root: path.clone() }.remove_secrets()?;
        std::fs::remove_dir_all(&path)
    };
    match blocking(remove).await {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "a directory was not removed");
        }
    }
}

/// Oldest first, down to the number that is kept.
fn collect_surplus(roster: &Roster) {
    while let Some(id) = roster.surplus(roster.shared.config.gc_max_allocs) {
        // It cannot have gone back to life, and being collected twice does no harm.
        let _ = collect(roster, &id);
    }
}

/// Gives up the directory of one ended allocation.
pub(crate) fn collect(roster: &Roster, id: &AllocId) -> Result<(), Fault> {
    let not_eligible = "No such allocation on client, or allocation not eligible for GC";
    match roster.collect(id) {
        Some(is_new) => {
            if is_new {
                let directory = AllocDir::of(&roster.shared.config.alloc_dir, id).root;
                roster.garbage.remove(directory);
            }
            Ok(())
        }
        None => Err(Fault::internal(not_eligible)),
    }
}

/// Gives up the directories of all ended allocations.
pub(crate) fn collect_all(roster: &Roster) {
    let mut ended = Vec::new();
    roster.each(|id, entry| {
        if matches!(entry, Entry::Past(_)) {
            ended.push(*id);
        }
    });
    for id in ended {
        let _ = collect(roster, &id);
    }
}
