//! Drives the public door: start, propose, kill, restart, snapshot, full disk, figures.

mod figures;
mod full_disk;
mod lifecycle;
mod recorder;
