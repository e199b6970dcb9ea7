//! `node status`: all nodes, or one.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, maybe_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::lookup::{self, Kind};
use crate::output::table::Table;
use crate::output::units::id;

use super::detail;

/// List nodes, or show one with what it has, what is used of it and what runs on it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node of the agent that is asked
    #[arg(long = "self")]
    own: bool,
    /// What the node uses, in detail
    #[arg(long)]
    pub(super) stats: bool,
    /// In the list: how many allocations run on each
    #[arg(long)]
    allocs: bool,
    /// Only the node itself and its allocations
    #[arg(long)]
    pub(super) short: bool,
    /// Whole ids, exact times, attributes and metadata
    #[arg(long)]
    pub(super) verbose: bool,
    /// In the list: the operating system
    #[arg(long)]
    os: bool,
    /// In the list: whole ids and nothing else
    #[arg(long)]
    quiet: bool,
    /// Only nodes for which this expression holds
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// So many a page
    #[arg(long, value_name = "COUNT")]
    per_page: Option<u64>,
    /// Where the page begins
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "NODE")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(id: &str, verbose: bool) -> Self {
        Self {
            own: false,
            stats: false,
            allocs: false,
            short: false,
            verbose,
            os: false,
            quiet: false,
            filter: None,
            per_page: None,
            page_token: None,
            format: Format::default(),
            words: vec![id.to_owned()],
        }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = maybe_word(&args.words, "<node>")?;
    if args.quiet && (args.verbose || args.format.json) {
        return Err(Failure::usage("-quiet cannot be used with -verbose or -json"));
    }
    let id = match given {
        _ if args.own => lookup::own_node(ctx).await?,
        Some(given) => find(ctx, given).await?,
        None => return list(ctx, &args).await,
    };
    let node = ctx.client.get(&format!("/v1/node/{id}"), Query::new()).await;
    let node = node.attempt("Error querying node info")?.value;
    if ctx.formatted(&args.format, &node)? {
        return Ok(());
    }
    detail::show(ctx, &node, &args).await
}

async fn find(ctx: &Context<'_>, given: &str) -> Result<String, Failure> {
    match lookup::row(ctx, Kind::Node, given).await {
        Ok(row) => Ok(row.text("ID").to_owned()),
        Err(failure) if failure.text.starts_with("No node(s)") => {
            Err(Failure::new(format!("No node(s) with prefix \"{given}\" found")))
        }
        Err(failure) => Err(failure),
    }
}

async fn list(ctx: &mut Context<'_>, args: &Args) -> Outcome {
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut query = Query::new()
        .with_some("filter", &given(&args.filter))
        .with_some("next_token", &given(&args.page_token))
        .with_flag("os", args.os);
    if let Some(count) = args.per_page {
        query = query.with("per_page", count);
    }
    let answer = ctx.client.get("/v1/nodes", query).await;
    let answer = answer.attempt("Error querying node status")?;
    if ctx.formatted(&args.format, &answer.value)? {
        return Ok(());
    }
    let rows = answer.value.as_array().map(Vec::as_slice).unwrap_or_default();
    if args.quiet {
        for node in rows {
            ctx.say(node.text("ID"));
        }
        return Ok(());
    }
    if rows.is_empty() {
        ctx.say("No nodes registered");
        return Ok(());
    }
    let mut running = Vec::new();
    if args.allocs {
        for node in rows {
            running.push(running_allocs(ctx, node.text("ID")).await?);
        }
    }
    ctx.say(table(rows, args, &running));
    if !answer.next_token.is_empty() {
        let (name, token) = (ctx.program.name(), &answer.next_token);
        ctx.say(format!(
            "\nResults have been paginated. To get the next page run:\n\n{name} node status -page-token {token}"
        ));
    }
    Ok(())
}

async fn running_allocs(ctx: &Context<'_>, node: &str) -> Result<usize, Failure> {
    let path = format!("/v1/node/{node}/allocations");
    let allocs = ctx.client.get(&path, Query::new()).await;
    let allocs = allocs.attempt("Error querying node allocations")?.value;
    let rows = allocs.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(rows.iter().filter(|alloc| alloc.text("ClientStatus") == "running").count())
}

fn table(rows: &[Value], args: &Args, running: &[usize]) -> String {
    let mut headings = vec!["ID", "Node Pool", "DC", "Name", "Class"];
    headings.extend(args.os.then_some("OS"));
    if args.verbose {
        headings.extend(["Address", "Version"]);
    }
    headings.extend(["Drain", "Eligibility", "Status"]);
    headings.extend(args.allocs.then_some("Running Allocs"));
    let mut table = Table::new(&headings);
    for (place, node) in rows.iter().enumerate() {
        let mut row = vec![id(node.text("ID"), args.verbose)];
        row.extend(
            ["NodePool", "Datacenter", "Name", "NodeClass"].map(|k| node.text(k).to_owned()),
        );
        if args.os {
            row.push(node.at("Attributes").text("os.name").to_owned());
        }
        if args.verbose {
            row.extend(["Address", "Version"].map(|key| node.text(key).to_owned()));
        }
        row.push(node.flag("Drain").to_string());
        row.push(node.text("SchedulingEligibility").to_owned());
        row.push(node.text("Status").to_owned());
        row.extend(running.get(place).map(ToString::to_string));
        table.row(row);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn columns_follow_the_flags() {
        let rows = [json!({"ID": "a72dfba2-1", "NodePool": "default", "Datacenter": "dc1",
            "Name": "n1", "Drain": false, "SchedulingEligibility": "eligible",
            "Status": "ready", "Version": "0.1.0", "Address": "10.0.0.1"})];
        let mut args = Args::of("x", false);
        expect![[r#"
            ID        Node Pool  DC   Name  Class   Drain  Eligibility  Status
            a72dfba2  default    dc1  n1    <none>  false  eligible     ready"#]]
        .assert_eq(&table(&rows, &args, &[]));
        args.allocs = true;
        args.verbose = true;
        assert!(
            table(&rows, &args, &[3]).ends_with("10.0.0.1  0.1.0    false  eligible     ready   3")
        );
    }
}
