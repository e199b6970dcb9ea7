//! Commands about the system as a whole.

pub(crate) mod gc;
pub(crate) mod reconcile_summaries;
