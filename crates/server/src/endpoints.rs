//! Writes and the questions that need more than a look at the state; one file per resource.

pub(crate) mod deployment;
pub(crate) mod eval;
pub(crate) mod job;
pub(crate) mod node;
pub(crate) mod parse;
pub(crate) mod system;
