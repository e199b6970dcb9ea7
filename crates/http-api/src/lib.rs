//! The HTTP surface: one route table, handlers, blocking queries, streams.
//!
//! **Purpose.** Decode, call, encode. The server and the client decide; this crate knows status
//! codes, headers and the shapes of answers.
//! **Entry points.** [`Api`], [`serve`]. The table is `routes.rs`.
//! **Never.** Raft, the scheduler, drivers.
//! **Reading order.** `routes`, `request`, `answer`, `error`, `handlers/*`, `forward`.
//! **Limits.** [`request::BODY_BYTES_MAX`] a request, [`serve::CONNECTIONS_MAX`] connections,
//! [`page::PER_PAGE_MAX`] rows a page.

mod answer;
mod api;
mod blocking;
mod error;
mod filter;
mod forward;
mod handlers;
mod normalise;
mod page;
mod request;
mod routes;
mod serve;

pub use api::{AgentFacts, Api};
pub use request::BODY_BYTES_MAX;
pub use serve::{CONNECTIONS_MAX, serve, serve_stream};
