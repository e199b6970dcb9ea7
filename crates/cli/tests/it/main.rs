//! Whole command lines against an agent that gives canned answers.

mod agent;
mod commands;
