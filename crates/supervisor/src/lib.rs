//! What the supervisor of a task and the agent share: protocol, exit record, log files.
//!
//! Purpose: a task outlives the agent, so each task has a parent of its own that takes its output,
//! waits for it and keeps its exit status. The program is `main.rs`; the agent uses this library.
//! Entry points: [`protocol`] (what is said over the socket), [`ExitRecord`] (what stays when
//! nobody listens), [`RotatingLog`] (log files).
//! Never: no async runtime, no serde, no logging; the process costs memory once per task.
//! Limits: see the constants of [`protocol`]; [`SOCKET_FILE`] and [`EXIT_FILE`] are its only files.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod logs;
pub mod protocol;
mod record;
mod wire;

pub use logs::{LogLimits, RotatingLog};
pub use record::ExitRecord;

/// Where a supervisor listens, in the task's state directory.
pub const SOCKET_FILE: &str = "supervisor.sock";
/// The exit record, in the task's state directory.
pub const EXIT_FILE: &str = "exit";
