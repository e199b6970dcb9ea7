//! `job promote`: the canaries of a job's latest deployment become its allocations.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::{lookup, monitor};

/// Promote the canaries of a job's latest deployment: of all groups, or of those named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this group; may be repeated
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Return once the change is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let job = lookup::job(ctx, one_word(&args.words, "<job>")?).await?;
    let answer = ctx.client.get(&job.path("/deployment"), job.query()).await;
    let deployment = answer.attempt("Error retrieving deployments")?.value;
    let id = deployment.text("ID");
    if id.is_empty() {
        let job = &job.id;
        return Err(Failure::new(format!("Job \"{job}\" has no deployment to promote")));
    }
    ctx.client.namespace = job.namespace.clone();
    promote(ctx, id, &args.group, args.detach, args.verbose).await
}

/// Promotes and follows what comes of it.
pub(crate) async fn promote(
    ctx: &mut Context<'_>,
    deployment: &str,
    groups: &[String],
    detach: bool,
    verbose: bool,
) -> Outcome {
    let body = match groups {
        [] => json!({"DeploymentID": deployment, "All": true}),
        groups => json!({"DeploymentID": deployment, "Groups": groups}),
    };
    let path = format!("/v1/deployment/promote/{}", sdk::segment(deployment));
    let answer = ctx.client.put(&path, Query::new(), &body).await;
    let answer = answer.attempt("Error promoting deployment")?.value;
    let eval = answer.text("EvalID");
    if detach || eval.is_empty() {
        return Ok(());
    }
    monitor::evaluation(ctx, eval, verbose).await
}
