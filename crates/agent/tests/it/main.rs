//! The built binary, used as a person and as a script would: real processes, cgroups and logs.
#![allow(clippy::unwrap_used, reason = "tests say what they expect by panicking")]

mod bad_input;
mod harness;
mod isolation;
mod kill_nine;
mod two_processes;
mod walkthrough;
