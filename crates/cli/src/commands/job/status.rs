//! `job status`: all jobs, or one with its groups, deployment and allocations.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, maybe_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::lookup::{self, JobRef};
use crate::output::table::{Pairs, Table};
use crate::output::units::id;
use crate::output::when;
use crate::show;

/// List jobs, or show one with its groups, deployment and allocations.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the job itself
    #[arg(long)]
    short: bool,
    /// The evaluations, too
    #[arg(long)]
    evals: bool,
    /// Allocations of earlier jobs of this name, too
    #[arg(long)]
    all_allocs: bool,
    /// Whole ids and exact times
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(id: &str, verbose: bool) -> Self {
        let format = Format::default();
        let words = vec![id.to_owned()];
        Self { short: false, evals: false, all_allocs: false, verbose, format, words }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let Some(given) = maybe_word(&args.words, "<job>")? else {
        return list(ctx, &args.format).await;
    };
    let found = lookup::job(ctx, given).await?;
    let job = ctx.client.get(&found.path(""), found.query()).await;
    let job = job.attempt("Error querying job")?.value;
    if args.format.is_given() {
        return formatted(ctx, &args, &found, job).await;
    }
    let text = basics(ctx, &found, &job).await?;
    ctx.say(text);
    if args.short {
        return Ok(());
    }
    if !job.is_empty_at("Periodic") {
        return children(ctx, &found, Family::PERIODIC).await;
    }
    if !job.is_empty_at("ParameterizedJob") && !job.flag("Dispatched") {
        parameters(ctx, &job);
        return children(ctx, &found, Family::PARAMETERIZED).await;
    }
    details(ctx, &args, &found, &job).await
}

/// All jobs.
pub(crate) async fn list(ctx: &mut Context<'_>, format: &Format) -> Outcome {
    let jobs = ctx.client.get("/v1/jobs", Query::new()).await;
    let jobs = jobs.attempt("Error querying jobs")?.value;
    if ctx.formatted(format, &jobs)? {
        return Ok(());
    }
    let rows = jobs.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        ctx.say("No running jobs");
        return Ok(());
    }
    let namespaces = ctx.client.namespace == "*";
    let mut headings = vec!["ID"];
    headings.extend(namespaces.then_some("Namespace"));
    headings.extend(["Type", "Priority", "Status", "Submit Date"]);
    let mut table = Table::new(&headings);
    for job in rows {
        let mut row = vec![job.text("ID").to_owned()];
        if namespaces {
            let own = [job.text("Namespace"), job.at("JobSummary").text("Namespace")];
            row.push(own.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned());
        }
        row.extend([
            kind(job),
            job.int("Priority").to_string(),
            status(job),
            when::at(job.int("SubmitTime")),
        ]);
        table.row(row);
    }
    ctx.say(table.render());
    Ok(())
}

fn kind(job: &Value) -> String {
    let kind = job.text("Type");
    if job.flag("Periodic") {
        format!("{kind}/periodic")
    } else if job.flag("ParameterizedJob") {
        format!("{kind}/parameterized")
    } else {
        kind.to_owned()
    }
}

/// A dead job says whether somebody stopped it.
fn status(job: &Value) -> String {
    let stopped = if job.flag("Stop") { " (stopped)" } else { "" };
    format!("{}{stopped}", job.text("Status"))
}

/// The job with all that belongs to it as one JSON value.
async fn formatted(ctx: &mut Context<'_>, args: &Args, found: &JobRef, job: Value) -> Outcome {
    let mut value = job;
    let parts = [
        ("JobSummary", "/summary", "Error querying job summary"),
        ("Evaluations", "/evaluations", "Error querying job evaluations"),
        ("Allocations", "/allocations", "Error querying job allocations"),
        ("LatestDeployment", "/deployment", "Error querying latest job deployment"),
    ];
    for (key, path, what) in parts {
        value[key] = ctx.client.get(&found.path(path), found.query()).await.attempt(what)?.value;
    }
    let value = Value::Array(vec![value]);
    ctx.formatted(&args.format, &value)?;
    Ok(())
}

async fn basics(ctx: &Context<'_>, found: &JobRef, job: &Value) -> Result<String, Failure> {
    let periodic = !job.is_empty_at("Periodic");
    let mut pairs = Pairs::new();
    pairs
        .add("ID", job.text("ID"))
        .add("Name", job.text("Name"))
        .add("Submit Date", when::at(job.int("SubmitTime")))
        .add("Type", job.text("Type"))
        .add("Priority", job.int("Priority"))
        .add("Datacenters", job.texts("Datacenters").join(","))
        .add("Namespace", job.text("Namespace"))
        .add("Status", status(job))
        .add("Periodic", periodic)
        .add("Parameterized", !job.is_empty_at("ParameterizedJob"));
    if periodic && !job.flag("Stop") {
        let launch = next_launch(ctx, found, job).await?;
        pairs.add("Next Periodic Launch", launch);
    }
    Ok(pairs.render())
}

/// The agent's plan of the job as it is says when it starts next.
async fn next_launch(ctx: &Context<'_>, found: &JobRef, job: &Value) -> Result<String, Failure> {
    if !job.at("Periodic").flag("Enabled") {
        return Ok("none (not enabled)".to_owned());
    }
    let body = serde_json::json!({"Job": job, "Diff": false});
    let plan = ctx.client.put(&found.path("/plan"), found.query(), &body).await;
    // Reading a job must not need the right to submit it.
    let launch = plan.map(|plan| when::parse(plan.value.text("NextPeriodicLaunch"))).unwrap_or(0);
    Ok(match launch {
        0 => "none".to_owned(),
        launch => format!("{} ({})", when::at(launch), when::ago(launch, when::now())),
    })
}

fn parameters(ctx: &mut Context<'_>, job: &Value) {
    let parameterized = job.at("ParameterizedJob");
    let mut pairs = Pairs::new();
    pairs
        .add("Payload", parameterized.text("Payload"))
        .add("Required Metadata", parameterized.texts("MetaRequired").join(", "))
        .add("Optional Metadata", parameterized.texts("MetaOptional").join(", "));
    ctx.title("Parameterized Job");
    ctx.say(pairs.render());
}

/// How the children of a job are called.
struct Family {
    summary: &'static str,
    title: &'static str,
    none: &'static str,
    infix: &'static str,
}

impl Family {
    const PERIODIC: Self = Self {
        summary: "Children Job Summary",
        title: "Previously Launched Jobs",
        none: "No instances of periodic job found",
        infix: "/periodic-",
    };
    const PARAMETERIZED: Self = Self {
        summary: "Parameterized Job Summary",
        title: "Dispatched Jobs",
        none: "No dispatched instances of parameterized job found",
        infix: "/dispatch-",
    };
}

async fn children(ctx: &mut Context<'_>, found: &JobRef, family: Family) -> Outcome {
    let summary = ctx.client.get(&found.path("/summary"), found.query()).await;
    let summary = summary.attempt("Error querying job summary")?.value;
    let counts = summary.at("Children");
    let mut table = Table::new(&["Pending", "Running", "Dead"]);
    table.row(["Pending", "Running", "Dead"].map(|key| counts.int(key).to_string()));
    ctx.title(family.summary);
    ctx.say(table.render());
    let prefix = format!("{}{}", found.id, family.infix);
    let jobs = ctx.client.get("/v1/jobs", found.query().with("prefix", prefix)).await;
    let jobs = jobs.attempt("Error querying jobs")?.value;
    let rows = jobs.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut table = Table::new(&["ID", "Status"]);
    for child in rows.iter().filter(|child| child.text("ParentID") == found.id) {
        table.row([child.text("ID").to_owned(), status(child)]);
    }
    if table.is_empty() {
        ctx.say(format!("\n{}", family.none));
    } else {
        ctx.title(family.title);
        ctx.say(table.render());
    }
    Ok(())
}

async fn details(ctx: &mut Context<'_>, args: &Args, found: &JobRef, job: &Value) -> Outcome {
    let get = async |path: &str, query: Query, what: &str| {
        ctx.client.get(&found.path(path), query).await.attempt(what).map(|answer| answer.value)
    };
    let all = found.query().with("all", args.all_allocs);
    let allocations = get("/allocations", all, "Error querying job allocations").await?;
    let evals = get("/evaluations", found.query(), "Error querying job evaluations").await?;
    let deployment =
        get("/deployment", found.query(), "Error querying latest job deployment").await?;
    let summary = get("/summary", found.query(), "Error querying job summary").await?;
    if !summary.is_empty_at("Summary") {
        let table = groups(&summary);
        ctx.title("Summary");
        ctx.say(table);
    }
    let evals = evals.as_array().map(Vec::as_slice).unwrap_or_default();
    if args.evals || args.verbose {
        let table = evaluations(evals, args.verbose);
        ctx.title("Evaluations");
        ctx.say(table);
    }
    if let Some(lines) = placement_failure(evals) {
        ctx.title("Placement Failure");
        ctx.say(lines);
    }
    // The latest deployment may be of a job of the same name that is long gone.
    let same_job = deployment.int("JobCreateIndex") == job.int("CreateIndex");
    if deployment.is_object() && (same_job || args.all_allocs) {
        let text = show::deployment::brief(&deployment, args.verbose, ctx.palette());
        ctx.title("Latest Deployment");
        ctx.say(text);
    }
    let rows = allocations.as_array().map(Vec::as_slice).unwrap_or_default();
    ctx.title("Allocations");
    ctx.say(show::allocations::table(rows, args.verbose));
    Ok(())
}

fn groups(summary: &Value) -> String {
    const COUNTS: [&str; 6] = ["Queued", "Starting", "Running", "Failed", "Complete", "Lost"];
    let mut groups = summary.entries("Summary");
    groups.sort_by_key(|(name, _)| *name);
    let unknown = groups.iter().any(|(_, counts)| counts.int("Unknown") > 0);
    let columns = || COUNTS.into_iter().chain(unknown.then_some("Unknown"));
    let headings: Vec<&str> = ["Task Group"].into_iter().chain(columns()).collect();
    let mut table = Table::new(&headings);
    for (name, counts) in groups {
        let counts = columns().map(|key| counts.int(key).to_string());
        table.row([name.to_owned()].into_iter().chain(counts));
    }
    table.render()
}

fn evaluations(evals: &[Value], verbose: bool) -> String {
    let headings = ["ID", "Priority", "Triggered By", "Status", "Placement Failures"];
    let mut table = Table::new(&headings);
    let mut sorted: Vec<&Value> = evals.iter().collect();
    sorted.sort_by_key(|eval| std::cmp::Reverse(eval.int("CreateIndex")));
    for eval in sorted {
        table.row([
            id(eval.text("ID"), verbose),
            eval.int("Priority").to_string(),
            eval.text("TriggeredBy").to_owned(),
            eval.text("Status").to_owned(),
            placement_failures(eval),
        ]);
    }
    table.render()
}

/// Whether an evaluation placed everything; a blocked one has not tried yet.
pub(crate) fn placement_failures(eval: &Value) -> String {
    match eval.text("Status") {
        "blocked" => "N/A - In Progress".to_owned(),
        _ => (!eval.is_empty_at("FailedTGAllocs")).to_string(),
    }
}

/// While an evaluation is blocked, the reasons of the latest one that failed to place.
fn placement_failure(evals: &[Value]) -> Option<String> {
    evals.iter().find(|eval| eval.text("Status") == "blocked")?;
    let failed = evals.iter().filter(|eval| !eval.is_empty_at("FailedTGAllocs"));
    let latest = failed.max_by_key(|eval| eval.int("CreateIndex"))?;
    let mut groups = latest.entries("FailedTGAllocs");
    groups.sort_by_key(|(name, _)| *name);
    let mut lines = Vec::new();
    for (name, metric) in groups {
        lines.push(format!("Task Group \"{name}\":"));
        lines.extend(show::placement::reasons(metric, "  "));
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn the_unknown_column_appears_only_when_something_is_unknown() {
        let mut summary = json!({"Summary": {"g": {"Running": 2, "Unknown": 0}}});
        expect![[r#"
            Task Group  Queued  Starting  Running  Failed  Complete  Lost
            g           0       0         2        0       0         0"#]]
        .assert_eq(&groups(&summary));
        summary["Summary"]["g"]["Unknown"] = 1.into();
        assert!(groups(&summary).contains("Lost  Unknown"));
    }

    #[test]
    fn reasons_are_shown_while_an_evaluation_is_blocked() {
        let mut evals = [
            json!({"Status": "complete", "CreateIndex": 4, "FailedTGAllocs":
                {"g": {"NodesEvaluated": 1, "NodesExhausted": 1}}}),
            json!({"Status": "blocked", "CreateIndex": 5}),
        ];
        expect![[r#"
            Task Group "g":
              * Resources exhausted on 1 nodes"#]]
        .assert_eq(&placement_failure(&evals).unwrap());
        assert_eq!(placement_failures(&evals[1]), "N/A - In Progress");
        evals[1]["Status"] = "complete".into();
        assert_eq!(placement_failure(&evals), None);
    }
}
