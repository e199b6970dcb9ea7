//! Builds the supervisor, a program of its own with its own flags, for embedding.
//!
//! It goes into a target folder below this script's output folder: the folder of the outer build
//! is locked while this runs. Its dependencies are among those of this crate, so they are already
//! there and nothing is fetched.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "supervisor";
const PROGRAM: &str = "muster-supervisor";
const PROFILE: &str = "supervisor";

/// Settings of the outer build that are not meant for the inner one: flags for coverage, clippy's
/// compiler wrapper, another target folder, profile overrides.
const FOREIGN: [&str; 6] =
    ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOCFLAGS", "RUSTC", "RUSTDOC"];
/// What of cargo's own variables stays: where it lives, what it may fetch from, how many jobs.
const KEPT_PREFIXES: [&str; 7] = [
    "CARGO_HOME",
    "CARGO_MAKEFLAGS",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
];

fn main() {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = manifest.join("../..");
    for watched in [
        "crates/supervisor/src",
        "crates/supervisor/Cargo.toml",
        "crates/sandbox/src",
        "crates/sandbox/Cargo.toml",
        "Cargo.toml",
    ] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo:rerun-if-changed=build.rs");

    let target = variable("TARGET");
    let folder = Path::new(&variable("OUT_DIR")).join(PROGRAM);
    let mut cargo = Command::new(variable("CARGO"));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let of_cargo =
            text.starts_with("CARGO") && !KEPT_PREFIXES.iter().any(|kept| text.starts_with(kept));
        if of_cargo || FOREIGN.contains(&text.as_ref()) {
            cargo.env_remove(&name);
        }
    }
    // Static and at a fixed address: no relocation makes pages private, which is most of what such
    // a small process costs. Unit separators keep flags apart.
    let flags = ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
    cargo
        .current_dir(&root)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .args(["build", "--quiet", "--locked", "--offline"])
        .args(["--package", PACKAGE, "--bin", PROGRAM, "--profile", PROFILE])
        .args(["--target", &target, "--target-dir"])
        .arg(&folder);
    let status = cargo.status().unwrap_or_else(|error| panic!("cannot run {cargo:?}: {error}"));
    assert!(status.success(), "building the supervisor failed: {status}");
    let program = folder.join(target).join(PROFILE).join(PROGRAM);
    println!("cargo:rustc-env=MUSTER_SUPERVISOR={}", program.display());
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("{name} is not set by cargo: {error}"))
}
