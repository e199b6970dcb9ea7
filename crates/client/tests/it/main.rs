//! A node with real tasks and a server made up by the test.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests panic, and say what they skip"
)]

mod endings;
mod figures;
mod reading;
mod restarting;
mod running;
mod world;
