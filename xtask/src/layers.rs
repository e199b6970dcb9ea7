//! Which crate may use which: the table of the tiers, compared with `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::steps::{capture, say};

struct Layer {
    name: &'static str,
    tier: u8,
    may_use: &'static [&'static str],
}

const fn layer(name: &'static str, tier: u8, may_use: &'static [&'static str]) -> Layer {
    Layer { name, tier, may_use }
}

/// Every crate of the workspace, with all the crates of the workspace it may use.
/// A new edge needs a decision record.
const LAYERS: &[Layer] = &[
    // 0 words
    layer("model", 0, &[]),
    layer("hcl", 0, &[]),
    // 1 decisions
    layer("specs", 1, &["model", "hcl"]),
    layer("state", 1, &["model"]),
    layer("scheduler", 1, &["model", "state"]),
    // 2 mechanisms
    layer("consensus", 2, &[]),
    layer("rpc", 2, &["model"]),
    layer("sandbox", 2, &[]),
    layer("supervisor", 2, &["sandbox"]),
    layer("drivers", 2, &["model", "sandbox", "supervisor"]),
    // Stands in for a dependency of openraft; nobody of ours uses it.
    layer("base2histogram", 2, &[]),
    // 3 roles
    layer("server", 3, &["model", "specs", "state", "scheduler", "consensus", "rpc"]),
    layer("client", 3, &["model", "rpc", "drivers", "sandbox"]),
    // 4 doors
    layer("http-api", 4, &["model", "specs", "server", "client"]),
    layer("sdk", 4, &["model"]),
    layer("cli", 4, &["model", "specs", "sdk"]),
    layer(
        "agent",
        4,
        &[
            "model",
            "hcl",
            "specs",
            "state",
            "scheduler",
            "consensus",
            "rpc",
            "sandbox",
            "supervisor",
            "drivers",
            "server",
            "client",
            "http-api",
            "sdk",
            "cli",
        ],
    ),
    // beside
    layer(
        "testkit",
        5,
        &[
            "model",
            "hcl",
            "specs",
            "state",
            "scheduler",
            "consensus",
            "rpc",
            "sandbox",
            "drivers",
            "server",
            "client",
            "http-api",
            "sdk",
            "cli",
            "agent",
        ],
    ),
    layer("sim", 5, &["model", "state", "scheduler", "server", "client"]),
    layer("xtask", 5, &[]),
];

/// Crates that bring clocks, chance, tasks, files or logs: not for the pure tiers 0 and 1.
const IMPURE: &[&str] = &["tokio", "hyper", "reqwest", "rand", "nix", "tracing", "tempfile"];

/// Third-party crates allowed in two versions, each with its reason and when it may go.
const DOUBLES: &[(&str, &str)] = &[
    ("cpufeatures", "sha2 0.10, openraft's quorum-set too, against rand 0.10"),
    ("getrandom", "bcrypt is on 0.3; uuid and rand on 0.4"),
    ("rand", "rsa is on 0.8 until its 0.10; openraft and ours on 0.10"),
    ("rand_core", "follows rand; imbl is on 0.9"),
    ("thiserror", "gtmpl-ng is on 1; ours on 2"),
    ("thiserror-impl", "follows thiserror"),
    ("syn", "macros only: derive_more and tracing are on 2; nothing of it is in the binary"),
];

pub(crate) fn check() -> Result<()> {
    let text = capture(&["cargo", "metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&text)?;
    let mut problems = edge_problems(&metadata, LAYERS);
    problems.extend(double_problems(&metadata, DOUBLES));
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        say(&format!("layers: {problem}"));
    }
    bail!("{} problems with the layers; the table is in xtask/src/layers.rs", problems.len())
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn edge_problems(metadata: &Value, layers: &[Layer]) -> Vec<String> {
    let table: BTreeMap<&str, &Layer> = layers.iter().map(|layer| (layer.name, layer)).collect();
    let members: BTreeSet<&str> = packages(metadata)
        .filter(|package| package["source"].is_null())
        .map(|package| text(&package["name"]))
        .collect();
    let mut problems = Vec::new();
    for package in packages(metadata).filter(|package| package["source"].is_null()) {
        let name = text(&package["name"]);
        let Some(layer) = table.get(name) else {
            problems.push(format!("crate {name} is not in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // Tests may use what they like; build scripts count, since their output ships.
            if dependency["kind"] == "dev" {
                continue;
            }
            let used = text(&dependency["name"]);
            if members.contains(used) && !layer.may_use.contains(&used) {
                problems.push(format!("{name} must not use {used}"));
            }
            if layer.tier <= 1 && IMPURE.contains(&used) {
                problems.push(format!("{name} is pure and must not use {used}"));
            }
        }
    }
    problems
}

fn double_problems(metadata: &Value, allowed: &[(&str, &str)]) -> Vec<String> {
    let used = shipped(metadata);
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages(metadata).filter(|package| used.contains(text(&package["id"]))) {
        let name = text(&package["name"]);
        versions.entry(name).or_default().insert(text(&package["version"]));
    }
    let mut problems = Vec::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let list = versions.iter().copied().collect::<Vec<_>>().join(", ");
        match allowed.iter().find(|(allowed, _)| allowed == name) {
            Some((_, reason)) => say(&format!("twice: {name} {list}: {reason}")),
            None => problems.push(format!("{name} is in the tree as {list} without a reason")),
        }
    }
    for (name, _) in allowed {
        if versions.get(name).is_none_or(|versions| versions.len() < 2) {
            say(&format!("note: {name} is no longer there twice; drop its line"));
        }
    }
    problems
}

/// Ids of the packages that the members reach without their dev-dependencies.
fn shipped(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let mut open: Vec<&str> =
        metadata["workspace_members"].as_array().into_iter().flatten().map(text).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(node) = nodes.get(id) else { continue };
        for dependency in node["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            // Targets other than Linux are never built, but cargo lists them.
            let counts = |kind: &Value| kind["kind"] != "dev" && !foreign(text(&kind["target"]));
            if kinds.is_some_and(|kinds| kinds.iter().any(counts)) {
                open.push(text(&dependency["pkg"]));
            }
        }
    }
    seen
}

fn foreign(target: &str) -> bool {
    ["windows", "wasm", "macos", "apple", "wasi", "hermit", "redox", "uefi"]
        .iter()
        .any(|other| target.contains(other) && !target.contains("not("))
}

#[cfg(test)]
mod tests {
    //! Checks the checker on small trees.

    use super::*;

    fn tree(dependencies: &str) -> Value {
        let text = format!(
            r#"{{"packages": [
                {{"name": "model", "source": null, "dependencies": []}},
                {{"name": "server", "source": null, "dependencies": []}},
                {{"name": "state", "source": null, "dependencies": [{dependencies}]}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn allowed_edge_and_dev_dependencies_pass() {
        let metadata = tree(
            r#"{"name": "model", "kind": null}, {"name": "server", "kind": "dev"},
               {"name": "tokio", "kind": "dev"}"#,
        );
        assert_eq!(edge_problems(&metadata, LAYERS), Vec::<String>::new());
    }

    #[test]
    fn upward_edge_impure_crate_and_unknown_crate_fail() {
        let metadata = tree(
            r#"{"name": "server", "kind": null}, {"name": "tokio", "kind": null},
               {"name": "rand", "kind": "build"}"#,
        );
        let expected = [
            "state must not use server",
            "state is pure and must not use tokio",
            "state is pure and must not use rand",
        ];
        assert_eq!(edge_problems(&metadata, LAYERS), expected);
        assert_eq!(edge_problems(&tree(""), &LAYERS[..1]).len(), 2);
    }

    #[test]
    fn table_points_only_down() {
        let tier = |name: &str| LAYERS.iter().find(|layer| layer.name == name).unwrap().tier;
        for layer in LAYERS {
            assert!(layer.may_use.iter().all(|used| tier(used) <= layer.tier), "{}", layer.name);
        }
    }

    #[test]
    fn two_versions_need_a_reason() {
        let metadata: Value = serde_json::from_str(
            r#"{"packages": [{"id": "a1", "name": "a", "version": "1.0.0"},
                             {"id": "a2", "name": "a", "version": "2.0.0"},
                             {"id": "m", "name": "m", "version": "0.1.0"}],
                "workspace_members": ["m"],
                "resolve": {"nodes": [{"id": "m", "deps": [
                    {"pkg": "a1", "dep_kinds": [{"kind": null, "target": null}]},
                    {"pkg": "a2", "dep_kinds": [{"kind": null, "target": null}]}]}]}}"#,
        )
        .unwrap();
        assert_eq!(double_problems(&metadata, &[]).len(), 1);
        assert_eq!(double_problems(&metadata, &[("a", "b needs the old one")]).len(), 0);
    }
}
