//! `/v1/job/:id`: one job and everything that belongs to it.

use model::api::{JobRegisterRequest, StubParts, allocation_stub};
use model::diff::job_diff;
use model::job::Job;
use serde::Deserialize;
use serde_json::json;
use server::PlanRequest;
use server::Table;

use super::jobs;
use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::request::Request;

fn missing() -> Failure {
    Failure::not_found("job not found")
}

/// The job, with its derived status.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    // Allocations and evaluations move the derived status.
    blocking::read(&request, &[Table::Jobs], |snapshot| {
        let job = snapshot.job_view(&key).ok_or_else(missing)?;
        let derived = snapshot.job_entry(&key).map_or(0, |e| e.summary_index);
        Ok(Found { index: job.modify_index().max(derived), value: job })
    })
    .await
}

/// Registers a version of the job.
pub(crate) async fn register(request: Request) -> Result<Answer, Failure> {
    let body: JobRegisterRequest = request.body()?;
    match body.job.as_ref().map(|j| j.id()) {
        Some(id) if id == request.part("job") => jobs::submit(&request, body).await,
        Some(_) => Err(Failure::bad("Job ID does not match name")),
        None => Err(Failure::bad("Job must be specified")),
    }
}

/// Stops the job.
pub(crate) async fn deregister(request: Request) -> Result<Answer, Failure> {
    let purge = request.query.flag("purge")?;
    let priority = request.query.number("eval_priority")?.unwrap_or(0);
    let hurry = request.query.flag("no_shutdown_delay")?;
    let server = request.server()?;
    let done = server.deregister_job(&request.job_key(), purge, hurry, priority).await?;
    Answer::json(&json!({
        "EvalID": done.eval_id,
        "EvalCreateIndex": done.index,
        "JobModifyIndex": done.job_modify_index,
        "VolumeEvalID": "",
        "VolumeEvalIndex": 0,
        "Index": done.index,
        "LastContact": 0,
        "KnownLeader": false,
    }))
}

/// The allocations of the job; those of a purged namesake only with `all=true`.
pub(crate) async fn allocations(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let all = request.query.flag("all")?;
    let tables = &[Table::Allocs];
    let value = blocking::read(&request, tables, |snapshot| {
        let current = snapshot.job(&key).map(|j| j.create_index());
        let allocs: Vec<_> = snapshot
            .allocs_of_job(&key)
            .filter(|a| all || current.is_none_or(|index| a.job_create_index == index))
            .cloned()
            .collect();
        let index = allocs.iter().map(|a| a.modify_index).max().unwrap_or(0);
        let index = index.max(if allocs.is_empty() { snapshot.tables_index(tables) } else { 0 });
        let rows: Vec<_> =
            allocs.iter().map(|a| allocation_stub(a, StubParts::default())).collect();
        let value =
            serde_json::value::to_raw_value(&rows).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(Found { value, index })
    });
    value.await
}

/// The evaluations of the job.
pub(crate) async fn evaluations(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let tables = &[Table::Evals];
    blocking::read(&request, tables, |snapshot| {
        let evals = snapshot.evals_of_job(&key);
        let index = evals
            .iter()
            .map(|e| e.modify_index)
            .max()
            .unwrap_or_else(|| snapshot.tables_index(tables));
        Ok(Found { value: evals, index })
    })
    .await
}

/// The deployments of the job.
pub(crate) async fn deployments(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let tables = &[Table::Deployments];
    blocking::read(&request, tables, |snapshot| {
        let rows: Vec<_> = snapshot
            .deployments_of_job(&key)
            .iter()
            .filter_map(|d| snapshot.deployment(&d.id))
            .collect();
        Ok(Found { value: rows, index: snapshot.tables_index(tables) })
    })
    .await
}

/// The newest deployment of the job, or `null`.
pub(crate) async fn deployment(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let tables = &[Table::Deployments];
    blocking::read(&request, tables, |snapshot| {
        let newest =
            snapshot.deployments_of_job(&key).first().and_then(|d| snapshot.deployment(&d.id));
        Ok(Found { value: newest, index: snapshot.tables_index(tables) })
    })
    .await
}

/// Counts of the job's allocations.
pub(crate) async fn summary(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    blocking::read(&request, &[Table::Jobs], |snapshot| {
        let summary = snapshot.summary(&key).ok_or_else(missing)?;
        Ok(Found { index: summary.modify_index, value: summary })
    })
    .await
}

/// The kept versions of the job, newest first, with their differences if asked.
pub(crate) async fn versions(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let diffs = request.query.flag("diffs")?;
    for unsupported in ["diff_tag", "diff_version"] {
        if request.query.has(unsupported) {
            return Err(Failure::gap(&format!("the parameter {unsupported}")));
        }
    }
    blocking::read(&request, &[Table::Jobs], |snapshot| {
        let entry =
            snapshot.job_entry(&key).ok_or_else(|| Failure::not_found("job versions not found"))?;
        let pairs = entry.versions.windows(2);
        let all: Vec<_> =
            pairs.map(|pair| job_diff(Some(&pair[1]), Some(&pair[0]), true)).collect();
        let index = entry.job().modify_index();
        let value = json!({
            "Versions": entry.versions,
            "Diffs": (diffs && !all.is_empty()).then_some(all),
            "Index": index,
            "LastContact": 0,
            "KnownLeader": true,
        });
        Ok(Found { value, index })
    })
    .await
}

/// The source a version was registered from.
pub(crate) async fn submission(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    let version: Option<u64> = request.query.number("version")?;
    let Some(version) = version else {
        return Err(Failure::bad("job version is required: add ?version=N"));
    };
    blocking::read(&request, &[Table::Jobs], |snapshot| {
        let entry = snapshot.job_entry(&key).ok_or_else(missing)?;
        let found = entry.submissions.get(&version).cloned();
        let value = found.ok_or_else(|| Failure::not_found("job source not found"))?;
        Ok(Found { value, index: entry.job().modify_index() })
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PlanBody {
    job: Option<Job>,
    diff: bool,
    preserve_counts: bool,
    preserve_resources: bool,
}

/// What registering a job would change.
pub(crate) async fn plan(request: Request) -> Result<Answer, Failure> {
    let body: PlanBody = request.body()?;
    let Some(mut job) = body.job else { return Err(Failure::bad("Job must be specified")) };
    if job.id.is_none() {
        return Err(Failure::bad("Job must have a valid ID"));
    }
    if job.id() != request.part("job") {
        return Err(Failure::bad("Job ID does not match"));
    }
    if job.namespace.as_deref().unwrap_or_default().is_empty() {
        job.namespace = Some(request.query.namespace().to_owned());
    }
    let server = request.server()?.clone();
    let plan = PlanRequest {
        job,
        diff: body.diff,
        preserve_counts: body.preserve_counts,
        preserve_resources: body.preserve_resources,
    };
    let planned = tokio::task::spawn_blocking(move || server.plan_job(plan)).await;
    let mut planned = planned.map_err(|_| Failure::internal("planning failed unexpectedly"))??;
    if planned.failed_tg_allocs.is_empty() {
        planned.failed_tg_allocs = Default::default();
    }
    let mut value = serde_json::to_value(&planned).map_err(|e| Failure::internal(e.to_string()))?;
    if planned.next_periodic_launch.is_zero() {
        value["NextPeriodicLaunch"] = serde_json::Value::Null;
    }
    Answer::json(&value)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct EvaluateBody {
    #[serde(rename = "JobID")]
    job_id: String,
    eval_options: EvalOptions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct EvalOptions {
    force_reschedule: bool,
}

/// Makes an evaluation.
pub(crate) async fn evaluate(request: Request) -> Result<Answer, Failure> {
    let body: EvaluateBody = request.body_or_default()?;
    if !body.job_id.is_empty() && body.job_id != request.part("job") {
        return Err(Failure::bad("JobID not same as job name"));
    }
    let key = request.job_key();
    let (eval, index) =
        request.server()?.evaluate_job(&key, body.eval_options.force_reschedule).await?;
    let modify_index = request.server()?.snapshot().job(&key).map_or(0, |j| j.job_modify_index());
    Answer::json(&json!({
        "EvalID": eval, "EvalCreateIndex": index, "JobModifyIndex": modify_index,
        "Warnings": "", "Index": index, "LastContact": 0, "KnownLeader": false,
    }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RevertBody {
    #[serde(rename = "JobID")]
    job_id: String,
    job_version: u64,
    enforce_prior_version: Option<u64>,
}

/// Brings an earlier version back as a new one.
pub(crate) async fn revert(request: Request) -> Result<Answer, Failure> {
    let body: RevertBody = request.body()?;
    if body.job_id != request.part("job") {
        return Err(Failure::bad(if body.job_id.is_empty() {
            "JobID must be specified"
        } else {
            "Job ID does not match"
        }));
    }
    let server = request.server()?;
    let done =
        server.revert_job(&request.job_key(), body.job_version, body.enforce_prior_version).await?;
    Answer::json(&jobs::answer(done))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct StableBody {
    #[serde(rename = "JobID")]
    job_id: String,
    job_version: u64,
    stable: bool,
}

/// Says whether a version is good.
pub(crate) async fn stable(request: Request) -> Result<Answer, Failure> {
    let body: StableBody = request.body()?;
    if body.job_id != request.part("job") {
        return Err(Failure::bad("Job ID does not match"));
    }
    let server = request.server()?;
    let index = server.set_job_stability(&request.job_key(), body.job_version, body.stable).await?;
    Answer::json(&json!({ "JobModifyIndex": index, "Index": index }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ScaleBody {
    count: Option<i64>,
    target: std::collections::BTreeMap<String, String>,
}

/// Changes the count of a group.
pub(crate) async fn scale(request: Request) -> Result<Answer, Failure> {
    let body: ScaleBody = request.body()?;
    let Some(group) = body.target.get("Group").filter(|g| !g.is_empty()) else {
        return Err(Failure::bad("missing task group name for scaling action"));
    };
    let Some(count) = body.count else {
        return Err(Failure::gap("recording a scaling event without a count"));
    };
    if count < 0 {
        return Err(Failure::bad("scaling action count can't be negative"));
    }
    let done = request.server()?.scale_job(&request.job_key(), group, count).await?;
    Answer::json(&jobs::answer(done))
}

/// How the groups stand against their counts.
pub(crate) async fn scale_status(request: Request) -> Result<Answer, Failure> {
    let key = request.job_key();
    blocking::read(&request, &[Table::Jobs], |snapshot| {
        let entry = snapshot.job_entry(&key).ok_or_else(missing)?;
        let job = entry.job();
        let groups: serde_json::Map<String, serde_json::Value> = job
            .task_groups
            .iter()
            .map(|group| {
                let counts = entry.counts.get(group.name()).cloned().unwrap_or_default();
                let row = json!({
                    "Desired": group.count(), "Placed": counts.running + counts.starting,
                    "Running": counts.running, "Healthy": 0, "Unhealthy": 0, "Events": null,
                });
                (group.name().to_owned(), row)
            })
            .collect();
        let value = json!({
            "JobID": job.id(), "Namespace": job.namespace(), "JobCreateIndex": job.create_index(),
            "JobModifyIndex": job.modify_index(), "JobStopped": job.is_stopped(), "TaskGroups": groups,
        });
        Ok(Found { value, index: job.modify_index() })
    })
    .await
}

/// Parameterized jobs are not there yet.
pub(crate) async fn dispatch(_: Request) -> Result<Answer, Failure> {
    Err(Failure::gap("dispatching parameterized jobs"))
}

/// Periodic jobs are not there yet.
pub(crate) async fn periodic_force(_: Request) -> Result<Answer, Failure> {
    Err(Failure::gap("launching periodic jobs"))
}
