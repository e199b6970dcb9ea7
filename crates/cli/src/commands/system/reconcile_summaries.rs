//! `system reconcile summaries`: the summaries of jobs are counted again.

use sdk::Query;
use serde_json::Value;

use crate::context::{Context, no_words};
use crate::failure::{Attempt, Outcome};

/// Count the summaries of all jobs again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let path = "/v1/system/reconcile/summaries";
    let answer = ctx.client.put(path, Query::new(), &Value::Null).await;
    answer.attempt("Error running system summary reconciliation")?;
    Ok(())
}
