//! One allocation: which of its tasks run when, its directory, its health, and the loop that owns
//! all of it.

pub(crate) mod directory;
pub(crate) mod health;
pub(crate) mod operations;
pub(crate) mod ordering;
pub(crate) mod record;
pub(crate) mod runner;
pub(crate) mod sticky;
