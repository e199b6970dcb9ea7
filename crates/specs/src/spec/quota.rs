//! Files of quotas, for `quota apply`.

use super::{Parsed, parse, size, text};
use hcl::{Fields, Random};
use std::collections::BTreeMap;

/// A quota.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its limits, one for each region.
    pub limits: Vec<QuotaLimit>,
}

/// The limits in a region.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaLimit {
    /// The region.
    pub region: String,
    /// What all jobs together may ask for there.
    pub region_limit: QuotaResources,
    /// Most MiB of variables, in the older spelling.
    pub variables_limit: Option<i64>,
}

/// Amounts; nothing or zero means without limit, a negative number none at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaResources {
    /// MHz.
    pub cpu: Option<i64>,
    /// Whole cores.
    pub cores: Option<i64>,
    /// Reserved memory in MiB.
    pub memory: Option<i64>,
    /// Most memory in MiB.
    pub memory_max: Option<i64>,
    /// Memory for secrets in MiB.
    pub secrets: Option<i64>,
    /// Devices by name.
    pub devices: BTreeMap<String, i64>,
    /// Variables in MiB.
    pub variables: Option<i64>,
    /// Host volumes in MiB.
    pub host_volumes: Option<i64>,
    /// The same for a node pool, by its name.
    pub node_pools: BTreeMap<String, QuotaResources>,
}

/// Reads a file of one quota.
///
/// # Errors
/// Every problem with its place.
pub fn parse_quota(file: &str, content: &str, random: Random<'_>) -> Parsed<Quota> {
    parse(file, content, random, |f: &mut Fields<'_>| {
        let quota = Quota {
            name: text(f, "name"),
            description: text(f, "description"),
            limits: f.blocks("limit", &[], |f| {
                let limit = QuotaLimit {
                    region: text(f, "region"),
                    region_limit: f
                        .block("region_limit", &[], |f| {
                            let pools =
                                f.blocks("node_pool", &["name"], |f| (f.label(0), amounts(f)));
                            QuotaResources { node_pools: pools.into_iter().collect(), ..amounts(f) }
                        })
                        .unwrap_or_default(),
                    variables_limit: f.int("variables_limit"),
                };
                f.require(&["region"]);
                limit
            }),
        };
        f.require(&["name"]);
        if quota.limits.is_empty() {
            let detail = "A quota needs at least one limit block.";
            f.error(f.span(), "Missing limit block", detail);
        }
        quota
    })
}

fn amounts(f: &mut Fields<'_>) -> QuotaResources {
    let devices =
        f.blocks("device", &["name"], |f| (f.label(0), f.int("count").unwrap_or_default()));
    let storage = f.block("storage", &[], |f| {
        (size::mebibytes(f, "variables"), size::mebibytes(f, "host_volumes"))
    });
    let (variables, host_volumes) = storage.unwrap_or_default();
    QuotaResources {
        cpu: f.int("cpu"),
        cores: f.int("cores"),
        memory: f.int("memory"),
        memory_max: f.int("memory_max"),
        secrets: f.int("secrets"),
        devices: devices.into_iter().collect(),
        variables,
        host_volumes,
        node_pools: BTreeMap::new(),
    }
}
