//! Texts in, jobs and problems out.

mod jobs;
