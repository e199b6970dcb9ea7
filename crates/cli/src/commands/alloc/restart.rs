//! `alloc restart`: tasks begin anew where they are.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::lookup;

/// Restart the running tasks of an allocation, or one of them, or with -all-tasks all there are.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those that are done, too
    #[arg(long)]
    all_tasks: bool,
    /// Only this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Say what was restarted
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<allocation> [<task>]")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (given, word) = super::alloc_and_task(&args.words)?;
    let task = args.task.as_deref().or(word);
    if args.all_tasks && task.is_some() {
        return Err(Failure::usage("-all-tasks cannot be used together with a task"));
    }
    let alloc = lookup::allocation(ctx, given).await?;
    if let Some(task) = task {
        lookup::known_task(&alloc, task)?;
    }
    let body = json!({"TaskName": task.unwrap_or_default(), "AllTasks": args.all_tasks});
    let path = format!("/v1/client/allocation/{}/restart", alloc.text("ID"));
    let query = Query::new().with_some("namespace", alloc.text("Namespace"));
    let answer = ctx.client.put(&path, query, &body).await;
    answer.map_err(|error| Failure::new(format!("Failed to restart allocation:\n\n{error}")))?;
    if args.verbose {
        let what = task.map_or("tasks".to_owned(), |task| format!("task \"{task}\""));
        ctx.say(format!("Restarted {what} of allocation {}", alloc.text("ID")));
    }
    Ok(())
}
