//! The command line: one file per command, one flag language, plain output.
//!
//! **Purpose.** Reads what the user typed, asks an agent through `sdk`, and prints what a person or
//! a script expects from `nomad`, with its exit codes.
//!
//! **Entry points.** [`run`] for the whole command line; [`agent_arguments`] tells the `agent`
//! program that the user wants an agent rather than a command.
//!
//! **Never.** It reads no files of an agent and knows nothing of servers and clients from within.
//!
//! **Reading order.** `commands` (the only list), `flags`, `context`, one file below `commands/`,
//! `monitor`.
//!
//! **Limits.** No TLS; the commands of [`REFUSED`] are refused by name.

mod commands;
mod context;
mod diagnostics;
mod dispatch;
mod failure;
mod flags;
mod help;
mod jobfile;
mod lookup;
mod monitor;
mod output;
mod plandiff;
mod settings;
mod show;
mod terminal;

pub use commands::refused::REFUSED;
pub use dispatch::{agent_arguments, run, run_with};
pub use settings::Environment;
pub use terminal::{Captured, Terminal};
