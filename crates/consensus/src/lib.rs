//! One replicated log of opaque bytes.
//!
//! # Purpose
//! Commits byte strings in one order, keeps them on disk, feeds them to a [`StateMachine`] and
//! replaces old entries by snapshots. The Raft engine is openraft; nothing of it is visible here.
//!
//! # Entry points
//! [`Consensus::start`] opens a data directory and returns a cheap handle; [`Consensus::propose`]
//! commits one entry, [`Consensus::read_barrier`] makes a local read linearizable,
//! [`Consensus::leader`] watches leadership, [`Consensus::shutdown`] ends it.
//!
//! # Never
//! Never looks into the bytes, never knows `model`, never answers a proposal before its entry is
//! synced to disk and applied, never continues on a file that failed a write.
//!
//! # Reading order
//! `consensus.rs` (the handle) · `machine.rs` (the apply thread) · `snapshot.rs` (snapshot files) ·
//! `log.rs` and below (the log on disk) · `raft_types.rs`, `network.rs` (what openraft asks for).
//!
//! # Limits
//! [`MAX_ENTRY_BYTES`] per entry, [`MAX_IN_FLIGHT_BYTES`] of waiting proposals. One voter only:
//! there is no transport yet. Damage to the records of the last write alone looks like a torn tail
//! if a power cut also lost the `durable` hint: then they are cut off and reported.

mod consensus;
mod errors;
mod log;
mod machine;
mod network;
mod raft_types;
mod snapshot;

pub use consensus::{
    Config, Consensus, Leadership, MAX_ENTRY_BYTES, MAX_IN_FLIGHT_BYTES, Snapshot, Stats,
};
pub use errors::{OpenError, ProposeError, StartError};
pub use log::Recovery;
pub use machine::{Entry, SnapshotSource, StateMachine};
