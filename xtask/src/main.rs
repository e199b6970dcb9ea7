//! The one entry for people and CI: `cargo xtask test | ci | demo | layers | tidy`.

fn main() {}
