//! `deployment fail`: somebody has seen enough.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Outcome};
use crate::{lookup, monitor};

/// Let a deployment fail; groups with auto_revert go back to their last stable version.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Return once the change is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "DEPLOYMENT")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let deployment = lookup::deployment(ctx, one_word(&args.words, "<deployment>")?).await?;
    let id = deployment.text("ID");
    let body = json!({"DeploymentID": id});
    let path = format!("/v1/deployment/fail/{}", sdk::segment(id));
    let answer = ctx.client.put(&path, Query::new(), &body).await;
    let answer = answer.attempt("Error failing deployment")?.value;
    match answer.at("RevertedJobVersion").as_u64() {
        Some(version) => {
            ctx.say(format!("Deployment \"{id}\" failed. Auto-reverted to job version {version}."));
        }
        None => ctx.say(format!("Deployment \"{id}\" failed")),
    }
    let eval = answer.text("EvalID");
    if args.detach || eval.is_empty() {
        return Ok(());
    }
    ctx.say("");
    monitor::evaluation(ctx, eval, args.verbose).await
}
