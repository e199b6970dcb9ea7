//! Removes groups that belong to no live task of this node: what a crash left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Cgroup, CgroupError, Hierarchies, SUPERVISORS, failed, subdirectories};
use crate::cgroup::naming::directory_name;

/// How long the processes of one group may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// What a sweep did, by directory name.
#[derive(Debug, Default)]
pub struct SweepReport {
    pub removed: Vec<String>,
    pub failed: Vec<(String, CgroupError)>,
}

/// Ends and removes each group of `node_id` whose name is not in `keep`. Groups of other nodes and
/// the node's supervisors are not looked at.
pub fn sweep(
    on: &Hierarchies,
    node_id: &str,
    keep: &BTreeSet<String>,
) -> Result<SweepReport, CgroupError> {
    let kept: BTreeSet<String> = keep.iter().map(|name| directory_name(name)).collect();
    let mut found = BTreeSet::new();
    for (_, path) in on.node_directories(node_id) {
        found.extend(subdirectories(&path).map_err(failed("list", &path))?);
    }
    let mut report = SweepReport::default();
    for name in found {
        if name == SUPERVISORS || kept.contains(&name) {
            continue;
        }
        let directories =
            on.node_directories(node_id).map(|(kind, path)| (kind, path.join(&name))).collect();
        let group = Cgroup { directories, has_controllers: on.pure };
        match group.kill_all(KILL_LIMIT).and_then(|()| group.remove()) {
            Ok(()) => report.removed.push(name),
            Err(error) => report.failed.push((name, error)),
        }
    }
    Ok(report)
}
