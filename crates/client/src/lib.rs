//! The client role: runs allocations on a node.
//!
//! **Purpose.** Registers the node, learns what it shall run, runs it, tells what became of it, and
//! keeps enough on disk that a restart of the agent changes nothing for the tasks.
//! **Entry points.** [`Client::start`] with a [`Config`] and [`Servers`]; the other methods of
//! [`Client`] serve the HTTP API.
//! **Never.** State store, scheduler, HTTP.
//! **Reading order.** `client`, `session`, `sync` → `diff` → `roster`, `alloc/runner` with
//! `alloc/ordering` and `task/machine`, `task/launch`, `store`, `report`; `files` stands apart.
//! **Tasks.** One asynchronous task for the session, the poll, the reports, the collector and the
//! watch over lost contact, all owned by [`Client`]; one for each live allocation, which ends with
//! it; one thread for the store.
//! **Limits.** The constants at the head of each file.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod abandoned;
mod alloc;
mod backoff;
mod client;
mod clock;
mod config;
mod diff;
mod fault;
mod files;
mod fingerprint;
#[cfg(test)]
mod fixture;
mod garbage;
mod identity;
mod lost_contact;
mod report;
mod roster;
mod session;
mod shared;
mod signals;
mod stats;
mod store;
mod sync;
mod task;

pub use abandoned::{AbandonedError, end_abandoned};
pub use client::{Client, ClientStats, StartError};
pub use config::{Config, ExecOptions, ExecTexts, HttpTunnel, LocalServer, Servers};
pub use fault::{Fault, FaultKind};
pub use files::{ByteStream, CHUNK_BYTES_MAX, FileInfo, Frame, FrameStream, LogKind};
pub use identity::IdentityError;
pub use store::StoreError;
