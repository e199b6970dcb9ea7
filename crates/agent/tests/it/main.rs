//! The built binary, used as a person and as a script would: real processes, cgroups and logs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic, and say what they skip")]

mod bad_input;
mod harness;
mod isolation;
mod kill_nine;
mod stopping;
mod two_processes;
mod walkthrough;
