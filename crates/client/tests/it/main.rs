//! A node with real tasks and a server made up by the test.

mod endings;
mod figures;
mod reading;
mod restarting;
mod running;
mod world;
