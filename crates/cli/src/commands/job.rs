//! Commands about jobs.

pub(crate) mod allocs;
pub(crate) mod deployments;
pub(crate) mod dispatch;
pub(crate) mod eval;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod periodic_force;
pub(crate) mod plan;
pub(crate) mod promote;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod scale;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod validate;
