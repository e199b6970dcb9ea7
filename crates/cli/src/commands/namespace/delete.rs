//! `namespace delete`: an empty namespace goes.

use sdk::Query;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Outcome};

/// Delete a namespace that has no jobs left.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_name = "NAMESPACE")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let name = one_word(&args.words, "<namespace>")?;
    let path = format!("/v1/namespace/{}", sdk::segment(name));
    ctx.client.delete(&path, Query::new()).await.attempt("Error deleting namespace")?;
    ctx.say(format!("Successfully deleted namespace \"{name}\"!"));
    Ok(())
}
