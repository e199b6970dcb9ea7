//! Files of node pools, for `node pool apply`.

use super::{Parsed, map, parse, text, word};
use hcl::{Fields, Random};
use std::collections::BTreeMap;

/// A node pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its owner notes.
    pub meta: BTreeMap<String, String>,
    /// How long the identity of a node is good for, in nanoseconds.
    pub node_identity_ttl: Option<i64>,
    /// How the scheduler treats its nodes.
    pub scheduler_config: Option<SchedulerConfig>,
}

/// What a pool sets in place of the cluster's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// `binpack` or `spread`; empty for the cluster's.
    pub scheduler_algorithm: String,
    /// Whether tasks may use more memory than they reserve.
    pub memory_oversubscription_enabled: Option<bool>,
}

/// Reads a file of one node pool.
///
/// # Errors
/// Every problem with its place.
pub fn parse_node_pool(file: &str, content: &str, random: Random<'_>) -> Parsed<NodePool> {
    parse(file, content, random, |f: &mut Fields<'_>| {
        let pool = f.block("node_pool", &["name"], |f| NodePool {
            name: f.label(0),
            description: text(f, "description"),
            meta: map(f, "meta"),
            node_identity_ttl: f.duration("node_identity_ttl"),
            scheduler_config: f.block("scheduler_config", &[], |f| SchedulerConfig {
                scheduler_algorithm: word(f, "scheduler_algorithm", &["binpack", "spread"]),
                memory_oversubscription_enabled: f.bool("memory_oversubscription_enabled"),
            }),
        });
        if pool.is_none() {
            let detail = "The file needs a block: node_pool \"name\" { ... }.";
            f.error(f.span(), "Missing node_pool block", detail);
        }
        pool.unwrap_or_default()
    })
}
