//! `job revert`: an earlier version becomes the newest.

use sdk::Fields;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::{lookup, monitor};

/// Go back to an earlier version of a job, given by its number or its tag.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Return once the change is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<job> <version|tag>")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let [given, wanted] = &args.words[..] else {
        return Err(Failure::usage("This command takes two arguments: <job> <version|tag>"));
    };
    let job = lookup::job(ctx, given).await?;
    let version: u64 = match wanted.parse() {
        Ok(version) => version,
        Err(_) => tagged(ctx, &job, wanted).await?,
    };
    let body = json!({"JobID": job.id, "JobVersion": version});
    let answer = ctx.client.put(&job.path("/revert"), job.query(), &body).await;
    let answer = answer.attempt("Error retrieving job versions")?.value;
    let eval = answer.text("EvalID");
    if args.detach || eval.is_empty() {
        return Ok(());
    }
    ctx.client.namespace = job.namespace;
    monitor::evaluation(ctx, eval, args.verbose).await
}

/// The version that carries a tag.
async fn tagged(ctx: &Context<'_>, job: &lookup::JobRef, tag: &str) -> Result<u64, Failure> {
    let answer = ctx.client.get(&job.path("/versions"), job.query()).await;
    let answer = answer.attempt("Error retrieving job versions")?.value;
    let found = answer.items("Versions").iter().find(|job| {
        let name = job.at("VersionTag").text("Name");
        !name.is_empty() && name == tag
    });
    found.and_then(|job| job.at("Version").as_u64()).ok_or_else(|| {
        Failure::new(format!(
            "Failed to parse job-version flag: strconv.ParseUint: parsing \"{tag}\": invalid syntax"
        ))
    })
}
