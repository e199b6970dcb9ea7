//! `job plan`: what running a job file would change, without changing it.

use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, FAILED, Failure, Outcome, PLAN_FAILED};
use crate::jobfile::{self, FileFlags};
use crate::output::color::Tone;
use crate::output::table::Table;
use crate::output::units::id;
use crate::output::when;
use crate::{plandiff, show};

/// Counts of a group's annotations that mean an allocation begins or ends.
const CHANGES: [&str; 5] = ["Place", "Stop", "Migrate", "DestructiveUpdate", "Canary"];

/// Ask the scheduler what running a job file would change, and change nothing.
///
/// The exit code is 0 when no allocation would begin or end, 1 when one would, 255 on failure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whether to show what differs from the job that runs; true unless given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    diff: bool,
    /// Go past policies that may be gone past
    #[arg(long)]
    policy_override: bool,
    /// The Vault namespace of the job
    #[arg(long, value_name = "NAMESPACE")]
    vault_namespace: Option<String>,
    /// Show the fields of what is new or goes away, too
    #[arg(long)]
    verbose: bool,
    /// Print the answer as JSON
    #[arg(long)]
    json_output: bool,
    /// Print the answer through a Go template
    #[arg(long = "t", value_name = "TEMPLATE")]
    template: Option<String>,
    #[command(flatten)]
    file: FileFlags,
    #[arg(value_name = "PATH")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    match plan(ctx, &args).await {
        Ok(true) => Err(Failure::silent(FAILED)),
        Ok(false) => Ok(()),
        Err(failure) => Err(failure.with_code(PLAN_FAILED)),
    }
}

/// Prints the plan; true when it would begin or end an allocation.
async fn plan(ctx: &mut Context<'_>, args: &Args) -> Result<bool, Failure> {
    let path = one_word(&args.words, "<path>")?;
    let mut job = jobfile::read(ctx, path, &args.file).await?.job;
    if let Some(namespace) = &args.vault_namespace {
        job["VaultNamespace"] = namespace.as_str().into();
    }
    super::run::in_namespace_of(ctx, &job);
    let body = json!({"Job": job, "Diff": args.diff, "PolicyOverride": args.policy_override});
    let target = format!("/v1/job/{}/plan", sdk::segment(job.text("ID")));
    let answer = ctx.client.put(&target, Query::new(), &body).await;
    let plan = answer.attempt("Error during plan")?.value;
    let format = Format { json: args.json_output, template: args.template.clone() };
    if !ctx.formatted(&format, &plan)? {
        let text = report(ctx, &plan, args);
        ctx.say(text);
        let index = plan.int("JobModifyIndex");
        let flags = given_flags(&args.file);
        ctx.say(format!(
            "{}\nTo submit the job with version verification run:\n\n{} job run -check-index {index} {flags}{path}\n",
            ctx.palette().bold(&format!("Job Modify Index: {index}")),
            ctx.program.name(),
        ));
        ctx.say(
            "When running the job with the check-index flag, the job will only be run if the\n\
             job modify index given matches the server-side version. If the index has\n\
             changed, another user has modified the job and the plan's results are\n\
             potentially invalid.",
        );
    }
    Ok(changes_something(&plan))
}

/// The flags that would make the same job of the file again.
fn given_flags(flags: &FileFlags) -> String {
    let mut text = String::new();
    if flags.json {
        text.push_str("-json ");
    }
    for pair in &flags.var {
        text.push_str(&format!("-var={pair:?} "));
    }
    for file in &flags.var_file {
        text.push_str(&format!("-var-file={file:?} "));
    }
    text
}

fn changes_something(plan: &Value) -> bool {
    let groups = plan.at("Annotations").entries("DesiredTGUpdates");
    groups.iter().any(|(_, counts)| CHANGES.iter().any(|key| counts.int(key) > 0))
}

/// Everything between the command and the hint at its end.
fn report(ctx: &Context<'_>, plan: &Value, args: &Args) -> String {
    let palette = ctx.palette();
    let mut text = String::new();
    if args.diff && plan.at("Diff").is_object() {
        text.push_str(&plandiff::job(plan.at("Diff"), args.verbose, palette));
        text.push_str("\n\n");
    }
    text.push_str(&palette.bold("Scheduler dry-run:"));
    let failed = plan.entries("FailedTGAllocs");
    if failed.is_empty() {
        let line = palette.paint(Tone::Green, "- All tasks successfully allocated.");
        text.push_str(&format!("\n{line}"));
    } else {
        let line = palette.paint(Tone::Yellow, "- WARNING: Failed to place all allocations.");
        text.push_str(&format!("\n{line}\n{}", show::placement::failures(&failed, 2).join("\n")));
    }
    for eval in plan.items("CreatedEvals") {
        if eval.text("TriggeredBy") == "rolling-update" && eval.int("Wait") > 0 {
            let wait = when::duration(eval.int("Wait"));
            text.push_str(&format!("\n- Rolling update, next evaluation will be in {wait}."));
        }
    }
    let launch = when::parse(plan.text("NextPeriodicLaunch"));
    if launch > 0 {
        let (at, from_now) = (when::at(launch), when::ago(launch, when::now()));
        text.push_str(&format!(
            "\n- If submitted now, next periodic launch would be at {at} ({from_now})."
        ));
    }
    text.push('\n');
    if let Some(table) = preemptions(plan, args.verbose) {
        text.push_str(&format!("\n{}\n{table}\n", palette.bold("Preemptions:")));
    }
    let warnings = plan.text("Warnings");
    if !warnings.is_empty() {
        let title = palette.paint(Tone::Yellow, "Job Warnings:");
        text.push_str(&format!("\n{title}\n{}\n", warnings.trim_end()));
    }
    text
}

fn preemptions(plan: &Value, verbose: bool) -> Option<String> {
    let mut table = Table::new(&["Alloc ID", "Job ID", "Task Group"]);
    for alloc in plan.at("Annotations").items("PreemptedAllocs") {
        let short = id(alloc.text("ID"), verbose);
        table.row([short.as_str(), alloc.text("JobID"), alloc.text("TaskGroup")]);
    }
    (!table.is_empty()).then(|| table.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allocations_that_begin_or_end_count_as_a_change() {
        let plan = |key: &str| json!({"Annotations": {"DesiredTGUpdates": {"g": {key: 1}}}});
        assert!(!changes_something(&plan("Ignore")) && !changes_something(&plan("InPlaceUpdate")));
        assert!(CHANGES.iter().all(|key| changes_something(&plan(key))));
        assert!(!changes_something(&json!({"Annotations": null})));
    }
}
