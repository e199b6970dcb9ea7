//! `deployment pause`: nothing more is replaced until it is resumed.

use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::{lookup, show};

/// Halt a deployment: nothing more is replaced until it is resumed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the deployment afterwards
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "DEPLOYMENT")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (id, _) = set(ctx, one_word(&args.words, "<deployment>")?, true).await?;
    ctx.say(format!("Deployment \"{id}\" paused"));
    if args.verbose {
        let deployment = lookup::deployment(ctx, &id).await?;
        let text = show::deployment::details(&deployment, true, ctx.palette());
        ctx.say(format!("\n{text}"));
    }
    Ok(())
}

/// Halts a deployment or lets it go on; returns its id and the answer.
pub(crate) async fn set(
    ctx: &Context<'_>,
    given: &str,
    pause: bool,
) -> Result<(String, Value), Failure> {
    let deployment = lookup::deployment(ctx, given).await?;
    let id = deployment.text("ID").to_owned();
    let body = json!({"DeploymentID": id, "Pause": pause});
    let path = format!("/v1/deployment/pause/{}", sdk::segment(&id));
    let what = if pause { "Error pausing deployment" } else { "Error resuming deployment" };
    let answer = ctx.client.put(&path, Query::new(), &body).await.attempt(what)?;
    Ok((id, answer.value))
}
