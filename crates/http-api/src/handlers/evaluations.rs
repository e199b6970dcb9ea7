//! `/v1/evaluations` and `/v1/evaluation/:id`.

use model::api::StubParts;
use model::ids::EvalId;
use serde_json::json;
use server::Table;

use super::allocations::row;
use super::ids::{Prefix, whole};
use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::page;
use crate::request::Request;

const TABLES: &[Table] = &[Table::Evals];

/// The list of evaluations.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let query = &request.query;
    let prefix = query.text("prefix").map(|p| Prefix::parse(p, None)).transpose()?;
    page::list(&request, TABLES, |snapshot| {
        Ok(snapshot
            .evals()
            .filter(|e| prefix.is_none_or(|p| p.holds(e.id.0)))
            .filter(|e| query.wants_namespace(&e.namespace))
            .filter(|e| query.text("job").is_none_or(|job| e.job_id == job))
            .filter(|e| query.text("status").is_none_or(|s| e.status.as_str() == s))
            .map(|e| (e.id.to_string(), e.clone()))
            .collect())
    })
    .await
}

/// How many evaluations there are.
pub(crate) async fn count(request: Request) -> Result<Answer, Failure> {
    let query = &request.query;
    if query.has("filter") {
        return Err(Failure::gap("counting evaluations by a filter"));
    }
    blocking::read(&request, TABLES, |snapshot| {
        let count = snapshot.evals().filter(|e| query.wants_namespace(&e.namespace)).count();
        let index = snapshot.tables_index(TABLES);
        Ok(Found {
            value: json!({ "Count": count, "Index": index, "LastContact": 0, "KnownLeader": true }),
            index,
        })
    })
    .await
}

/// One evaluation.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let id: EvalId = whole(request.part("eval"), "eval")?;
    blocking::read(&request, TABLES, |snapshot| {
        let eval =
            snapshot.eval(&id).cloned().ok_or_else(|| Failure::not_found("eval not found"))?;
        Ok(Found { index: eval.modify_index, value: eval })
    })
    .await
}

/// The allocations an evaluation made.
pub(crate) async fn allocations(request: Request) -> Result<Answer, Failure> {
    let id: EvalId = whole(request.part("eval"), "eval")?;
    let tables = &[Table::Allocs];
    blocking::read(&request, tables, |snapshot| {
        let allocs: Vec<_> = snapshot.allocs_of_eval(&id).collect();
        let index = allocs
            .iter()
            .map(|a| a.modify_index)
            .max()
            .unwrap_or_else(|| snapshot.tables_index(tables));
        let rows: Result<Vec<_>, _> = allocs.iter().map(|a| row(a, StubParts::default())).collect();
        Ok(Found { value: rows?, index })
    })
    .await
}
