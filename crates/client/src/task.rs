//! One task of an allocation: its machine, its restarts, and what it is started with.

pub(crate) mod env;
pub(crate) mod events;
pub(crate) mod interpolate;
pub(crate) mod launch;
pub(crate) mod machine;
pub(crate) mod restart;
