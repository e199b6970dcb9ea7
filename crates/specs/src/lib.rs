//! Files to typed values: job files, agent configuration, and the other files that people write.
//!
//! **Purpose.** Says what each file may contain, field by field, and turns it into the types of
//! `model` (jobs) or of this crate (agent configuration, volumes, namespaces and the like). Unknown names are refused by name with
//! the place where they stand.
//! **Entry points.** [`job::parse_job`], [`job::parse_json_job`], [`agent::parse`], [`spec`].
//! **Never.** It reads no files, clock, environment or randomness: texts, variables and services
//! come from the caller. It fills in no defaults; that is `model::canonical`.
//! **Limits.** Those of `hcl`.

pub mod agent;
pub mod job;
pub mod spec;

// The language itself, for those who show its diagnostics.
pub use hcl;
