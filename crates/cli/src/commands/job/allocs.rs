//! `job allocs`: where a job runs and ran.

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Outcome};
use crate::{lookup, show};

/// List the allocations of a job.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those of earlier jobs of this name, too
    #[arg(long)]
    all: bool,
    /// Whole ids and exact times
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let job = lookup::job(ctx, one_word(&args.words, "<job>")?).await?;
    let query = job.query().with("all", args.all);
    let answer = ctx.client.get(&job.path("/allocations"), query).await;
    let answer = answer.attempt("Error retrieving allocations")?.value;
    if ctx.formatted(&args.format, &answer)? {
        return Ok(());
    }
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    ctx.say(show::allocations::table(rows, args.verbose));
    Ok(())
}
