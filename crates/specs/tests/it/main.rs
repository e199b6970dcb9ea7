//! Texts in, jobs and problems out.

mod agents;
mod driver_config;
mod jobs;
mod json_spelling;
mod spec;
