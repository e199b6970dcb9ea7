//! Why a request was not carried out: a kind for the door, words for the caller.

/// What kind of failure it is; `http-api` maps it to a status in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request itself is wrong.
    Invalid,
    /// What it names does not exist.
    NotFound,
    /// Somebody else was faster.
    Conflict,
    /// The caller may not.
    Denied,
    /// The servers cannot do it now; trying again may help.
    Unavailable,
    /// Muster does not do this yet, or never.
    Unsupported,
    /// It should have worked.
    Internal,
}

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of failure.
    pub kind: Kind,
    /// For the caller.
    pub message: String,
}

impl Fault {
    /// A fault of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The request is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// It does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// It should have worked.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }
}

impl From<consensus::ProposeError> for Fault {
    fn from(error: consensus::ProposeError) -> Self {
        use consensus::ProposeError as E;
        let kind = match &error {
            E::NotLeader { .. } | E::Retry | E::Shutdown => Kind::Unavailable,
            E::TooLarge { .. } => Kind::Invalid,
            E::Storage(_) => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<state::Refusal> for Fault {
    fn from(refusal: state::Refusal) -> Self {
        use state::Refusal as R;
        let kind = match &refusal {
            R::JobNotFound(_) | R::VersionNotFound | R::NodeNotFound | R::DeploymentNotFound => {
                Kind::NotFound
            }
            R::ConfigConflict { .. } => Kind::Conflict,
            _ => Kind::Internal,
        };
        Self::new(kind, refusal.to_string())
    }
}

impl From<Fault> for rpc::Fault {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            Kind::NotFound => rpc::FaultKind::NotFound,
            Kind::Denied => rpc::FaultKind::Denied,
            Kind::Unavailable | Kind::Internal => rpc::FaultKind::Retry,
            _ => rpc::FaultKind::Final,
        };
        rpc::Fault::new(kind, fault.message)
    }
}
