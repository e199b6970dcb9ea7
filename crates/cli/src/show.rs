//! Parts of output that several commands share.

pub(crate) mod allocations;
pub(crate) mod deployment;
pub(crate) mod placement;
