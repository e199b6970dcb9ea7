//! Validation: what is wrong with a canonical job, and what Muster cannot run yet.
//!
//! [`validate`] finds every problem at once. [`unsupported`] names what parses and is valid but
//! must be refused at registration, so that nothing is accepted and then ignored.
//! Names of time zones are checked by their form only: this crate reads no files.

mod group;
mod job;
mod placement;
mod schedule;
mod task;
mod unsupported;

use std::fmt;

use crate::job::Job;
use crate::wire::{Nanos, SECOND};

pub use unsupported::unsupported;

/// One problem and the part of the job it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Such as `group "g" > task "t"`; empty for the job itself.
    pub path: String,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// What validation found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What keeps the job from being registered.
    pub errors: Vec<Problem>,
    /// What the submitter probably did not mean.
    pub warnings: Vec<Problem>,
}

impl Report {
    /// Whether the job may be registered.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty()
    }

    /// Each error as one text, the `ValidationErrors` of the API.
    pub fn error_texts(&self) -> Vec<String> {
        self.errors.iter().map(Problem::to_string).collect()
    }

    /// All errors as the wire has them; empty if there are none.
    pub fn error_text(&self) -> String {
        error_text(&self.error_texts())
    }

    /// All warnings as the wire has them, those of one place together; empty if there are none.
    pub fn warning_text(&self) -> String {
        warning_text(&self.warnings)
    }
}

/// Joins errors in the form of the wire.
pub fn error_text<T: fmt::Display>(errors: &[T]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let noun = if errors.len() == 1 { "error" } else { "errors" };
    let lines: Vec<String> = errors.iter().map(|error| format!("* {error}")).collect();
    format!("{} {noun} occurred:\n\t{}\n\n", errors.len(), lines.join("\n\t"))
}

/// Joins problems in the form of the wire, those of one group or task below a line that names it.
pub fn nested_error_text(problems: &[Problem]) -> String {
    let split: Vec<(Vec<&str>, &str)> = problems
        .iter()
        .map(|problem| {
            let path = problem.path.split(STEP).filter(|step| !step.is_empty()).collect();
            (path, problem.message.as_str())
        })
        .collect();
    nested(&split)
}

fn nested(problems: &[(Vec<&str>, &str)]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = problems;
    while let Some(((path, message), after)) = rest.split_first() {
        let Some(step) = path.first() else {
            lines.push((*message).to_owned());
            rest = after;
            continue;
        };
        let count = rest.iter().take_while(|(path, _)| path.first() == Some(step)).count();
        let inner: Vec<(Vec<&str>, &str)> =
            rest[..count].iter().map(|(path, message)| (path[1..].to_vec(), *message)).collect();
        let place = ["group", "task"].into_iter().find_map(|kind| {
            let name = step.strip_prefix(kind)?.trim().trim_matches('"');
            Some(if kind == "group" {
                format!("Task group {name}")
            } else {
                format!("Task {name}")
            })
        });
        match place {
            Some(place) => lines.push(format!("{place} validation failed: {}", nested(&inner))),
            None => lines.extend(inner.iter().map(|(path, message)| {
                let path: Vec<&str> = [*step].into_iter().chain(path.iter().copied()).collect();
                format!("{}: {message}", path.join(STEP))
            })),
        }
        rest = &rest[count..];
    }
    error_text(&lines)
}

/// Joins warnings in the form of the wire.
pub fn warning_text(warnings: &[Problem]) -> String {
    let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
    for warning in warnings {
        match places.iter_mut().find(|(path, _)| *path == warning.path && !path.is_empty()) {
            Some((_, messages)) => messages.push(&warning.message),
            None => places.push((&warning.path, vec![&warning.message])),
        }
    }
    if places.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = places
        .iter()
        .map(|(path, messages)| match path.split_at_checked(1) {
            Some((first, rest)) => {
                let first = first.to_uppercase();
                format!("* {first}{rest} has warnings: {}", error_text(messages))
            }
            None => format!("* {}", messages.concat()),
        })
        .collect();
    format!("{} warning(s):\n\n{}", places.len(), texts.join("\n"))
}

/// What stands between the steps of a problem's path.
const STEP: &str = " > ";

/// Finds every problem of a canonical job.
pub fn validate(job: &Job) -> Report {
    let mut found = Findings::default();
    job::check(job, &mut found);
    found.report
}

/// Collects problems under the path that is being looked at.
#[derive(Default)]
struct Findings {
    report: Report,
    path: Vec<String>,
}

impl Findings {
    fn error(&mut self, message: impl Into<String>) {
        self.report.errors.push(Problem { path: self.path.join(STEP), message: message.into() });
    }

    fn warning(&mut self, message: impl Into<String>) {
        self.report.warnings.push(Problem { path: self.path.join(STEP), message: message.into() });
    }

    /// Reports unless the condition holds.
    fn require(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.error(message());
        }
    }

    fn within(&mut self, step: impl Into<String>, look: impl FnOnce(&mut Self)) {
        self.path.push(step.into());
        look(self);
        self.path.pop();
    }
}

/// A duration as people write it: `1m30s`, `250ms`.
fn duration_text(nanos: Nanos) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let left = nanos.unsigned_abs();
    let second = SECOND.unsigned_abs();
    if left < second {
        return format!("{sign}{}ms", left as f64 / 1e6);
    }
    let (hours, minutes) = (left / (3600 * second), left / (60 * second) % 60);
    let seconds = (left % (60 * second)) as f64 / 1e9;
    let mut text = sign.to_owned();
    if hours > 0 {
        text.push_str(&format!("{hours}h"));
    }
    if hours > 0 || minutes > 0 {
        text.push_str(&format!("{minutes}m"));
    }
    text.push_str(&format!("{seconds}s"));
    text
}

/// The first name that occurs twice, with the places of both, counted from one.
fn repeated<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<(&'n str, usize, usize)> {
    let mut seen: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    let mut result = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        match seen.get(name) {
            Some(first) if !name.is_empty() => result.push((name, first + 1, at + 1)),
            Some(_) => {}
            None => {
                seen.insert(name, at);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests;
