//! Commands for operators.

pub(crate) mod api;
