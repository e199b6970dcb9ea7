//! `/v1/search`: ids and names by prefix, for completion and short ids.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use server::{Snapshot, Table};

use super::ids::Prefix;
use crate::answer::{Answer, Meta};
use crate::error::Failure;
use crate::request::{Query, Request};

/// How many matches of one kind are listed.
const MATCHES_MAX: usize = 20;
/// The kinds, in the order the error names them.
const CONTEXTS: &[&str] = &[
    "allocs",
    "jobs",
    "nodes",
    "evals",
    "deployment",
    "plugins",
    "volumes",
    "scaling_policy",
    "namespaces",
];

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    prefix: String,
    context: String,
}

/// Finds what starts with a prefix.
pub(crate) async fn prefix(request: Request) -> Result<Answer, Failure> {
    let body: Body = request.body()?;
    let contexts: Vec<&str> = match body.context.as_str() {
        "all" => CONTEXTS.to_vec(),
        one if CONTEXTS.contains(&one) => vec![one],
        other => {
            return Err(Failure::internal(format!(
                "context must be one of [{}] or 'all' for all contexts; got {other:?}",
                CONTEXTS.join(" ")
            )));
        }
    };
    let snapshot = request.server()?.snapshot();
    let (mut matches, mut truncations) = (Map::new(), Map::new());
    let tables: Vec<Table> = contexts.iter().copied().filter_map(table).collect();
    let index = if tables.is_empty() { 0 } else { snapshot.tables_index(&tables) };
    for context in contexts {
        let mut found = find(&snapshot, &request.query, context, &body.prefix);
        truncations.insert(context.to_owned(), json!(found.len() > MATCHES_MAX));
        found.truncate(MATCHES_MAX);
        matches
            .insert(context.to_owned(), if found.is_empty() { Value::Null } else { json!(found) });
    }
    let value = json!({
        "Matches": matches, "Truncations": truncations, "Index": index, "LastContact": 0, "KnownLeader": true,
    });
    Answer::read(&value, Meta { index, known_leader: true, next_token: None })
}

/// Where the matches of a kind change; none for a kind of which there is nothing.
fn table(context: &str) -> Option<Table> {
    Some(match context {
        "jobs" => Table::Jobs,
        "allocs" => Table::Allocs,
        "evals" => Table::Evals,
        "nodes" => Table::Nodes,
        "deployment" => Table::Deployments,
        // There is one, and it is as old as the cluster.
        "namespaces" => Table::Nodes,
        _ => return None,
    })
}

fn find(snapshot: &Snapshot, query: &Query, context: &str, prefix: &str) -> Vec<String> {
    let limit = MATCHES_MAX + 1;
    // A prefix with an odd digit at its end is searched without it, then compared as text.
    let hex: String = prefix.chars().filter(|c| *c != '-').collect();
    let even = &hex[..hex.len() - hex.len() % 2];
    let ids = Prefix::parse(even, None).ok();
    let is_match = |id: &str| id.replace('-', "").starts_with(&hex);
    match context {
        "jobs" => snapshot
            .jobs()
            .filter(|(key, _)| query.namespace() == &*key.namespace && key.id.starts_with(prefix))
            .map(|(key, _)| key.id.to_string())
            .take(limit)
            .collect(),
        "namespaces" => Some("default")
            .filter(|n| n.starts_with(prefix))
            .map(str::to_owned)
            .into_iter()
            .collect(),
        "allocs" if ids.is_some() => snapshot
            .allocs()
            .filter(|a| {
                ids.is_some_and(|p| p.holds(a.id.0)) && query.wants_namespace(&a.job.namespace)
            })
            .map(|a| a.id.to_string())
            .filter(|id| is_match(id))
            .take(limit)
            .collect(),
        "evals" if ids.is_some() => snapshot
            .evals()
            .filter(|e| ids.is_some_and(|p| p.holds(e.id.0)) && query.wants_namespace(&e.namespace))
            .map(|e| e.id.to_string())
            .filter(|id| is_match(id))
            .take(limit)
            .collect(),
        "nodes" if ids.is_some() => snapshot
            .nodes()
            .map(|n| n.id.to_string())
            .filter(|id| is_match(id))
            .take(limit)
            .collect(),
        "deployment" if ids.is_some() => snapshot
            .deployments()
            .filter(|d| query.wants_namespace(&d.namespace))
            .map(|d| d.id.to_string())
            .filter(|id| is_match(id))
            .take(limit)
            .collect(),
        _ => Vec::new(),
    }
}
