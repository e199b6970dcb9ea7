//! `job stop`: stops jobs, one after the other.

use sdk::Fields;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::{lookup, monitor};

/// Stop one or more jobs and follow what comes of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Return once the stop is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    /// In all regions of a job that has several
    #[arg(long)]
    global: bool,
    /// Without the delay between leaving the catalogue and the stop
    #[arg(long)]
    no_shutdown_delay: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Forget the job, too
    #[arg(long)]
    purge: bool,
    /// The priority of the evaluation, instead of the job's
    #[arg(long, value_name = "PRIORITY")]
    eval_priority: Option<u16>,
    #[arg(value_name = "JOB...")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    if args.words.is_empty() {
        return Err(Failure::usage("This command takes at least one argument: <job>"));
    }
    let mut last = Ok(());
    for given in &args.words {
        let ended = stop(ctx, &args, given).await;
        match ended {
            Err(failure) if args.words.len() > 1 => {
                // One job that cannot be stopped is no reason to leave the others running.
                if !failure.text.is_empty() {
                    ctx.complain(&failure.text);
                }
                last = Err(Failure::silent(failure.code));
            }
            Err(failure) => return Err(failure),
            Ok(()) => {}
        }
    }
    last
}

async fn stop(ctx: &mut Context<'_>, args: &Args, given: &str) -> Outcome {
    let job = lookup::job(ctx, given).await?;
    if !job.exact && !args.yes {
        let question = format!("Are you sure you want to stop job \"{}\"?", job.id);
        if !ctx.terminal.confirm(&question).await? {
            ctx.say("Cancelling job stop");
            return Ok(());
        }
    }
    let mut query = job
        .query()
        .with_flag("purge", args.purge)
        .with_flag("global", args.global)
        .with_flag("no_shutdown_delay", args.no_shutdown_delay);
    if let Some(priority) = args.eval_priority {
        query = query.with("eval_priority", priority);
    }
    let answer = ctx.client.delete(&job.path(""), query).await;
    let answer = answer.attempt("Error deregistering job")?.value;
    let eval = answer.text("EvalID");
    if eval.is_empty() {
        return Ok(());
    }
    if args.detach {
        ctx.say(eval);
        return Ok(());
    }
    ctx.client.namespace = job.namespace;
    monitor::evaluation(ctx, eval, args.verbose).await
}
