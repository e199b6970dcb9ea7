//! `alloc stop`: an allocation ends and is replaced.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Outcome};
use crate::lookup::{self, Kind};
use crate::monitor;

/// Stop an allocation; the scheduler places another in its stead.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Return once the stop is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    /// Without the delay between leaving the catalogue and the stop
    #[arg(long)]
    no_shutdown_delay: bool,
    #[arg(value_name = "ALLOCATION")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<allocation>")?;
    let row = lookup::row(ctx, Kind::Allocation, given).await?;
    let path = format!("/v1/allocation/{}/stop", row.text("ID"));
    let query = Query::new()
        .with_some("namespace", row.text("Namespace"))
        .with_flag("no_shutdown_delay", args.no_shutdown_delay);
    let answer = ctx.client.put(&path, query, &Value::Null).await;
    let answer = answer.attempt("Error stopping allocation")?.value;
    let eval = answer.text("EvalID");
    if args.detach || eval.is_empty() {
        ctx.say(eval);
        return Ok(());
    }
    monitor::evaluation(ctx, eval, args.verbose).await
}
