//! `eval status`: an evaluation, and what came of it.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Outcome};
use crate::lookup::{self, Kind};
use crate::output::absent;
use crate::output::table::{Pairs, Table};
use crate::output::units::id;
use crate::output::when;
use crate::{commands::job::status::placement_failures, monitor, show};

/// Show an evaluation and what came of it, or with -monitor follow it to its end.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow it to its end
    #[arg(long)]
    monitor: bool,
    /// Whole ids and exact times
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "EVALUATION")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(id: &str, verbose: bool) -> Self {
        let format = Format::default();
        Self { monitor: false, verbose, format, words: vec![id.to_owned()] }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<evaluation>")?;
    let row = lookup::row(ctx, Kind::Evaluation, given).await?;
    if args.monitor {
        return monitor::evaluation(ctx, row.text("ID"), args.verbose).await;
    }
    let path = format!("/v1/evaluation/{}", row.text("ID"));
    let query = || Query::new().with_some("namespace", row.text("Namespace"));
    let eval = ctx.client.get(&path, query().with("related", true)).await;
    let eval = eval.attempt("Error querying evaluation")?.value;
    if ctx.formatted_as(&args.format, absent::EVALUATION, &eval)? {
        return Ok(());
    }
    ctx.say(basics(&eval, args.verbose));
    if let Some(table) = related(&eval, args.verbose) {
        ctx.title("Related Evaluations");
        ctx.say(table);
    }
    let placed = ctx.client.get(&format!("{path}/allocations"), query()).await;
    let placed = placed.attempt("Error querying allocations")?.value;
    let placed = placed.as_array().map(Vec::as_slice).unwrap_or_default();
    if !placed.is_empty() {
        ctx.title("Placed Allocations");
        ctx.say(show::allocations::table(placed, args.verbose));
    }
    failures(ctx, &eval, args.verbose);
    Ok(())
}

fn basics(eval: &Value, verbose: bool) -> String {
    let time = |key: &str| when::ago_or_at(eval.int(key), verbose);
    let status = eval.text("Status");
    let description = eval.text("StatusDescription");
    let mut pairs = Pairs::new();
    pairs
        .add("ID", id(eval.text("ID"), verbose))
        .add("Create Time", time("CreateTime"))
        .add("Modify Time", time("ModifyTime"))
        .add("Status", status)
        .add("Status Description", if description.is_empty() { status } else { description })
        .add("Type", eval.text("Type"))
        .add("TriggeredBy", eval.text("TriggeredBy"));
    match eval.text("NodeID") {
        "" => pairs.add("Job ID", eval.text("JobID")),
        node => pairs.add("Node ID", id(node, verbose)).add("Job ID", eval.text("JobID")),
    };
    pairs
        .add("Namespace", eval.text("Namespace"))
        .add("Priority", eval.int("Priority"))
        .add("Placement Failures", placement_failures(eval));
    let until = when::parse(eval.text("WaitUntil"));
    if until > 0 {
        pairs.add("Wait Until", when::at(until));
    }
    pairs
        .add("Previous Eval", id(eval.text("PreviousEval"), verbose))
        .add("Next Eval", id(eval.text("NextEval"), verbose))
        .add("Blocked Eval", id(eval.text("BlockedEval"), verbose));
    pairs.render()
}

fn related(eval: &Value, verbose: bool) -> Option<String> {
    let headings = ["ID", "Priority", "Triggered By", "Node ID", "Status", "Description"];
    let mut table = Table::new(&headings);
    for other in eval.items("RelatedEvals") {
        table.row([
            id(other.text("ID"), verbose),
            other.int("Priority").to_string(),
            other.text("TriggeredBy").to_owned(),
            id(other.text("NodeID"), verbose),
            other.text("Status").to_owned(),
            other.text("StatusDescription").to_owned(),
        ]);
    }
    (!table.is_empty()).then(|| table.render())
}

fn failures(ctx: &mut Context<'_>, eval: &Value, verbose: bool) {
    let failed = eval.entries("FailedTGAllocs");
    if failed.is_empty() {
        return;
    }
    ctx.title("Failed Placements");
    ctx.say(show::placement::failures(&failed, 0).join("\n"));
    if let ("complete", blocked) = (eval.text("Status"), eval.text("BlockedEval"))
        && !blocked.is_empty()
    {
        let blocked = id(blocked, verbose);
        ctx.say(format!(
            "\nEvaluation \"{blocked}\" waiting for additional capacity to place remainder"
        ));
    }
}
