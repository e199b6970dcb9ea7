//! Running commands as timed steps with one closing summary.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Prints a line; a closed pipe is no reason to fail a check.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// What a step has to say when it did not fail.
pub(crate) enum Done {
    Passed,
    Skipped(String),
}

/// Steps that have run so far.
#[derive(Default)]
pub(crate) struct Steps {
    ran: Vec<(String, Outcome, Duration)>,
}

impl Steps {
    /// Runs a step; a failure is noted and does not keep the next steps from running.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<Done>) {
        say(&format!("== {name}"));
        let began = Instant::now();
        let outcome = match step() {
            Ok(Done::Passed) => Outcome::Passed,
            Ok(Done::Skipped(reason)) => {
                say(&format!("skipped: {reason}"));
                Outcome::Skipped(reason)
            }
            Err(error) => {
                say(&format!("{error:#}"));
                Outcome::Failed(format!("{error:#}").lines().next().unwrap_or_default().into())
            }
        };
        self.ran.push((name.into(), outcome, began.elapsed()));
    }

    /// Prints every step with its time; fails when one failed.
    pub(crate) fn summary(self) -> Result<()> {
        say("== summary");
        let mut failed = Vec::new();
        for (name, outcome, took) in &self.ran {
            let text = match outcome {
                Outcome::Passed => "ok".to_string(),
                Outcome::Skipped(reason) => format!("skipped: {reason}"),
                Outcome::Failed(reason) => {
                    failed.push(name.as_str());
                    format!("FAILED: {reason}")
                }
            };
            say(&format!("{:>8.1} s  {name}: {text}", took.as_secs_f64()));
        }
        let total: Duration = self.ran.iter().map(|(_, _, took)| *took).sum();
        say(&format!("{:>8.1} s  in all", total.as_secs_f64()));
        if failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", failed.join(", "))
    }
}

/// A command in the repository's root.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(crate::root());
    command
}

/// Runs a command with its output shown.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    run_command(&mut command(words))
}

pub(crate) fn run_command(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Whether a command exists and answers.
pub(crate) fn present(words: &[&str]) -> bool {
    command(words).output().is_ok_and(|output| output.status.success())
}

/// What a command printed.
pub(crate) fn capture(words: &[&str]) -> Result<String> {
    let output = command(words).output().with_context(|| format!("cannot run {words:?}"))?;
    if !output.status.success() {
        bail!("{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
