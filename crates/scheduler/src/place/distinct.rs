//! `distinct_hosts` and `distinct_property`: rules about where the siblings are.

use std::sync::Arc;

use model::alloc::Alloc;
use model::ids::NodeId;
use model::job::{Constraint, Job, TaskGroup};

use super::{Placer, target};
use crate::reconcile::PlaceRequest;

/// The rules of a job and a group.
pub(crate) struct Distinct<'a> {
    hosts_of_job: bool,
    hosts_of_group: bool,
    properties: Vec<(&'a Constraint, bool)>,
}

impl<'a> Distinct<'a> {
    pub(crate) fn of(job: &'a Job, group: &'a TaskGroup) -> Self {
        let hosts = |c: &&Constraint| c.operand == "distinct_hosts" && c.r_target != "false";
        let property = |c: &&Constraint| c.operand == "distinct_property";
        Self {
            hosts_of_job: job.constraints.iter().any(|c| hosts(&c)),
            hosts_of_group: group.constraints.iter().any(|c| hosts(&c)),
            properties: (job.constraints.iter().filter(property).map(|c| (c, true)))
                .chain(group.constraints.iter().filter(property).map(|c| (c, false)))
                .collect(),
        }
    }

    /// The rule that a node breaks, in the words of the wire.
    pub(crate) fn refuses(
        &self,
        placer: &mut Placer<'_>,
        group: &TaskGroup,
        id: NodeId,
        request: &PlaceRequest,
    ) -> Option<String> {
        if !self.hosts_of_job && !self.hosts_of_group && self.properties.is_empty() {
            return None;
        }
        let job = placer.job.clone();
        let replaced = request.previous.as_ref().map(|p| p.id);
        let counts = |a: &Arc<Alloc>| {
            Some(a.id) != replaced
                && !a.is_terminal()
                && *a.job.id == *job.id()
                && *a.job.namespace == *job.namespace()
        };
        let here: Vec<Arc<Alloc>> = placer.allocs_on(id).into_iter().filter(counts).collect();
        let in_group = here.iter().any(|a| *a.group == *group.name());
        if (self.hosts_of_job && !here.is_empty()) || (self.hosts_of_group && in_group) {
            return Some("distinct_hosts".to_owned());
        }
        let node = placer.snapshot.node(&id)?.clone();
        for (constraint, of_job) in &self.properties {
            let Some(value) = target::resolve(&constraint.l_target, &node) else {
                return Some(format!("missing property {:?}", constraint.l_target));
            };
            let allowed: usize = constraint.r_target.parse().unwrap_or(1);
            let mut used = 0;
            for other in placer.candidates.clone() {
                let Some(other_node) = placer.snapshot.node(&other) else { continue };
                if target::resolve(&constraint.l_target, other_node).as_ref() != Some(&value) {
                    continue;
                }
                let allocs = placer.allocs_on(other);
                used += allocs
                    .iter()
                    .filter(|a| counts(a))
                    .filter(|a| *of_job || *a.group == *group.name())
                    .count();
            }
            if used >= allowed {
                return Some(format!(
                    "distinct_property: {}={value} used by {used} allocs",
                    constraint.l_target
                ));
            }
        }
        None
    }
}
