//! `node config`: which servers a client knows.

use sdk::Query;
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};

/// Show the servers a client knows, or give it others.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show them
    #[arg(long)]
    servers: bool,
    /// Replace them by those named
    #[arg(long)]
    update_servers: bool,
    #[arg(value_name = "SERVER...")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    if args.servers == args.update_servers {
        let text = "Either the '-servers' or '-update-servers' flag must be set";
        return Err(Failure::usage(text));
    }
    if args.update_servers {
        if args.words.is_empty() {
            return Err(Failure::usage("-update-servers needs at least one address"));
        }
        let list: Vec<String> = args.words.iter().map(|word| sdk::segment(word)).collect();
        let path = format!("/v1/agent/servers?address={}", list.join("&address="));
        let answer = ctx.client.put(&path, Query::new(), &Value::Null).await;
        answer.attempt("Error updating server list")?;
        ctx.say("Updated server list");
        return Ok(());
    }
    let answer = ctx.client.get("/v1/agent/servers", Query::new()).await;
    let answer = answer.attempt("Error querying server list")?.value;
    for server in answer.as_array().into_iter().flatten().filter_map(Value::as_str) {
        ctx.say(server);
    }
    Ok(())
}
