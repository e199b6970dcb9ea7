//! `system gc`: what is finished goes, now.

use sdk::Query;
use serde_json::Value;

use crate::context::{Context, no_words};
use crate::failure::{Attempt, Outcome};

/// Collect everything that is finished, now, whatever its age.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let answer = ctx.client.put("/v1/system/gc", Query::new(), &Value::Null).await;
    answer.attempt("Error running system garbage-collection")?;
    Ok(())
}
