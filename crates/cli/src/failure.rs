//! How a command ends when it does not end well, and the one place that knows exit codes.

use std::fmt;

/// What a command returns.
pub(crate) type Outcome = Result<(), Failure>;

/// Anything that went wrong, and the wrong way of calling a command.
pub(crate) const FAILED: u8 = 1;
/// A job was taken but could not be placed whole.
pub(crate) const NOT_PLACED: u8 = 2;
/// No such command.
pub(crate) const UNKNOWN_COMMAND: u8 = 127;
/// Ended by Ctrl-C, as shells count it.
pub(crate) const INTERRUPTED: u8 = 130;
/// `job plan` failed; 0 and 1 say what the plan would do.
pub(crate) const PLAN_FAILED: u8 = 255;

/// The end of a command that did not end well.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// For the error stream; empty when everything is said already.
    pub(crate) text: String,
    /// The command was called the wrong way: point to its help.
    pub(crate) usage: bool,
}

impl Failure {
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self { code: FAILED, text: text.to_string(), usage: false }
    }

    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self { usage: true, ..Self::new(text) }
    }

    /// Ends with `code` after everything has been said.
    pub(crate) fn silent(code: u8) -> Self {
        Self { code, text: String::new(), usage: false }
    }

    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(system_text(&error))
    }
}

/// An error of the system as C programs word it: `no such file or directory`.
pub(crate) fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Says what was being attempted in front of an error.
pub(crate) trait Attempt<T> {
    fn attempt(self, what: &str) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Attempt<T> for Result<T, E> {
    fn attempt(self, what: &str) -> Result<T, Failure> {
        self.map_err(|error| {
            if what.is_empty() {
                Failure::new(error)
            } else {
                Failure::new(format!("{what}: {error}"))
            }
        })
    }
}
