//! The replicated state: every write is a [`Command`], applied by a pure function.
//!
//! **Purpose.** [`Store::apply`] turns `(index, Command)` into [`Applied`]; [`Snapshot`] is a cheap
//! immutable view of one index; `records` streams a snapshot in and out.
//! **Entry points.** [`Store`], [`Snapshot`], [`Command`], [`invariants::check`].
//! **Never.** Raft, disk, tokio, the time of day, who asks. Times and ids arrive inside commands.
//! **Reading order.** `command`, `store`, `apply`, `tables/*`, `snapshot`, `records`, `invariants`.
//! **Limits.** [`tables::JOB_TRACKED_VERSIONS`] versions of a job; whatever else is kept is bounded
//! by what lives plus the retention rules of the collector, which proposes deletions as commands.

pub mod apply;
pub mod changes;
pub mod command;
pub mod invariants;
pub mod records;
mod snapshot;
mod store;
pub mod tables;
pub mod usage;

pub use changes::{Changes, Table};
pub use command::{Command, Refusal, Response, SchedulerConfig};
pub use snapshot::Snapshot;
pub use store::{Applied, Store};
