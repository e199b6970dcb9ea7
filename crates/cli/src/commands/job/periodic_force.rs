//! `job periodic force`: a periodic job starts now, whatever its calendar says.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::monitor;

/// Launch a periodic job now, whatever its calendar says.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Return once the launch is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<job>")?;
    let jobs = ctx.client.get("/v1/jobs", Query::new().with("prefix", given)).await;
    let jobs = jobs.attempt("Error forcing periodic job")?.value;
    let rows = jobs.as_array().map(Vec::as_slice).unwrap_or_default();
    let periodic: Vec<&Value> = rows.iter().filter(|job| job.flag("Periodic")).collect();
    let exact = periodic.iter().find(|job| job.text("ID") == given);
    let job = match (exact, &periodic[..]) {
        (Some(job), _) | (None, [job]) => *job,
        (None, []) => {
            let text = format!("No periodic job(s) with prefix or id \"{given}\" found");
            return Err(Failure::new(text));
        }
        (None, several) => {
            let ids: Vec<&str> = several.iter().map(|job| job.text("ID")).collect();
            let ids = ids.join("\n");
            return Err(Failure::new(format!("Prefix matched multiple periodic jobs\n\n{ids}")));
        }
    };
    let path = format!("/v1/job/{}/periodic/force", sdk::segment(job.text("ID")));
    let answer = ctx.client.put(&path, Query::new(), &Value::Null).await;
    let answer = answer.attempt("Error forcing periodic job")?.value;
    let eval = answer.text("EvalID");
    if args.detach {
        ctx.say("Force periodic successful");
        ctx.say(format!("Evaluation ID: {eval}"));
        return Ok(());
    }
    monitor::evaluation(ctx, eval, args.verbose).await
}
