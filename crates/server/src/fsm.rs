//! The glue between log and state: entries in, a new root and wake-ups out (hop 8).

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use consensus::{Entry, SnapshotSource, StateMachine};
use state::{Changes, Command, Response, Snapshot, Store};
use tokio::sync::mpsc;

use crate::watch::Watches;

/// What the state machine shares with the rest of the server.
pub(crate) struct Shared {
    pub current: ArcSwap<Snapshot>,
    pub watches: Watches,
}

/// What happened, for the leader's queues.
pub(crate) enum Happened {
    Changed(Box<Changes>),
    /// The state was replaced as a whole.
    Restored,
}

/// Applies committed entries to the store.
pub(crate) struct Fsm {
    pub store: Store,
    pub shared: Arc<Shared>,
    /// Unbounded on purpose: apply must never wait for a reader, and the reader (the leader's one
    /// loop) only moves what comes into its own bounded-by-state queues.
    pub happened: mpsc::UnboundedSender<Happened>,
}

impl StateMachine for Fsm {
    fn apply(&mut self, entries: &[Entry]) -> Vec<Bytes> {
        let mut answers = Vec::with_capacity(entries.len());
        let mut all = Vec::with_capacity(entries.len());
        for entry in entries {
            let response = match Command::decode(&entry.data) {
                Ok(command) => {
                    let applied = self.store.apply(entry.index, command);
                    all.push(applied.changes);
                    applied.response
                }
                // An entry that cannot be read was acknowledged by somebody: going on without it
                // would make this server differ from the others.
                Err(error) => panic!("log entry {} cannot be read: {error}", entry.index),
            };
            answers.push(Bytes::from(response.encode()));
        }
        // One root for the batch: nobody has been answered yet, so nobody can miss one in between.
        self.shared.current.store(Arc::new(self.store.snapshot()));
        for changes in all {
            self.shared.watches.wake(&changes);
            // The leader's loop ends first at shutdown.
            let _ = self.happened.send(Happened::Changed(Box::new(changes)));
        }
        answers
    }

    fn snapshot(&self) -> Box<dyn SnapshotSource + Send> {
        Box::new(Captured(self.store.snapshot()))
    }

    fn restore(&mut self, reader: &mut dyn io::Read) -> io::Result<()> {
        self.store = state::records::read(reader).map_err(io::Error::other)?;
        let snapshot = self.store.snapshot();
        let index = snapshot.index();
        self.shared.current.store(Arc::new(snapshot));
        self.shared.watches.wake_all(index);
        let _ = self.happened.send(Happened::Restored);
        Ok(())
    }
}

struct Captured(Snapshot);

impl SnapshotSource for Captured {
    fn write_to(self: Box<Self>, out: &mut dyn io::Write) -> io::Result<()> {
        state::records::write(&self.0, out).map_err(io::Error::other)
    }
}

/// Reads what apply answered.
pub(crate) fn response(bytes: &[u8]) -> Result<Response, crate::Fault> {
    Response::decode(bytes)
        .map_err(|e| crate::Fault::internal(format!("the answer of the log is damaged: {e}")))
}
