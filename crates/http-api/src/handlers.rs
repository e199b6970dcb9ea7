//! Handlers: decode, call, encode; one file per resource.

pub(crate) mod agent;
pub(crate) mod allocations;
pub(crate) mod client_allocation;
pub(crate) mod client_fs;
pub(crate) mod deployments;
pub(crate) mod evaluations;
pub(crate) mod gaps;
pub(crate) mod ids;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod metrics;
pub(crate) mod node;
pub(crate) mod operator;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod system;
