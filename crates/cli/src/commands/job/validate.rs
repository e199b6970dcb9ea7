//! `job validate`: everything that is wrong with a job file.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::jobfile::{self, FileFlags};

/// Check a job file: its language, and what the agent says of the job.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The Vault namespace of the job
    #[arg(long, value_name = "NAMESPACE")]
    vault_namespace: Option<String>,
    #[command(flatten)]
    file: FileFlags,
    #[arg(value_name = "PATH")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let path = one_word(&args.words, "<path>")?;
    let mut job = jobfile::read(ctx, path, &args.file).await?.job;
    if let Some(namespace) = &args.vault_namespace {
        job["VaultNamespace"] = namespace.as_str().into();
    }
    super::run::in_namespace_of(ctx, &job);
    let body = json!({"Job": job});
    let answer = ctx.client.put("/v1/validate/job", Query::new(), &body).await;
    let answer = answer.attempt("Error validating job")?.value;
    let error = answer.text("Error").trim_end();
    if !error.is_empty() {
        return Err(Failure::new(format!("Job validation errors:\n{error}")));
    }
    let warnings = answer.text("Warnings").trim_end();
    if !warnings.is_empty() {
        ctx.say(format!("Job Warnings:\n{warnings}\n"));
    }
    ctx.say("Job validation successful");
    Ok(())
}
