//! Who talks to whom: connections, framing, the method table, and streams both ends may open.
//!
//! **Purpose.** A client dials a server once; over that connection either end opens streams: a
//! *call* (one request, one reply) or an *HTTP tunnel* (a request of the HTTP API handed on).
//! In one process the same protocol runs over memory, so that a cluster changes nothing.
//! **Entry points.** [`dial`], [`serve`], [`in_memory`], [`Peer`], [`Service`], [`methods`].
//! **Never.** Business rules: what a method means is known to `server` and `client`.
//! **Limits.** [`FRAME_BYTES_MAX`] a message, [`STREAMS_MAX`] streams a connection,
//! [`OPENS_WAITING_MAX`] streams waiting to be opened, [`DIAL_TIMEOUT`] for a connection.

mod connection;
mod frame;
pub mod methods;
mod peer;

pub use connection::{DIAL_TIMEOUT, STREAMS_MAX, dial, in_memory, serve};
pub use frame::FRAME_BYTES_MAX;
pub use methods::{Fault, FaultKind, Reply, Request};
pub use peer::{CallError, OPENS_WAITING_MAX, Peer, Service, Stream};
