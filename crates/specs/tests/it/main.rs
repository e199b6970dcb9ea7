//! Texts in, jobs and problems out.

mod agents;
mod jobs;
mod json_spelling;
