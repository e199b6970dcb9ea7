//! The store: the current root, and the one door through which it changes.

use crate::apply;
use crate::changes::Changes;
use crate::command::{Command, Response};
use crate::snapshot::Snapshot;
use crate::tables::Tables;

/// The replicated state at its newest index.
#[derive(Debug, Clone, Default)]
pub struct Store {
    pub(crate) tables: Tables,
}

/// What applying a command gave.
#[derive(Debug)]
pub struct Applied {
    pub response: Response,
    pub changes: Changes,
}

impl Store {
    /// An empty state at index 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies the command of one log index. Equal states stay equal: nothing else flows in.
    pub fn apply(&mut self, index: u64, command: Command) -> Applied {
        let before = self.tables.clone();
        let mut changes = Changes { index, ..Changes::default() };
        let response = apply::apply(&mut self.tables, &mut changes, index, command);
        if matches!(response, Response::Refused(_)) {
            // Half a command is no command: the old root is still there, at the price of a clone.
            self.tables = before;
            changes = Changes { index, ..Changes::default() };
        }
        self.tables.finish(index, &changes.tables);
        #[cfg(debug_assertions)]
        crate::invariants::debug_check(&self.snapshot());
        Applied { response, changes }
    }

    /// An immutable view of the newest index; costs a few pointers.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.tables.clone())
    }
}

impl Snapshot {
    /// A private store on the same data, for trying things out (`job plan`).
    pub fn fork(&self) -> Store {
        Store { tables: self.tables().clone() }
    }
}
