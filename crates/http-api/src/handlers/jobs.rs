//! `/v1/jobs`: list, register, parse, validate.

use model::api::{JobRegisterRequest, JobRegisterResponse, JobStub};
use model::ids::JobKey;
use serde::Deserialize;
use server::{RegisterRequest, Registered};
use server::{Snapshot, Table};

use crate::answer::Answer;
use crate::error::Failure;
use crate::page;
use crate::request::{Query, Request};

const TABLES: &[Table] = &[Table::Jobs];

/// The list of jobs.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let with_meta = request.query.flag("meta")?;
    page::list(&request, TABLES, |snapshot| Ok(rows(snapshot, &request.query, with_meta))).await
}

fn rows(snapshot: &Snapshot, query: &Query, with_meta: bool) -> Vec<(String, JobStub)> {
    let prefix = query.text("prefix").unwrap_or_default();
    let wanted = |key: &JobKey| query.wants_namespace(&key.namespace) && key.id.starts_with(prefix);
    let row = |key: &JobKey| {
        let mut stub = snapshot.job_stub(key)?;
        if with_meta {
            stub.meta = snapshot.job(key)?.meta.clone();
        }
        Some((format!("{}.{}", key.namespace, key.id), stub))
    };
    snapshot.jobs().filter(|(key, _)| wanted(key)).filter_map(|(key, _)| row(key)).collect()
}

/// Registers a job.
pub(crate) async fn register(request: Request) -> Result<Answer, Failure> {
    let body: JobRegisterRequest = request.body_or_default()?;
    submit(&request, body).await
}

/// Registers the job of a body; the namespace and region of the query fill in what it leaves out.
pub(crate) async fn submit(request: &Request, body: JobRegisterRequest) -> Result<Answer, Failure> {
    let Some(mut job) = body.job else { return Err(Failure::bad("Job must be specified")) };
    if job.id.is_none() {
        return Err(Failure::bad("Job ID hasn't been provided"));
    }
    if job.namespace.as_deref().unwrap_or_default().is_empty() {
        job.namespace = Some(request.query.namespace().to_owned());
    }
    let registered = request
        .server()?
        .register_job(RegisterRequest {
            job,
            submission: body.submission,
            enforce_index: body.enforce_index.then_some(body.job_modify_index),
            preserve_counts: body.preserve_counts,
            preserve_resources: body.preserve_resources,
            eval_priority: body.eval_priority,
        })
        .await?;
    Answer::json(&answer(registered))
}

/// The answer of anything that registers a job.
pub(crate) fn answer(registered: Registered) -> JobRegisterResponse {
    JobRegisterResponse {
        eval_id: registered.eval_id,
        eval_create_index: registered.eval_create_index,
        job_modify_index: registered.job_modify_index,
        warnings: registered.warnings,
        index: registered.index,
        ..JobRegisterResponse::default()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ParseRequest {
    #[serde(rename = "JobHCL")]
    job_hcl: String,
    #[serde(rename = "Variables")]
    variables: String,
    #[serde(rename = "Canonicalize", alias = "canonicalize")]
    canonicalize: bool,
    #[serde(rename = "HCLv1", alias = "hclv1")]
    hclv1: bool,
}

/// Turns a job file into JSON. Open to anybody: file functions are off and everything is bounded.
pub(crate) async fn parse(request: Request) -> Result<Answer, Failure> {
    let body: ParseRequest = request.body_or_default()?;
    if body.job_hcl.is_empty() {
        return Err(Failure::bad("Job spec is empty"));
    }
    if body.hclv1 {
        return Err(Failure::bad("HCLv1 job files are not supported; write the job in HCL2"));
    }
    // Parsing is bounded but may take a while; it must not hold up other requests.
    let parsed = tokio::task::spawn_blocking(move || {
        let mut job = server::parse_job_source(&body.job_hcl, &body.variables)?;
        if body.canonicalize {
            model::canonical::canonicalize(&mut job);
        }
        Ok::<_, Vec<String>>(job)
    });
    match parsed.await {
        Ok(Ok(job)) => Answer::json(&job),
        Ok(Err(problems)) => Err(Failure::bad(problems.join("\n"))),
        Err(_) => Err(Failure::internal("parsing the job failed unexpectedly")),
    }
}

/// Checks a job without registering it.
pub(crate) async fn validate(request: Request) -> Result<Answer, Failure> {
    let body: JobRegisterRequest = request.body()?;
    let Some(mut job) = body.job else { return Err(Failure::bad("Job must be specified")) };
    if job.namespace.as_deref().unwrap_or_default().is_empty() {
        job.namespace = Some(request.query.namespace().to_owned());
    }
    Answer::json(&request.server()?.validate_job(job))
}
