//! The raw_exec driver with real processes; needs root and says so where it is not.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod exec;
mod figures;
mod life;
mod loss;
mod place;
