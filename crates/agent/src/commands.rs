//! Commands that need an agent's own files.

pub(crate) mod agent;
