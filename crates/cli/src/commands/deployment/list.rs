//! `deployment list`: all deployments of a namespace.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, no_words};
use crate::failure::{Attempt, Outcome};
use crate::output::table::Table;
use crate::output::units::id;

/// List the deployments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those for which this expression holds
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let query = Query::new().with_some("filter", args.filter.as_deref().unwrap_or_default());
    list(ctx, &args.format, args.verbose, query).await
}

/// Prints the deployments that `query` lets through.
pub(crate) async fn list(
    ctx: &mut Context<'_>,
    format: &Format,
    verbose: bool,
    query: Query,
) -> Outcome {
    let answer = ctx.client.get("/v1/deployments", query).await;
    let answer = answer.attempt("Error retrieving deployments")?.value;
    if ctx.formatted(format, &answer)? {
        return Ok(());
    }
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    ctx.say(table(rows, verbose));
    Ok(())
}

/// The table of deployments, newest first.
pub(crate) fn table(rows: &[Value], verbose: bool) -> String {
    let mut table = Table::new(&["ID", "Job ID", "Job Version", "Status", "Description"]);
    let mut sorted: Vec<&Value> = rows.iter().collect();
    sorted.sort_by_key(|row| std::cmp::Reverse(row.int("CreateIndex")));
    for row in sorted {
        table.row([
            id(row.text("ID"), verbose),
            row.text("JobID").to_owned(),
            row.int("JobVersion").to_string(),
            row.text("Status").to_owned(),
            row.text("StatusDescription").to_owned(),
        ]);
    }
    if table.is_empty() { "No deployments found".to_owned() } else { table.render() }
}
