//! The verbs that run other tools: `test`, `ci`, `fix`, `bless`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::steps::{Done, Steps, capture, command, present, run, run_command, say};
use crate::{golden, layers, root, tidy};

/// How long each of the six parsers is fuzzed: thirty seconds in all.
const FUZZ_SECONDS: &str = "5";

/// Everything a contributor runs.
pub(crate) fn test() -> Result<()> {
    let mut steps = Steps::default();
    test_steps(&mut steps);
    steps.summary()
}

fn test_steps(steps: &mut Steps) {
    if present(&["cargo", "nextest", "--version"]) {
        steps.run("tests (cargo nextest)", || {
            run(&["cargo", "nextest", "run", "--workspace", "--no-tests=pass"])?;
            Ok(Done::Passed)
        });
    } else {
        say("cargo-nextest is not installed: using cargo test, which needs nothing else");
        steps.run("tests (cargo test)", || {
            run(&["cargo", "test", "--workspace", "--lib", "--bins", "--tests"])?;
            Ok(Done::Passed)
        });
    }
    steps.run("doc tests", || {
        if !tidy::has_doc_tests(&root())? {
            return Ok(Done::Skipped("there are none".into()));
        }
        run(&["cargo", "test", "--workspace", "--doc"])?;
        Ok(Done::Passed)
    });
}

/// The corpus alone, for who works on what it covers.
pub(crate) fn golden() -> Result<()> {
    let mut steps = Steps::default();
    steps.run("golden corpus", golden::replay);
    steps.summary()
}

/// Everything that guards the main branch. Writes nothing outside the target folder.
pub(crate) fn ci() -> Result<()> {
    let mut steps = Steps::default();
    // The README's test command goes first: it has to work on a clean clone.
    steps.run("cargo xtask test", || {
        run(&["cargo", "xtask", "test"])?;
        Ok(Done::Passed)
    });
    steps.run("formatting", || {
        run(&["cargo", "fmt", "--all", "--check"])
            .context("`cargo xtask fix` formats everything")?;
        Ok(Done::Passed)
    });
    steps.run("layers", || layers::check().map(|()| Done::Passed));
    steps.run("tidy", || tidy::check().map(|()| Done::Passed));
    steps.run("clippy", || {
        run(&["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
        Ok(Done::Passed)
    });
    steps.run("fuzzing", || {
        fuzz(&["--seconds".to_owned(), FUZZ_SECONDS.to_owned()]).map(|()| Done::Passed)
    });
    steps.run("golden corpus", golden::replay);
    steps.summary()
}

/// Hands changed texts to every parser of texts from outside.
pub(crate) fn fuzz(args: &[String]) -> Result<()> {
    let mut words = vec!["cargo", "run", "--quiet", "-p", "specs", "--example", "fuzz", "--"];
    words.extend(args.iter().map(String::as_str));
    run(&words).context("texts that broke something are below target/fuzz")
}

/// Prints how long job files take.
pub(crate) fn figures() -> Result<()> {
    run(&["cargo", "run", "--quiet", "--release", "-p", "specs", "--example", "figures"])
}

fn metadata() -> Result<serde_json::Value> {
    let text = capture(&["cargo", "metadata", "--format-version", "1", "--no-deps"])?;
    Ok(serde_json::from_str(&text)?)
}

pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = metadata()?;
    Ok(metadata["target_directory"].as_str().context("cargo names no target directory")?.into())
}

/// Builds the program, if the workspace has it.
pub(crate) fn binary() -> Result<Option<PathBuf>> {
    let metadata = metadata()?;
    let targets = metadata["packages"].as_array().into_iter().flatten();
    let mut targets =
        targets.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let is_ours = |target: &serde_json::Value| {
        target["name"] == "muster"
            && target["kind"].as_array().is_some_and(|k| k.contains(&"bin".into()))
    };
    if !targets.any(is_ours) {
        return Ok(None);
    }
    run(&["cargo", "build", "--bin", "muster"])?;
    Ok(Some(target_dir()?.join("debug/muster")))
}

/// Formats and applies what clippy can apply.
pub(crate) fn fix() -> Result<()> {
    tidy::copy_pure_clippy()?;
    run(&[
        "cargo",
        "clippy",
        "--workspace",
        "--all-targets",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
    ])?;
    run(&["cargo", "fmt", "--all"])
}

/// Accepts new snapshots; review them like code.
pub(crate) fn bless() -> Result<()> {
    run_command(
        command(&["cargo", "test", "--workspace"])
            .env("INSTA_UPDATE", "always")
            .env("UPDATE_EXPECT", "1"),
    )?;
    run(&["git", "status", "--short"])
}
