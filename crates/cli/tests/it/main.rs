//! Whole command lines against an agent that gives canned answers.

#![allow(clippy::unwrap_used)] // the agent of canned answers is part of the test

mod agent;
mod commands;
mod fmt;
mod mistakes;
