//! Feasibility: whether a node can run a group at all, whatever is on it.
//!
//! Each check answers with the words that the wire shows when a node is filtered.

use model::job::{ALL_NODE_POOL, Constraint, Job, TaskGroup};
use model::node::Node;

use super::target::meets;

type Check = fn(&Job, &TaskGroup, &Node) -> Result<(), String>;

/// The checks in their order; the first that fails names the reason.
const CHECKS: &[Check] =
    &[job_constraints, drivers, group_constraints, task_constraints, volumes, networks, devices];

/// Whether a node can run a group.
///
/// # Errors
/// The reason it cannot, in the words of the wire.
pub fn feasible(job: &Job, group: &TaskGroup, node: &Node) -> Result<(), String> {
    CHECKS.iter().try_for_each(|check| check(job, group, node))
}

/// Whether a node is in the job's datacenters and pool; others are not even counted.
pub(crate) fn in_reach(job: &Job, node: &Node) -> bool {
    let pool = job.node_pool();
    let node_pool = if node.node_pool.is_empty() { "default" } else { &node.node_pool };
    (pool == ALL_NODE_POOL || pool == node_pool)
        && (job.datacenters.is_empty()
            || job.datacenters.iter().any(|dc| glob(dc, &node.datacenter)))
}

/// Whether a text matches a pattern in which `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn all_hold(constraints: &[Constraint], node: &Node) -> Result<(), String> {
    for constraint in constraints {
        if !meets(constraint, node) {
            return Err(words(constraint));
        }
    }
    Ok(())
}

/// A constraint as the wire writes it.
fn words(constraint: &Constraint) -> String {
    format!("{} {} {}", constraint.l_target, constraint.operand, constraint.r_target)
}

fn job_constraints(job: &Job, _: &TaskGroup, node: &Node) -> Result<(), String> {
    all_hold(&job.constraints, node)
}

fn group_constraints(_: &Job, group: &TaskGroup, node: &Node) -> Result<(), String> {
    all_hold(&group.constraints, node)
}

fn task_constraints(_: &Job, group: &TaskGroup, node: &Node) -> Result<(), String> {
    group.tasks.iter().try_for_each(|task| all_hold(&task.constraints, node))
}

fn drivers(_: &Job, group: &TaskGroup, node: &Node) -> Result<(), String> {
    let missing = group
        .tasks
        .iter()
        .any(|task| !node.drivers.get(&task.driver).is_some_and(|d| d.detected && d.healthy));
    if missing { Err("missing drivers".to_owned()) } else { Ok(()) }
}

fn volumes(_: &Job, group: &TaskGroup, node: &Node) -> Result<(), String> {
    for request in group.volumes.values().filter(|v| v.kind == "host") {
        let fits = node
            .host_volumes
            .get(&request.source)
            .is_some_and(|volume| request.read_only || !volume.read_only);
        if !fits {
            return Err("missing compatible host volumes".to_owned());
        }
    }
    Ok(())
}

fn networks(_: &Job, group: &TaskGroup, _: &Node) -> Result<(), String> {
    // Until bridge networks are there, no node has one; `none` and `host` need nothing.
    let missing = group.networks.iter().any(|n| n.mode == "bridge" || n.mode.starts_with("cni/"));
    if missing { Err("missing network".to_owned()) } else { Ok(()) }
}

fn devices(_: &Job, group: &TaskGroup, _: &Node) -> Result<(), String> {
    // No driver or plugin reports devices yet, so no node has any.
    let wanted = group
        .tasks
        .iter()
        .filter_map(|t| t.resources.as_ref())
        .any(|r| r.devices.iter().any(|d| d.count.unwrap_or(1) > 0));
    if wanted { Err("missing devices".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_star_in_a_datacenter_stands_for_anything() {
        assert!(glob("*", "dc1"));
        assert!(glob("dc*", "dc1"));
        assert!(glob("us-*-1", "us-east-1"));
        assert!(!glob("us-*-1", "us-east-2"));
        assert!(glob("dc1", "dc1"));
        assert!(!glob("dc1", "dc10"));
        assert!(glob("*a*b*", "xaybz"));
        assert!(!glob("*a*b*", "xbya"));
    }
}
