//! Forms of output: tables, JSON, templates, times and sizes, colours.

pub(crate) mod absent;
pub(crate) mod color;
pub(crate) mod json;
pub(crate) mod table;
pub(crate) mod template;
pub(crate) mod units;
pub(crate) mod when;
