//! Texts in, jobs and problems out.

mod agents;
mod jobs;
