//! A client of the HTTP API.
//!
//! **Purpose.** Asks an agent over HTTP/1.1 on TCP or a Unix socket: JSON calls with query options,
//! blocking queries, streamed bodies, and errors a person can act on.
//!
//! **Entry points.** [`Client`] with [`Query`]; [`Fields`] reads the JSON that comes back;
//! [`Frames`] reads streamed files.
//!
//! **Never.** It does not read the environment or files and knows nothing of agents from within: it
//! is a customer of the API.
//!
//! **Reading order.** `address`, `query`, `client`, `stream`, `fields`, `error`.
//!
//! **Limits.** An answer is read up to [`ANSWER_BYTES_MAX`]; a frame up to [`FRAME_BYTES_MAX`]. TLS
//! is refused by name rather than attempted.

mod address;
mod client;
mod error;
mod fields;
mod query;
mod stream;

pub use address::{Address, DEFAULT_ADDRESS};
pub use client::{ANSWER_BYTES_MAX, Answer, CONNECT_TIMEOUT, Client, Method, RawAnswer};
pub use error::{Error, Result};
pub use fields::Fields;
pub use query::{Query, segment};
pub use stream::{Body, FRAME_BYTES_MAX, Frames};
