//! A whole server on a real log, with nodes that exist only as RPC peers.
#![allow(clippy::unwrap_used, reason = "tests say what they expect by panicking")]

mod durable;
mod fake_node;
mod placing;
