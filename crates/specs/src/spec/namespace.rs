//! Files of namespaces, for `namespace apply`.

use super::{Parsed, map, parse, text, texts};
use hcl::{Fields, Random};
use std::collections::BTreeMap;

/// A namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The quota of its jobs.
    pub quota: String,
    /// What its owner notes.
    pub meta: BTreeMap<String, String>,
    /// What its jobs may use.
    pub capabilities: Option<Capabilities>,
    /// The node pools of its jobs.
    pub node_pool_config: Option<Choice>,
    /// The Vault clusters of its jobs.
    pub vault: Option<Choice>,
    /// The Consul clusters of its jobs.
    pub consul: Option<Choice>,
    /// Claims that the identities of its workloads always carry.
    pub required_extra_claims: BTreeMap<String, String>,
    /// Claims that identities may ask for.
    pub optional_extra_claims: BTreeMap<String, String>,
}

/// What the jobs of a namespace may use; an empty list of what is enabled means everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Drivers that may be used.
    pub enabled_task_drivers: Vec<String>,
    /// Drivers that may not.
    pub disabled_task_drivers: Vec<String>,
    /// Network modes that may be used.
    pub enabled_network_modes: Vec<String>,
    /// Network modes that may not.
    pub disabled_network_modes: Vec<String>,
}

/// A default, and what else may be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// What is used when a job names nothing.
    pub default: String,
    /// What a job may name; everything if this is empty.
    pub allowed: Vec<String>,
    /// What a job may not name.
    pub denied: Vec<String>,
}

/// Reads a file of one namespace.
///
/// # Errors
/// Every problem with its place.
pub fn parse_namespace(file: &str, content: &str, random: Random<'_>) -> Parsed<Namespace> {
    parse(file, content, random, |f: &mut Fields<'_>| {
        let namespace = Namespace {
            name: text(f, "name"),
            description: text(f, "description"),
            quota: text(f, "quota"),
            meta: map(f, "meta"),
            capabilities: f.block("capabilities", &[], |f| Capabilities {
                enabled_task_drivers: texts(f, "enabled_task_drivers"),
                disabled_task_drivers: texts(f, "disabled_task_drivers"),
                enabled_network_modes: texts(f, "enabled_network_modes"),
                disabled_network_modes: texts(f, "disabled_network_modes"),
            }),
            node_pool_config: f.block("node_pool_config", &[], choice),
            vault: f.block("vault", &[], choice),
            consul: f.block("consul", &[], choice),
            required_extra_claims: map(f, "required_extra_claims"),
            optional_extra_claims: map(f, "optional_extra_claims"),
        };
        f.require(&["name"]);
        namespace
    })
}

fn choice(f: &mut Fields<'_>) -> Choice {
    let choice = Choice {
        default: text(f, "default"),
        allowed: texts(f, "allowed"),
        denied: texts(f, "denied"),
    };
    if f.is_set("allowed") && f.is_set("denied") {
        f.reject("denied", "Either \"allowed\" or \"denied\" may be given, not both.");
    }
    choice
}
