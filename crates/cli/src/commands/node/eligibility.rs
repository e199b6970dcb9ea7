//! `node eligibility`: whether the scheduler may place on a node.

use sdk::Query;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};

/// Let the scheduler place on a node, or not.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It may
    #[arg(long)]
    enable: bool,
    /// It may not
    #[arg(long)]
    disable: bool,
    /// The node of the agent that is asked
    #[arg(long = "self")]
    own: bool,
    #[arg(value_name = "NODE")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    if args.enable == args.disable {
        return Err(Failure::usage("Either the '-enable' or '-disable' flag must be set"));
    }
    let id = super::node_or_own(ctx, &args.words, args.own).await?;
    let eligibility = if args.enable { "eligible" } else { "ineligible" };
    let body = json!({"NodeID": id, "Eligibility": eligibility});
    let path = format!("/v1/node/{id}/eligibility");
    let answer = ctx.client.put(&path, Query::new(), &body).await;
    answer.attempt("Error updating scheduling eligibility")?;
    ctx.say(format!("Node \"{id}\" scheduling eligibility set: {eligibility} for scheduling"));
    Ok(())
}
