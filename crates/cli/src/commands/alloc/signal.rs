//! `alloc signal`: a signal for tasks.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Attempt, Outcome};
use crate::lookup;

/// Sent unless another is named.
const DEFAULT_SIGNAL: &str = "SIGKILL";

/// Send a signal to the tasks of an allocation, or to one of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The signal; SIGKILL unless given
    #[arg(long, value_name = "SIGNAL")]
    s: Option<String>,
    /// Only this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Say what was signalled
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<allocation> [<task>]")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (given, word) = super::alloc_and_task(&args.words)?;
    let task = args.task.as_deref().or(word);
    let signal = args.s.as_deref().unwrap_or(DEFAULT_SIGNAL);
    let alloc = lookup::allocation(ctx, given).await?;
    if let Some(task) = task {
        lookup::known_task(&alloc, task)?;
    }
    let body = json!({"Signal": signal, "Task": task.unwrap_or_default()});
    let path = format!("/v1/client/allocation/{}/signal", alloc.text("ID"));
    let query = Query::new().with_some("namespace", alloc.text("Namespace"));
    ctx.client.put(&path, query, &body).await.attempt("Error signalling allocation")?;
    if args.verbose {
        let what = task.map_or("tasks".to_owned(), |task| format!("task \"{task}\""));
        ctx.say(format!("Sent {signal} to {what} of allocation {}", alloc.text("ID")));
    }
    Ok(())
}
