//! Decisions as text: a cluster and a job in, the plan out.
#![allow(clippy::unwrap_used, reason = "tests say what they expect by panicking")]

mod cluster;
mod corners;
mod properties;
mod scenarios;
