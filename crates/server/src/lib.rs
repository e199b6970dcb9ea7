//! The server: commit, remember, decide.
//!
//! **Purpose.** Endpoints for writes, admission of jobs, the glue between log and state, the
//! scheduling worker, and the loops of the leader.
//! **Entry points.** [`Server::start`]; [`Server::snapshot`] and [`Server::wait`] for reads;
//! `endpoints/*` for writes; [`NodeService`] is what the RPC offers to nodes.
//! **Never.** HTTP, the command line, drivers, the inside of a client.
//! **Reading order.** `server`, `fsm`, `watch`, `endpoints/job`, `admission`, `worker`, `leader/*`.
//! **Limits.** Named constants beside what they limit: [`watch::WAIT_MAX`], `worker::BATCH_MAX`,
//! `leader::eval_broker::*`, `leader::garbage::*`.

mod admission;
mod endpoints;
mod fault;
mod fsm;
mod leader;
mod random;
mod server;
pub mod watch;
mod worker;

pub use admission::Admitted;
pub use endpoints::eval::AllocStopped;
pub use endpoints::job::{Deregistered, PlanRequest, RegisterRequest, Registered};
pub use endpoints::node::{HttpTunnel, NodeService};
pub use endpoints::parse::parse_job_source;
pub use fault::{Fault, Kind};
pub use leader::BrokerFigures;
pub use leader::loops::LoopStatus;
pub use server::{Config, GcConfig, Server, StartError};

// What the door reads: the state's view, and the connections requests are handed on over.
pub use rpc::{Peer, Stream};
pub use state::{SchedulerConfig, Snapshot, Table};
