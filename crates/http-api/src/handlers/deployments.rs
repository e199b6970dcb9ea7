//! `/v1/deployments` and `/v1/deployment/…`.

use model::api::StubParts;
use model::ids::{AllocId, DeploymentId};
use serde::Deserialize;
use serde_json::json;
use server::Table;

use super::allocations::row;
use super::ids::{Prefix, whole};
use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::page;
use crate::request::Request;

const TABLES: &[Table] = &[Table::Deployments];

fn id_of(request: &Request) -> Result<DeploymentId, Failure> {
    whole(request.part("deployment"), "deployment")
}

/// The list of deployments.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let query = &request.query;
    let prefix = query.text("prefix").map(|p| Prefix::parse(p, None)).transpose()?;
    page::list(&request, TABLES, |snapshot| {
        Ok(snapshot
            .deployments()
            .filter(|d| prefix.is_none_or(|p| p.holds(d.id.0)))
            .filter(|d| query.wants_namespace(&d.namespace))
            .filter_map(|d| snapshot.deployment(&d.id))
            .map(|d| (d.id.to_string(), d))
            .collect())
    })
    .await
}

/// One deployment, with its counts.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let id = id_of(&request)?;
    blocking::read(&request, TABLES, |snapshot| {
        let value =
            snapshot.deployment(&id).ok_or_else(|| Failure::not_found("deployment not found"))?;
        let newest = snapshot.allocs_of_deployment(&id).map(|a| a.modify_index).max().unwrap_or(0);
        Ok(Found { index: value.modify_index.max(newest), value })
    })
    .await
}

/// The allocations of a deployment.
pub(crate) async fn allocations(request: Request) -> Result<Answer, Failure> {
    let id = id_of(&request)?;
    let tables = &[Table::Allocs];
    blocking::read(&request, tables, |snapshot| {
        let rows: Result<Vec<_>, _> =
            snapshot.allocs_of_deployment(&id).map(|a| row(a, StubParts::default())).collect();
        Ok(Found { value: rows?, index: snapshot.tables_index(tables) })
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    #[serde(rename = "DeploymentID")]
    deployment_id: String,
    all: bool,
    groups: Vec<String>,
    pause: bool,
    #[serde(rename = "HealthyAllocationIDs")]
    healthy: Vec<AllocId>,
    #[serde(rename = "UnhealthyAllocationIDs")]
    unhealthy: Vec<AllocId>,
}

fn body_of(request: &Request) -> Result<Body, Failure> {
    let body: Body = request.body()?;
    if body.deployment_id.is_empty() {
        return Err(Failure::bad("DeploymentID must be specified"));
    }
    if body.deployment_id != request.part("deployment") {
        return Err(Failure::bad("Deployment ID does not match"));
    }
    Ok(body)
}

/// The deployment a write is about; writes to what is not there or has ended say so in these words.
fn writable(request: &Request, verb: &str) -> Result<DeploymentId, Failure> {
    let id = id_of(request)?;
    let snapshot = request.server()?.snapshot();
    let row =
        snapshot.deployment_row(&id).ok_or_else(|| Failure::internal("deployment not found"))?;
    if !row.status.is_active() {
        return Err(Failure::internal(format!("can't {verb} terminal deployment")));
    }
    Ok(id)
}

fn answer(eval: String, index: u64, reverted: Option<u64>) -> Result<Answer, Failure> {
    let created = if eval.is_empty() { 0 } else { index };
    Answer::json(&json!({
        "EvalID": eval, "EvalCreateIndex": created, "DeploymentModifyIndex": index,
        "RevertedJobVersion": reverted, "Index": index,
    }))
}

/// Promotes canaries.
pub(crate) async fn promote(request: Request) -> Result<Answer, Failure> {
    let body = body_of(&request)?;
    let id = writable(&request, "promote")?;
    if !body.all && body.groups.is_empty() {
        return Err(Failure::bad("name the groups to promote, or all of them"));
    }
    let groups = if body.all { Vec::new() } else { body.groups };
    let (eval, index) = request.server()?.promote_deployment(&id, groups).await?;
    answer(eval, index, None)
}

/// Fails a deployment.
pub(crate) async fn fail(request: Request) -> Result<Answer, Failure> {
    let id = writable(&request, "fail")?;
    let (eval, index, reverted) = request.server()?.fail_deployment(&id).await?;
    answer(eval, index, reverted)
}

/// Pauses or resumes a deployment.
pub(crate) async fn pause(request: Request) -> Result<Answer, Failure> {
    let body = body_of(&request)?;
    let id = writable(&request, if body.pause { "pause" } else { "resume" })?;
    let (eval, index) = request.server()?.pause_deployment(&id, body.pause).await?;
    answer(eval, index, None)
}

/// Lets a deployment of several regions go on; there are none.
pub(crate) async fn unblock(request: Request) -> Result<Answer, Failure> {
    writable(&request, "unblock")?;
    Err(Failure::new(
        axum::http::StatusCode::NOT_IMPLEMENTED,
        "only deployments of multi-region jobs are ever blocked, and those are an Enterprise feature",
    ))
}

/// Says which allocations are healthy.
pub(crate) async fn health(request: Request) -> Result<Answer, Failure> {
    let body = body_of(&request)?;
    let id = writable(&request, "set health of allocations for a")?;
    if body.healthy.is_empty() && body.unhealthy.is_empty() {
        return Err(Failure::internal("must specify at least one healthy/unhealthy allocation ID"));
    }
    let snapshot = request.server()?.snapshot();
    let named = body.healthy.iter().chain(&body.unhealthy);
    if let Some(unknown) =
        named.into_iter().find(|a| snapshot.alloc(a).is_none_or(|a| a.deployment_id != Some(id)))
    {
        return Err(Failure::internal(format!("unknown alloc \"{unknown}\"")));
    }
    let (eval, index) =
        request.server()?.set_deployment_health(&id, body.healthy, body.unhealthy).await?;
    answer(eval, index, None)
}
