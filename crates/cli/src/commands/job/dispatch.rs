//! `job dispatch`: an instance of a parameterized job.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sdk::{Fields, Query};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::monitor;
use crate::output::table::Pairs;
use crate::output::units::id;

/// Start an instance of a parameterized job, with a payload from a file or from standard input (-).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A value of the job's metadata: key=value; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    /// Return once the instance is taken
    #[arg(long)]
    detach: bool,
    /// Start no second instance for the same token
    #[arg(long, value_name = "TOKEN")]
    idempotency_token: Option<String>,
    /// Begin the id of the instance with this
    #[arg(long, value_name = "PREFIX")]
    id_prefix_template: Option<String>,
    /// The priority of the instance, instead of the job's
    #[arg(long)]
    priority: Option<u16>,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<job> [<payload>]")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (job, payload) = match &args.words[..] {
        [job] => (job, None),
        [job, payload] => (job, Some(payload.as_str())),
        _ => {
            return Err(Failure::usage(
                "This command takes one or two arguments: <job> [<payload>]",
            ));
        }
    };
    let payload = match payload {
        None => Vec::new(),
        Some("-") => ctx.terminal.read_input().await.attempt("Error reading input data")?,
        Some(file) => {
            let what = format!("Error reading input data: open {file}");
            std::fs::read(file).map_err(Failure::from).attempt(&what)?
        }
    };
    let mut meta = BTreeMap::new();
    for pair in &args.meta {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::new(format!("Error parsing meta value: {pair}")))?;
        meta.insert(key, value);
    }
    let mut body = json!({"JobID": job, "Meta": meta});
    if !payload.is_empty() {
        body["Payload"] = STANDARD.encode(payload).into();
    }
    if let Some(prefix) = &args.id_prefix_template {
        body["IdPrefixTemplate"] = prefix.as_str().into();
    }
    if let Some(priority) = args.priority {
        body["Priority"] = priority.into();
    }
    let token = args.idempotency_token.as_deref().unwrap_or_default();
    let query = Query::new().with_some("idempotency_token", token);
    let path = format!("/v1/job/{}/dispatch", sdk::segment(job));
    let answer = ctx.client.put(&path, query, &body).await;
    let answer = answer.attempt("Failed to dispatch job")?.value;
    let eval = answer.text("EvalID");
    let mut pairs = Pairs::new();
    pairs.add("Dispatched Job ID", answer.text("DispatchedJobID"));
    if !eval.is_empty() {
        pairs.add("Evaluation ID", id(eval, args.verbose));
    }
    ctx.say(pairs.render());
    if args.detach || eval.is_empty() {
        return Ok(());
    }
    ctx.say("");
    monitor::evaluation(ctx, eval, args.verbose).await
}
