//! Drives the public door: start, propose, kill, restart, snapshot, full disk, figures.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)] // a test crate

mod figures;
mod full_disk;
mod lifecycle;
mod recorder;
