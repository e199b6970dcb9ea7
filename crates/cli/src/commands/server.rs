//! Commands about servers.

pub(crate) mod members;
