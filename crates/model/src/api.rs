//! Shapes that exist only on the wire: list rows, joined allocations, envelopes.

mod allocation;
mod lists;

pub use allocation::*;
pub use lists::*;
