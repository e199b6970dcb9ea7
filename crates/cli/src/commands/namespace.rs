//! Commands about namespaces.

pub(crate) mod apply;
pub(crate) mod delete;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod status;
