//! `job run`: hop 1 and 3 of submitting a job, and the follow-up.

use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::jobfile::{self, FileFlags};
use crate::monitor;
use crate::output::{json, when};

/// What the agent's text holds when the job has changed in between.
const ENFORCED: &str = "Enforcing job modify index";

/// Submit a job file and follow its evaluation and deployment.
///
/// The exit code is 0 when the job was taken and placed, 2 when it was taken but not placed whole,
/// and 1 for anything else. "-" reads the job from standard input.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only if the job's modify index is this; 0 means that it must not exist
    #[arg(long, value_name = "INDEX")]
    check_index: Option<String>,
    /// Return once the job is taken
    #[arg(long)]
    detach: bool,
    /// The priority of the evaluation, instead of the job's
    #[arg(long, value_name = "PRIORITY")]
    eval_priority: Option<u16>,
    /// Print the job as JSON instead of submitting it
    #[arg(long)]
    output: bool,
    /// Go past policies that may be gone past
    #[arg(long)]
    policy_override: bool,
    /// Keep the counts the groups have now
    #[arg(long)]
    preserve_counts: bool,
    /// Keep the resources the tasks have now
    #[arg(long)]
    preserve_resources: bool,
    /// The Consul namespace of the job
    #[arg(long, value_name = "NAMESPACE")]
    consul_namespace: Option<String>,
    /// The Vault namespace of the job
    #[arg(long, value_name = "NAMESPACE")]
    vault_namespace: Option<String>,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    file: FileFlags,
    #[arg(value_name = "PATH")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let path = one_word(&args.words, "<path>")?;
    let file = jobfile::read(ctx, path, &args.file).await?;
    let mut job = file.job;
    for (key, value) in
        [("ConsulNamespace", &args.consul_namespace), ("VaultNamespace", &args.vault_namespace)]
    {
        if let Some(value) = value {
            job[key] = value.as_str().into();
        }
    }
    if args.output {
        ctx.say(json::pretty(&json!({"Job": job})));
        return Ok(());
    }
    let mut body = json!({
        "Job": job,
        "PolicyOverride": args.policy_override,
        "PreserveCounts": args.preserve_counts,
        "PreserveResources": args.preserve_resources,
        "Submission": file.submission,
    });
    if let Some(priority) = args.eval_priority {
        body["EvalPriority"] = priority.into();
    }
    if let Some(text) = &args.check_index {
        body["EnforceIndex"] = true.into();
        body["JobModifyIndex"] = check_index(text)?.into();
    }
    in_namespace_of(ctx, &job);
    let answer = ctx.client.put("/v1/jobs", Query::new(), &body).await;
    if let Err(error) = &answer {
        let text = error.to_string();
        if let Some(start) = text.find(ENFORCED) {
            let reason = text[start..].trim_end_matches(')').trim_end();
            return Err(Failure::new(format!("{reason}\nJob not updated")));
        }
    }
    let answer = answer.attempt("Error submitting job")?.value;
    let warnings = answer.text("Warnings");
    if !warnings.is_empty() {
        ctx.say(format!("Job Warnings:\n{}\n", warnings.trim_end()));
    }
    let eval = answer.text("EvalID");
    if eval.is_empty() {
        ctx.say("Job registration successful");
        next_launch(ctx, &job).await?;
        return Ok(());
    }
    if args.detach {
        ctx.say("Job registration successful");
        ctx.say(format!("Evaluation ID: {eval}"));
        return Ok(());
    }
    monitor::evaluation(ctx, eval, args.verbose).await
}

/// Reads an index as users give it.
pub(crate) fn check_index(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| {
        Failure::new(format!(
            "Error parsing check-index value \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
        ))
    })
}

/// Everything about this job is asked in the job's own namespace.
pub(crate) fn in_namespace_of(ctx: &mut Context<'_>, job: &Value) {
    if !job.text("Namespace").is_empty() {
        ctx.client.namespace = job.text("Namespace").to_owned();
    }
}

/// When a periodic job that was just taken starts first.
async fn next_launch(ctx: &mut Context<'_>, job: &Value) -> Outcome {
    if job.is_empty_at("Periodic") {
        return Ok(());
    }
    let body = json!({"Job": job, "Diff": false});
    let path = format!("/v1/job/{}/plan", sdk::segment(job.text("ID")));
    // The job is taken; that the time is not known is no failure of this command.
    if let Ok(plan) = ctx.client.put(&path, Query::new(), &body).await {
        let launch = when::parse(plan.value.text("NextPeriodicLaunch"));
        if launch > 0 {
            let (at, from_now) = (when::at(launch), when::ago(launch, when::now()));
            ctx.say(format!("Approximate next launch time: {at} ({from_now})"));
        }
    }
    Ok(())
}
