//! `namespace list`: all namespaces.

use sdk::{Fields, Query};

use crate::context::{Context, Format, no_words};
use crate::failure::{Attempt, Outcome};
use crate::output::table::Table;

/// List the namespaces.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: Format,
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let answer = ctx.client.get("/v1/namespaces", Query::new()).await;
    let answer = answer.attempt("Error retrieving namespaces")?.value;
    if ctx.formatted(&args.format, &answer)? {
        return Ok(());
    }
    let mut rows: Vec<_> = answer.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| row.text("Name"));
    let mut table = Table::new(&["Name", "Description"]);
    for row in rows {
        table.row([row.text("Name"), row.text("Description")]);
    }
    ctx.say(if table.is_empty() { "No namespaces found".to_owned() } else { table.render() });
    Ok(())
}
