//! `/v1/client/allocation/:id/…`, and the node itself.

use axum::http::StatusCode;
use client::Client;
use model::ids::AllocId;
use serde::Deserialize;
use serde_json::json;

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

fn target(request: &Request) -> Result<(&Client, AllocId), Failure> {
    let text = request.part("alloc");
    let unknown = || Failure::not_found(format!("Unknown allocation {text:?}"));
    let id = text.parse().map_err(|_| unknown())?;
    Ok((request.api.inner.client.as_ref().ok_or_else(unknown)?, id))
}

fn this_client(request: &Request) -> Result<&Client, Failure> {
    request.api.inner.client.as_ref().ok_or_else(|| Failure::bad("this agent runs no client"))
}

/// What an allocation's tasks use.
pub(crate) async fn stats(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    Answer::json(&client.alloc_stats(&id, request.query.text("task")).await?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RestartBody {
    task_name: String,
    all_tasks: bool,
}

/// Restarts tasks in place.
pub(crate) async fn restart(request: Request) -> Result<Answer, Failure> {
    let body: RestartBody = request.body_or_default()?;
    let (client, id) = target(&request)?;
    let task = Some(body.task_name.as_str()).filter(|t| !t.is_empty());
    if task.is_some() && body.all_tasks {
        return Err(Failure::bad("task name and all tasks exclude each other"));
    }
    client.restart(&id, task, body.all_tasks).await?;
    Answer::json(&json!({ "Index": 0 }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct SignalBody {
    task: String,
    signal: String,
}

/// Sends a signal to tasks.
pub(crate) async fn signal(request: Request) -> Result<Answer, Failure> {
    let body: SignalBody = request.body()?;
    let (client, id) = target(&request)?;
    let task = Some(body.task.as_str()).filter(|t| !t.is_empty());
    client.signal(&id, task, &body.signal).await?;
    Answer::json(&json!({ "Index": 0 }))
}

/// Collects a terminal allocation on its node.
pub(crate) async fn collect(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    client.gc_alloc(&id)?;
    Ok(Answer::Status(StatusCode::OK))
}

/// Collects all terminal allocations of the node.
pub(crate) async fn collect_all(request: Request) -> Result<Answer, Failure> {
    this_client(&request)?.gc_all();
    Ok(Answer::Status(StatusCode::OK))
}

/// What the node uses.
pub(crate) async fn host_stats(request: Request) -> Result<Answer, Failure> {
    Answer::json(&this_client(&request)?.host_stats().await)
}
