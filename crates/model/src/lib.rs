//! The nouns of Muster and their wire JSON.
//!
//! **Purpose.** Job, node, allocation, evaluation, plan, deployment and the API's envelopes;
//! canonical form, validation, diff, and status predicates beside each noun.
//! **Entry points.** One module per noun; `wire` for the JSON quirks; `ids` for typed ids.
//! **Never.** I/O, clocks, randomness, logging, HCL, HTTP. Time and ids come in as arguments.
//! **Reading order.** `ids`, `wire`, `job`, `node`, `alloc`, `eval`, `deployment`, `plan`, `api`.
//! **Limits.** A task keeps [`alloc::TASK_EVENTS_MAX`] events, a node [`node::NODE_EVENTS_MAX`].

pub mod alloc;
pub mod api;
pub mod canonical;
pub mod deployment;
pub mod diff;
pub mod eval;
pub mod ids;
pub mod job;
pub mod node;
pub mod plan;
pub mod validate;
pub mod wire;
