//! `eval list`: evaluations, page by page.

use sdk::{Fields, Query};

use crate::commands::job::status::placement_failures;
use crate::context::{Context, Format, no_words};
use crate::failure::{Attempt, Outcome};
use crate::output::absent;
use crate::output::table::Table;
use crate::output::units::id;

/// List evaluations.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// So many a page
    #[arg(long, value_name = "COUNT")]
    per_page: Option<u64>,
    /// Where the page begins
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    /// Only those for which this expression holds
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Only those of this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Only those with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
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
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut query = Query::new()
        .with_some("next_token", &given(&args.page_token))
        .with_some("filter", &given(&args.filter))
        .with_some("job", &given(&args.job))
        .with_some("status", &given(&args.status));
    if let Some(count) = args.per_page {
        query = query.with("per_page", count);
    }
    let answer = ctx.client.get("/v1/evaluations", query).await;
    let answer = answer.attempt("Error querying evaluations")?;
    if ctx.formatted_as(&args.format, absent::EVALUATION, &answer.value)? {
        return Ok(());
    }
    let rows = answer.value.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        ctx.say("No evals found");
        return Ok(());
    }
    let mut table = Table::new(&[
        "ID",
        "Priority",
        "Triggered By",
        "Job ID",
        "Namespace",
        "Node ID",
        "Status",
        "Placement Failures",
    ]);
    for eval in rows {
        table.row([
            id(eval.text("ID"), args.verbose),
            eval.int("Priority").to_string(),
            eval.text("TriggeredBy").to_owned(),
            eval.text("JobID").to_owned(),
            eval.text("Namespace").to_owned(),
            id(eval.text("NodeID"), args.verbose),
            eval.text("Status").to_owned(),
            placement_failures(eval),
        ]);
    }
    ctx.say(table.render());
    if !answer.next_token.is_empty() {
        let (name, token) = (ctx.program.name(), &answer.next_token);
        ctx.say(format!(
            "\nResults have been paginated. To get the next page run:\n\n{name} eval list -page-token {token}"
        ));
    }
    Ok(())
}
