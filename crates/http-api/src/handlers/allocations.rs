//! `/v1/allocations` and `/v1/allocation/:id`.

use model::alloc::Alloc;
use model::api::{StubParts, allocation, allocation_stub};
use model::ids::AllocId;
use serde_json::json;
use serde_json::value::RawValue;
use server::Table;

use super::ids::{Prefix, whole};
use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::page;
use crate::request::Request;

const TABLES: &[Table] = &[Table::Allocs];

/// The list row of an allocation as text, so that it is written once.
pub(crate) fn row(alloc: &Alloc, parts: StubParts) -> Result<Box<RawValue>, Failure> {
    serde_json::value::to_raw_value(&allocation_stub(alloc, parts))
        .map_err(|e| Failure::internal(e.to_string()))
}

/// The list of allocations.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let query = &request.query;
    let prefix = query.text("prefix").map(|p| Prefix::parse(p, Some("alloc"))).transpose()?;
    let parts = StubParts {
        resources: query.flag("resources")?,
        task_states: query.get("task_states").is_none() || query.flag("task_states")?,
    };
    page::list(&request, TABLES, |snapshot| {
        let first = AllocId(prefix.map(|p| p.first).unwrap_or_default());
        snapshot
            .allocs_from(first)
            .take_while(|a| prefix.is_none_or(|p| p.holds(a.id.0)))
            .filter(|a| query.wants_namespace(&a.job.namespace))
            .map(|a| Ok((a.id.to_string(), row(a, parts)?)))
            .collect()
    })
    .await
}

/// One allocation, joined with its job.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let id: AllocId = whole(request.part("alloc"), "alloc")?;
    blocking::read(&request, TABLES, |snapshot| {
        let alloc = snapshot.alloc(&id).ok_or_else(|| Failure::not_found("alloc not found"))?;
        let value = serde_json::value::to_raw_value(&allocation(alloc))
            .map_err(|e| Failure::internal(e.to_string()))?;
        Ok(Found { value, index: alloc.modify_index })
    })
    .await
}

/// Stops an allocation; its slot is filled anew.
pub(crate) async fn stop(request: Request) -> Result<Answer, Failure> {
    let id: AllocId = whole(request.part("alloc"), "alloc")?;
    let no_shutdown_delay = request.query.flag("no_shutdown_delay")?;
    let stopped = request.server()?.stop_alloc(&id, no_shutdown_delay).await?;
    Answer::json(&json!({ "EvalID": stopped.eval_id, "Index": stopped.index }))
}
