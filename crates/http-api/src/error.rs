//! Failures on the wire: the only place that knows which failure has which status and text.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A failed request: a status and plain text, as existing clients expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub status: StatusCode,
    pub text: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    pub(crate) fn internal(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }

    pub(crate) fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Invalid method")
    }

    /// What Muster does not do yet, by name.
    pub(crate) fn gap(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            format!("{what} is not supported by Muster yet; docs/gaps.md lists what is missing"),
        )
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        (self.status, [(header::CONTENT_TYPE, plain)], self.text).into_response()
    }
}

impl From<server::Fault> for Failure {
    fn from(fault: server::Fault) -> Self {
        use server::Kind;
        let status = match fault.kind {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::Denied => StatusCode::FORBIDDEN,
            Kind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Kind::Unavailable | Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, fault.message)
    }
}

impl From<client::Fault> for Failure {
    fn from(fault: client::Fault) -> Self {
        use client::FaultKind as Kind;
        let status = match fault.kind {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, fault.message)
    }
}
