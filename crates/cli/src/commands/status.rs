//! `status`: finds what an id belongs to and shows it as its own command would.

use sdk::{Fields, Query};
use serde_json::json;

use crate::commands::{alloc, deployment, eval, job, namespace, node};
use crate::context::{Context, maybe_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::table::Table;

/// Show a job, allocation, evaluation, deployment, node or namespace by the beginning of its id;
/// without one, list the jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whole ids and exact times
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "ID")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let Some(given) = maybe_word(&args.words, "<identifier>")? else {
        return job::status::list(ctx, &Default::default()).await;
    };
    let body = json!({"Prefix": given, "Context": "all"});
    let answer = ctx.client.put("/v1/search", Query::new(), &body).await;
    let answer = answer.attempt("Error querying search with id")?.value;
    let mut found: Vec<(String, String)> = Vec::new();
    for (context, ids) in answer.entries("Matches") {
        let ids = ids.as_array().into_iter().flatten().filter_map(|id| id.as_str());
        found.extend(ids.map(|id| (context.to_owned(), id.to_owned())));
    }
    // A whole id means that thing, whatever else begins with it.
    if let Some(exact) = found.iter().find(|(_, id)| id == given).cloned() {
        found = vec![exact];
    }
    match &found[..] {
        [] => Err(Failure::new(format!("Unable to resolve ID: \"{given}\""))),
        [(context, id)] => show(ctx, context, id, args.verbose).await,
        _ => {
            let mut table = Table::new(&["Kind", "ID"]);
            for (context, id) in &found {
                table.row([context, id]);
            }
            ctx.complain(format!("Multiple matches found for id \"{given}\"\n"));
            Err(Failure::new(table.render()))
        }
    }
}

async fn show(ctx: &mut Context<'_>, context: &str, id: &str, verbose: bool) -> Outcome {
    match context {
        "jobs" => job::status::run(ctx, job::status::Args::of(id, verbose)).await,
        "allocs" => alloc::status::run(ctx, alloc::status::Args::of(id, verbose)).await,
        "evals" => eval::status::run(ctx, eval::status::Args::of(id, verbose)).await,
        "nodes" => node::status::run(ctx, node::status::Args::of(id, verbose)).await,
        "deployment" => {
            deployment::status::run(ctx, deployment::status::Args::of(id, verbose)).await
        }
        "namespaces" => namespace::status::run(ctx, namespace::status::Args::of(id)).await,
        other => Err(Failure::new(format!(
            "\"{id}\" is one of {other}, which cannot be shown yet (docs/gaps.md)"
        ))),
    }
}
