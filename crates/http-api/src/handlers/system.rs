//! Collection on demand.

use axum::http::StatusCode;

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

/// Asks for a collection that ignores the thresholds.
pub(crate) async fn collect(request: Request) -> Result<Answer, Failure> {
    request.server()?.force_gc();
    Ok(Answer::Status(StatusCode::OK))
}

/// Summaries are derived from the allocations, so there is nothing to reconcile.
pub(crate) async fn reconcile_summaries(request: Request) -> Result<Answer, Failure> {
    request.server()?;
    Ok(Answer::Status(StatusCode::OK))
}
