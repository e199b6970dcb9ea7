//! Why a request to this node failed, as its caller is told.

use model::ids::AllocId;

/// What kind of failure it is; the HTTP status follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The request makes no sense.
    Invalid,
    /// What it is about is not here.
    NotFound,
    /// The driver cannot do this.
    Unsupported,
    /// It did not work.
    Internal,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
}

/// What is asked needs a running task.
pub(crate) const NOT_RUNNING: &str = "Task not running";

impl Fault {
    /// Several problems in the form that scripts know.
    pub(crate) fn list(problems: &[String]) -> Self {
        let lines: String = problems.iter().map(|problem| format!("\t* {problem}\n")).collect();
        let word = if problems.len() == 1 { "error" } else { "errors" };
        Self::internal(format!("{} {word} occurred:\n{lines}\n", problems.len()))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Invalid, message: message.into() }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Internal, message: message.into() }
    }

    pub(crate) fn unknown_alloc(id: &AllocId) -> Self {
        Self { kind: FaultKind::NotFound, message: format!("Unknown allocation \"{id}\"") }
    }
}
