//! `job eval`: lets the scheduler look at a job again.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Outcome};
use crate::monitor;
use crate::output::units::id;

/// Let the scheduler look at a job again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Place failed allocations again even where the rules would wait
    #[arg(long)]
    force_reschedule: bool,
    /// Return once the evaluation exists
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let job = one_word(&args.words, "<job>")?;
    let options = json!({"ForceReschedule": args.force_reschedule});
    let body = json!({"JobID": job, "EvalOptions": options});
    let path = format!("/v1/job/{}/evaluate", sdk::segment(job));
    let answer = ctx.client.put(&path, Query::new(), &body).await;
    let answer = answer.attempt("Error evaluating job")?.value;
    let eval = answer.text("EvalID");
    if args.detach {
        ctx.say(format!("Created eval ID: \"{}\"", id(eval, args.verbose)));
        return Ok(());
    }
    monitor::evaluation(ctx, eval, args.verbose).await
}
