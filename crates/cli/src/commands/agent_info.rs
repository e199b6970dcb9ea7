//! `agent-info`: figures of the agent's parts.

use sdk::{Fields, Query};

use crate::context::{Context, Format, no_words};
use crate::failure::{Attempt, Outcome};

/// Print the figures of the agent's parts: client, server, membership, log, runtime.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: Format,
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let answer = ctx.client.get("/v1/agent/self", Query::new()).await;
    let info = answer.attempt("Error querying agent info")?.value;
    if ctx.formatted(&args.format, &info)? {
        return Ok(());
    }
    let mut parts = info.entries("stats");
    parts.sort_by_key(|(name, _)| *name);
    for (name, _) in parts {
        ctx.say(name);
        let mut figures = info.at("stats").entries(name);
        figures.sort_by_key(|(figure, _)| *figure);
        for (figure, value) in figures {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            ctx.say(format!("  {figure} = {shown}"));
        }
    }
    Ok(())
}
