//! Files of ACL policies, for `acl policy apply`.

use super::{Parsed, parse, word, words};
use hcl::{Fields, Random};
use std::collections::BTreeMap;

const NAMESPACE_CAPABILITIES: [&str; 45] = [
    "deny",
    "list-jobs",
    "read-job",
    "submit-job",
    "dispatch-job",
    "parse-job",
    "read-logs",
    "read-fs",
    "alloc-exec",
    "alloc-node-exec",
    "alloc-lifecycle",
    "sentinel-override",
    "csi-register-plugin",
    "csi-list-volume",
    "csi-read-volume",
    "csi-write-volume",
    "csi-mount-volume",
    "list-scaling-policies",
    "read-scaling-policy",
    "read-job-scaling",
    "scale-job",
    "submit-recommendation",
    "host-volume-create",
    "host-volume-register",
    "host-volume-read",
    "host-volume-write",
    "host-volume-delete",
    "register-job",
    "revert-job",
    "deregister-job",
    "purge-job",
    "evaluate-job",
    "plan-job",
    "tag-job-version",
    "stable-job",
    "force-periodic-job",
    "fail-deployment",
    "pause-deployment",
    "promote-deployment",
    "unblock-deployment",
    "cancel-deployment",
    "set-alloc-health-deployment",
    "gc-allocation",
    "pause-allocation",
    "delete-service-registration",
];

/// A rule for a part of the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AclRule {
    /// The short word for a set of capabilities; empty when they are listed.
    pub policy: String,
    /// What is allowed, or `deny`.
    pub capabilities: Vec<String>,
    /// Of a namespace: its variables.
    pub variables: VariablesRule,
}

/// Rules for variables: paths, which may hold `*`, with what is allowed there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariablesRule {
    /// Capabilities by path.
    pub paths: BTreeMap<String, Vec<String>>,
}

/// A policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AclPolicy {
    /// By name of the namespace, which may hold `*`.
    pub namespaces: BTreeMap<String, AclRule>,
    /// By name of the node pool, which may hold `*`.
    pub node_pools: BTreeMap<String, AclRule>,
    /// By name of the host volume, which may hold `*`.
    pub host_volumes: BTreeMap<String, AclRule>,
    /// For nodes.
    pub node: Option<AclRule>,
    /// For agents.
    pub agent: Option<AclRule>,
    /// For the operator's endpoints.
    pub operator: Option<AclRule>,
    /// For quotas.
    pub quota: Option<AclRule>,
    /// For plugins.
    pub plugin: Option<AclRule>,
    /// For Sentinel policies.
    pub sentinel: Option<AclRule>,
}

/// Reads a file of one policy.
///
/// # Errors
/// Every problem with its place.
pub fn parse_acl_policy(file: &str, content: &str, random: Random<'_>) -> Parsed<AclPolicy> {
    const PLAIN: [&str; 3] = ["deny", "read", "write"];
    parse(file, content, random, |f: &mut Fields<'_>| AclPolicy {
        namespaces: named(f, "namespace", |f| {
            let rule = rule(f, &["deny", "read", "write", "scale"], &NAMESPACE_CAPABILITIES);
            let paths = f.block("variables", &[], |f| {
                let known = ["deny", "list", "read", "write", "destroy"];
                f.blocks("path", &["path"], |f| (f.label(0), words(f, "capabilities", &known)))
            });
            let paths = paths.unwrap_or_default().into_iter().collect();
            AclRule { variables: VariablesRule { paths }, ..rule }
        }),
        node_pools: named(f, "node_pool", |f| {
            rule(f, &PLAIN, &["delete", "deny", "read", "write"])
        }),
        host_volumes: named(f, "host_volume", |f| {
            rule(f, &PLAIN, &["deny", "mount-readonly", "mount-readwrite"])
        }),
        node: f.block("node", &[], |f| plain(f, &PLAIN)),
        agent: f.block("agent", &[], |f| plain(f, &PLAIN)),
        operator: f.block("operator", &[], |f| {
            let known = [
                "deny",
                "keyring-delete",
                "keyring-read",
                "keyring-rotate",
                "license-read",
                "snapshot-save",
            ];
            rule(f, &PLAIN, &known)
        }),
        quota: f.block("quota", &[], |f| plain(f, &PLAIN)),
        plugin: f.block("plugin", &[], |f| plain(f, &["deny", "list", "read", "write"])),
        sentinel: f.block("sentinel", &[], |f| {
            rule(f, &PLAIN, &["deny", "sentinel-delete", "sentinel-read", "sentinel-submit"])
        }),
    })
}

fn plain(f: &mut Fields<'_>, policies: &[&str]) -> AclRule {
    AclRule { policy: word(f, "policy", policies), ..AclRule::default() }
}

fn rule(f: &mut Fields<'_>, policies: &[&str], capabilities: &[&str]) -> AclRule {
    let capabilities = words(f, "capabilities", capabilities);
    AclRule { capabilities, ..plain(f, policies) }
}

/// Rules by label; one that stands twice is an error, since they would have to be merged.
fn named(
    f: &mut Fields<'_>,
    kind: &'static str,
    read: impl Fn(&mut Fields<'_>) -> AclRule,
) -> BTreeMap<String, AclRule> {
    let mut rules = BTreeMap::new();
    for (name, span, rule) in f.blocks(kind, &["name"], |f| (f.label(0), f.span(), read(f))) {
        if rules.insert(name.clone(), rule).is_some() {
            let detail = format!("The policy has more than one {kind} block for {name:?}.");
            f.error(span, "Duplicate rule", detail);
        }
    }
    rules
}
