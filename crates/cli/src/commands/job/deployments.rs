//! `job deployments`: how the versions of a job were rolled out.

use sdk::Fields;

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Outcome};
use crate::{commands, lookup, show};

/// List the deployments of a job, or show the latest.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the latest, with its groups
    #[arg(long)]
    latest: bool,
    /// Those of earlier jobs of this name, too
    #[arg(long)]
    all: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let job = lookup::job(ctx, one_word(&args.words, "<job>")?).await?;
    let (path, query) = match args.latest {
        true => ("/deployment", job.query()),
        false => ("/deployments", job.query().with("all", args.all)),
    };
    let answer = ctx.client.get(&job.path(path), query).await;
    let answer = answer.attempt("Error retrieving deployments")?.value;
    if ctx.formatted(&args.format, &answer)? {
        return Ok(());
    }
    if args.latest {
        if answer.text("ID").is_empty() {
            ctx.say("No deployment found");
        } else {
            let text = show::deployment::details(&answer, args.verbose, ctx.palette());
            ctx.say(text);
        }
        return Ok(());
    }
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    ctx.say(commands::deployment::list::table(rows, args.verbose));
    Ok(())
}
