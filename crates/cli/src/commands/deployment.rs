//! Commands about deployments.

pub(crate) mod fail;
pub(crate) mod list;
pub(crate) mod pause;
pub(crate) mod promote;
pub(crate) mod resume;
pub(crate) mod status;
