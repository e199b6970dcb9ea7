//! `deployment resume`: a halted deployment goes on.

use sdk::Fields;

use crate::context::{Context, one_word};
use crate::failure::Outcome;
use crate::monitor;

/// Go on with a halted deployment.
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
    let given = one_word(&args.words, "<deployment>")?;
    let (id, answer) = super::pause::set(ctx, given, false).await?;
    ctx.say(format!("Deployment \"{id}\" resumed"));
    let eval = answer.text("EvalID");
    if args.detach || eval.is_empty() {
        return Ok(());
    }
    ctx.say("");
    monitor::evaluation(ctx, eval, args.verbose).await
}
