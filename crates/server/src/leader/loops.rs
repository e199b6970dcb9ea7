//! What each loop of the leader did last and why it sleeps: shown to operators.

use std::collections::BTreeMap;

use model::wire::Nanos;
use parking_lot::Mutex;

use crate::random;

/// The last status of one loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopStatus {
    /// The loop's name.
    pub name: &'static str,
    /// What it did last.
    pub did: String,
    /// When, in nanoseconds since 1970.
    pub at: Nanos,
}

/// The statuses of all loops.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    statuses: Mutex<BTreeMap<&'static str, LoopStatus>>,
}

impl Loops {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn report(&self, name: &'static str, did: impl Into<String>) {
        let status = LoopStatus { name, did: did.into(), at: random::now() };
        self.statuses.lock().insert(name, status);
    }

    pub(crate) fn statuses(&self) -> Vec<LoopStatus> {
        self.statuses.lock().values().cloned().collect()
    }
}
