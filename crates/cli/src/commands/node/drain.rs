//! `node drain`: allocations move off a node, and the command tells how far that is.

use std::collections::BTreeMap;
use std::time::Duration;

use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::when;

/// How long a drain may take unless told otherwise.
const DEADLINE: i64 = 3_600_000_000_000;
/// The API's word for "at once".
const AT_ONCE: i64 = -1;
/// How long one blocking query waits before it is asked again.
const WAIT: Duration = Duration::from_secs(10);

/// Move the allocations off a node, or stop doing so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin
    #[arg(long)]
    enable: bool,
    /// Stop
    #[arg(long)]
    disable: bool,
    /// How long allocations have before they are stopped; 1h unless given
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// Return once the change is taken
    #[arg(long)]
    detach: bool,
    /// Stop all allocations at once
    #[arg(long)]
    force: bool,
    /// Wait for as long as it takes
    #[arg(long)]
    no_deadline: bool,
    /// Leave the allocations of system jobs where they are
    #[arg(long)]
    ignore_system: bool,
    /// With -disable: place nothing on the node still
    #[arg(long)]
    keep_ineligible: bool,
    /// The node of the agent that is asked
    #[arg(long = "self")]
    own: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Only follow a drain that is under way
    #[arg(long)]
    monitor: bool,
    /// Why
    #[arg(long, value_name = "MESSAGE")]
    m: Option<String>,
    /// Metadata of the drain: key=value; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    #[arg(value_name = "NODE")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    if !args.monitor && args.enable == args.disable {
        return Err(Failure::usage(
            "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'",
        ));
    }
    let deadline = deadline(&args)?;
    let id = super::node_or_own(ctx, &args.words, args.own).await?;
    if args.monitor {
        return follow(ctx, &id).await;
    }
    if !args.yes {
        let verb = if args.enable { "enable" } else { "disable" };
        let question = format!("Are you sure you want to {verb} drain mode for node \"{id}\"?");
        if !ctx.terminal.confirm(&question).await? {
            ctx.say("Canceling drain toggle");
            return Ok(());
        }
    }
    let spec = match args.enable {
        true => json!({"Deadline": deadline, "IgnoreSystemJobs": args.ignore_system}),
        false => Value::Null,
    };
    let eligible = args.disable && !args.keep_ineligible;
    let body =
        json!({"NodeID": id, "DrainSpec": spec, "MarkEligible": eligible, "Meta": meta(&args)?});
    let answer = ctx.client.put(&format!("/v1/node/{id}/drain"), Query::new(), &body).await;
    answer.attempt("Error updating drain specification")?;
    if args.disable || args.detach {
        let state = if args.enable { "set" } else { "unset" };
        ctx.say(format!("Node \"{id}\" drain strategy {state}"));
        return Ok(());
    }
    tell(ctx, "Ctrl-C to stop monitoring: will not cancel the node drain");
    tell(ctx, &format!("Node \"{id}\" drain strategy set"));
    follow(ctx, &id).await
}

fn deadline(args: &Args) -> Result<i64, Failure> {
    if args.force && (args.no_deadline || args.deadline.is_some())
        || args.no_deadline && args.deadline.is_some()
    {
        let text = "Only one of -deadline, -force and -no-deadline can be used";
        return Err(Failure::usage(text));
    }
    if args.force {
        return Ok(AT_ONCE);
    }
    if args.no_deadline {
        return Ok(0);
    }
    let Some(text) = &args.deadline else { return Ok(DEADLINE) };
    when::parse_duration(text).filter(|nanos| *nanos > 0).ok_or_else(|| {
        let why = format!("time: invalid duration \"{text}\"");
        Failure::new(format!("Failed to parse deadline \"{text}\": {why}"))
    })
}

fn meta(args: &Args) -> Result<BTreeMap<String, String>, Failure> {
    let mut meta = BTreeMap::new();
    if let Some(message) = &args.m {
        let key = if args.enable { "message" } else { "cancel_message" };
        meta.insert(key.to_owned(), message.clone());
    }
    for pair in &args.meta {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::new(format!("Error parsing meta value: {pair}")))?;
        meta.insert(key.to_owned(), value.to_owned());
    }
    Ok(meta)
}

fn tell(ctx: &mut Context<'_>, text: &str) {
    let line = format!("{}: {text}", when::at(when::now()));
    ctx.say(line);
}

/// What was told of each allocation: whether it is to move, and its status.
type Told = BTreeMap<String, (bool, String)>;

/// Tells what moves until the drain is over and nothing that was to move is left.
async fn follow(ctx: &mut Context<'_>, id: &str) -> Outcome {
    let (mut index, mut told, mut complete) = (0, Told::new(), false);
    loop {
        let query = match index {
            0 => Query::new(),
            _ => Query::new().blocking(index, WAIT),
        };
        let allocs = ctx.client.get(&format!("/v1/node/{id}/allocations"), query).await;
        let allocs = allocs.attempt("Error monitoring allocations")?;
        index = allocs.index.max(1);
        let rows = allocs.value.as_array().map(Vec::as_slice).unwrap_or_default();
        for line in changes(rows, &mut told) {
            tell(ctx, &line);
        }
        let node = ctx.client.get(&format!("/v1/node/{id}"), Query::new()).await;
        let node = node.attempt("Error monitoring node")?.value;
        let draining = node.at("DrainStrategy").is_object();
        if !draining && !complete {
            complete = true;
            tell(ctx, &format!("Drain complete for node {id}"));
        }
        let left = rows.iter().filter(|alloc| to_move(alloc) && !is_over(alloc)).count();
        if !draining && left == 0 {
            tell(ctx, &format!("All allocations on node \"{id}\" have stopped"));
            return Ok(());
        }
    }
}

fn to_move(alloc: &Value) -> bool {
    alloc.at("DesiredTransition").flag("Migrate") || alloc.text("DesiredStatus") == "stop"
}

fn is_over(alloc: &Value) -> bool {
    matches!(alloc.text("ClientStatus"), "complete" | "failed" | "lost")
}

fn changes(rows: &[Value], told: &mut Told) -> Vec<String> {
    let mut lines = Vec::new();
    for alloc in rows {
        let (id, status) = (alloc.text("ID"), alloc.text("ClientStatus"));
        let before = told.insert(id.to_owned(), (to_move(alloc), status.to_owned()));
        let known = before.is_some();
        let (moving, was) = before.unwrap_or_else(|| (false, status.to_owned()));
        if to_move(alloc) && !moving && (known || !is_over(alloc)) {
            lines.push(format!("Alloc \"{id}\" marked for migration"));
        }
        if was != status {
            lines.push(format!("Alloc \"{id}\" status {was} -> {status}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_told_when_it_is_to_move_and_when_it_has_ended() {
        let mut told = Told::new();
        let mut rows = [
            json!({"ID": "a", "ClientStatus": "running"}),
            json!({"ID": "b", "ClientStatus": "lost"}),
        ];
        assert!(changes(&rows, &mut told).is_empty());
        rows[0]["DesiredTransition"] = json!({"Migrate": true});
        assert_eq!(changes(&rows, &mut told), ["Alloc \"a\" marked for migration"]);
        rows[0]["ClientStatus"] = "complete".into();
        assert_eq!(changes(&rows, &mut told), ["Alloc \"a\" status running -> complete"]);
        assert!(changes(&rows, &mut told).is_empty());
    }
}
