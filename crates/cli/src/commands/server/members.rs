//! `server members`: the servers this agent knows.

use std::collections::BTreeMap;

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, no_words};
use crate::failure::{Attempt, Outcome};
use crate::output::table::Table;

/// List the servers and who leads each region.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// With all their tags
    #[arg(long)]
    verbose: bool,
    /// The same as -verbose
    #[arg(long)]
    detailed: bool,
    #[command(flatten)]
    format: Format,
    #[arg(hide = true)]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    no_words(&args.words)?;
    let answer = ctx.client.get("/v1/agent/members", Query::new()).await;
    let answer = answer.attempt("Error querying servers")?.value;
    if ctx.formatted(&args.format, answer.at("Members"))? {
        return Ok(());
    }
    let members = answer.items("Members");
    if members.is_empty() {
        ctx.say("Agent doesn't know about server members");
        return Ok(());
    }
    let mut leaders = BTreeMap::new();
    let mut unknown = Vec::new();
    for member in members {
        let region = member.at("Tags").text("region");
        if leaders.contains_key(region) {
            continue;
        }
        let query = Query::new().with_some("region", region);
        let leader = match ctx.client.get("/v1/status/leader", query).await {
            Ok(answer) => answer.value.as_str().unwrap_or_default().to_owned(),
            Err(error) => {
                unknown.push(format!("Region \"{region}\": {error}"));
                String::new()
            }
        };
        leaders.insert(region.to_owned(), leader);
    }
    ctx.say(table(members, &leaders, args.verbose || args.detailed));
    if !unknown.is_empty() {
        ctx.complain(format!("\nError determining leaders:\n{}", unknown.join("\n")));
    }
    Ok(())
}

fn table(members: &[Value], leaders: &BTreeMap<String, String>, verbose: bool) -> String {
    let mut headings = vec!["Name", "Address", "Port", "Status", "Leader"];
    headings.extend(verbose.then_some("Protocol"));
    headings.extend(["Raft Version", "Build", "Datacenter", "Region"]);
    headings.extend(verbose.then_some("Tags"));
    let mut table = Table::new(&headings);
    let mut sorted: Vec<&Value> = members.iter().collect();
    sorted.sort_by_key(|member| (member.at("Tags").text("region"), member.text("Name")));
    for member in sorted {
        let tags = member.at("Tags");
        let host = [tags.text("rpc_addr"), member.text("Addr")];
        let host = host.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let rpc = format!("{host}:{}", tags.text("port"));
        let leads = leaders.get(tags.text("region")).is_some_and(|leader| *leader == rpc);
        let mut row = vec![
            member.text("Name").to_owned(),
            member.text("Addr").to_owned(),
            member.int("Port").to_string(),
            member.text("Status").to_owned(),
            leads.to_string(),
        ];
        row.extend(verbose.then(|| member.int("ProtocolCur").to_string()));
        row.extend(["raft_vsn", "build", "dc", "region"].map(|tag| tags.text(tag).to_owned()));
        if verbose {
            let mut all = member.entries("Tags");
            all.sort_by_key(|(name, _)| *name);
            let text = |(name, value): (&str, &Value)| {
                format!("{name}={}", value.as_str().unwrap_or_default())
            };
            row.push(all.into_iter().map(text).collect::<Vec<_>>().join(","));
        }
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
    fn the_leader_is_the_member_with_its_address() {
        let member = |name: &str, address: &str| {
            json!({"Name": name, "Addr": address, "Port": 4648, "Status": "alive", "Tags":
                {"region": "global", "port": "4647", "raft_vsn": "3", "build": "0.1.0", "dc": "dc1"}})
        };
        let leaders = BTreeMap::from([("global".to_owned(), "10.0.0.2:4647".to_owned())]);
        let members = [member("b.global", "10.0.0.2"), member("a.global", "10.0.0.1")];
        expect![[r#"
            Name      Address   Port  Status  Leader  Raft Version  Build  Datacenter  Region
            a.global  10.0.0.1  4648  alive   false   3             0.1.0  dc1         global
            b.global  10.0.0.2  4648  alive   true    3             0.1.0  dc1         global"#]]
        .assert_eq(&table(&members, &leaders, false));
    }
}
