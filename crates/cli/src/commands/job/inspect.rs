//! `job inspect`: a job as the agent has it, or the text it came from.

use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::lookup::{self, JobRef};

/// Print a job as JSON, or with -hcl as it was submitted.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// This version instead of the latest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The text that was submitted
    #[arg(long)]
    hcl: bool,
    /// With -hcl: the values of variables, too
    #[arg(long)]
    with_vars: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<job>")?;
    if args.hcl && args.format.is_given() {
        return Err(Failure::usage("-hcl cannot be used with -json or -t"));
    }
    if args.with_vars && !args.hcl {
        return Err(Failure::usage("-with-vars can only be used with -hcl"));
    }
    let found = lookup::job(ctx, given).await?;
    let version = args.version.as_deref().map(version).transpose()?;
    let job = match version {
        Some(version) => of_version(ctx, &found, version).await?,
        None => {
            let answer = ctx.client.get(&found.path(""), found.query()).await;
            answer.attempt("Error inspecting job")?.value
        }
    };
    if args.hcl {
        return submitted(ctx, &found, job.int("Version"), args.with_vars).await;
    }
    if args.format.template.is_some() {
        return ctx.formatted(&args.format, &job).map(drop);
    }
    let whole = Format { json: true, template: None };
    ctx.formatted(&whole, &json!({"Job": job})).map(drop)
}

/// Reads a job's version as users give it.
pub(crate) fn version(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| {
        Failure::new(format!(
            "Error parsing version value \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
        ))
    })
}

async fn of_version(ctx: &Context<'_>, found: &JobRef, version: u64) -> Result<Value, Failure> {
    let answer = ctx.client.get(&found.path("/versions"), found.query()).await;
    let answer = answer.attempt("Error inspecting job")?.value;
    let wanted = i64::try_from(version).unwrap_or(-1);
    let job = answer.items("Versions").iter().find(|job| job.int("Version") == wanted);
    job.cloned().ok_or_else(|| {
        let id = &found.id;
        Failure::new(format!(
            "Error inspecting job: job \"{id}\" with version {version} couldn't be found"
        ))
    })
}

async fn submitted(ctx: &mut Context<'_>, found: &JobRef, version: i64, vars: bool) -> Outcome {
    let query: Query = found.query().with("version", version);
    let answer = ctx.client.get(&found.path("/submission"), query).await;
    let submission = answer.attempt("Error inspecting job")?.value;
    if submission.text("Source").is_empty() {
        return Err(Failure::new("Error inspecting job: no source was kept for this version"));
    }
    let variables = submission.text("Variables").trim_end();
    if vars && !variables.is_empty() {
        ctx.say(format!("# variables\n{variables}\n"));
    }
    ctx.say(submission.text("Source").trim_end());
    Ok(())
}
