//! Commands about evaluations.

pub(crate) mod list;
pub(crate) mod status;
