//! `deployment promote`: the canaries become the job's allocations.

use sdk::Fields;

use crate::commands::job::promote::promote;
use crate::context::{Context, one_word};
use crate::failure::Outcome;
use crate::lookup;

/// Promote the canaries of a deployment: of all groups, or of those named.
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
    #[arg(value_name = "DEPLOYMENT")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let deployment = lookup::deployment(ctx, one_word(&args.words, "<deployment>")?).await?;
    promote(ctx, deployment.text("ID"), &args.group, args.detach, args.verbose).await
}
