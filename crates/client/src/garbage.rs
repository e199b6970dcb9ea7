//! Removes directories of ended allocations in the background, one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::ids::AllocId;
use tokio::sync::{Notify, mpsc};

use crate::alloc::directory::AllocDir;
use crate::alloc::operations::blocking;
use crate::fault::Fault;
use crate::roster::{Entry, Roster};

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
    loop {
        tokio::select! {
            directory = queue.0.recv() => match directory {
                Some(directory) => remove_directory(directory).await,
                None => return,
            },
            () = roster.garbage.look.notified() => collect_surplus(&roster),
            () = tokio::time::sleep(interval) => collect_surplus(&roster),
        }
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
    let mut kept: Vec<(i64, AllocId)> = Vec::new();
    roster.each(|id, entry| {
        if let Entry::Past(past) = entry
            && !past.collected
        {
            kept.push((past.finished_at, *id));
        }
    });
    let surplus = kept.len().saturating_sub(roster.shared.config.gc_max_allocs);
    if surplus == 0 {
        return;
    }
    kept.sort_unstable();
    for (_, id) in &kept[..surplus] {
        // It cannot have gone back to life, and being collected twice does no harm.
        let _ = collect(roster, id);
    }
}

/// Gives up the directory of one ended allocation.
pub(crate) fn collect(roster: &Roster, id: &AllocId) -> Result<(), Fault> {
    let not_eligible = "No such allocation on client, or allocation not eligible for GC";
    let is_new = roster.with(id, |entry| match entry {
        Entry::Past(past) => Some(!std::mem::replace(&mut past.collected, true)),
        Entry::Live(_) => None,
    });
    match is_new {
        Some(Some(is_new)) => {
            if is_new {
                let directory = AllocDir::of(&roster.shared.config.alloc_dir, id).root;
                roster.garbage.remove(directory);
            }
            Ok(())
        }
        _ => Err(Fault::internal(not_eligible)),
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
