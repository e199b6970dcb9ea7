//! The job and its parts: one file per block, wire form and store form in one.
//!
//! A field that the API shows as `null` until it is filled in is an `Option`; canonicalising
//! (see `canonical`) fills it, and the accessors below answer with the value that then holds.

mod consul;
mod document;
mod group;
mod placement;
mod reading;
mod resources;
mod service;
mod task;

pub use consul::*;
pub use document::*;
pub use group::*;
pub use placement::*;
pub use reading::*;
pub use resources::*;
pub use service::*;
pub use task::*;
