//! What should change: the wanted slots of each group against the allocations there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::alloc::{Alloc, ClientStatus, DesiredStatus};
use model::deployment::{Deployment, DeploymentGroup, DeploymentStatus, description};
use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, EvalId, Name};
use model::job::{Job, JobType, TaskGroup};
use model::plan::{DeploymentUpdate, DesiredUpdates, StopAlloc};
use model::wire::Nanos;
use state::Snapshot;
use uuid::Uuid;

use crate::Inputs;
use crate::ids::Seeded;

pub(crate) mod change;
mod deploying;
mod group;
pub(crate) mod reschedule;

use deploying::Deploying;
use group::GroupPass;

/// Why an allocation is asked to stop; the wire's words.
pub(crate) mod why {
    pub(crate) const NOT_NEEDED: &str = "alloc not needed due to job update";
    pub(crate) const UPDATING: &str = "alloc is being updated due to job update";
    pub(crate) const MIGRATING: &str = "alloc is being migrated";
    pub(crate) const LOST: &str = state::invariants::LOST;
}

/// Everything that should change, before places are found.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    pub stop: Vec<StopAlloc>,
    pub place: Vec<PlaceRequest>,
    /// Allocations that take the new version while they run.
    pub in_place: Vec<Alloc>,
    pub deployment: Option<Deployment>,
    pub deployment_updates: Vec<DeploymentUpdate>,
    /// The deployment that goes on, if one does.
    pub active_deployment: Option<DeploymentId>,
    /// Failed allocations that get a new attempt later, and the evaluation that makes it.
    pub delayed: Vec<(AllocId, EvalId)>,
    pub follow_ups: Vec<Evaluation>,
    pub updates: BTreeMap<String, DesiredUpdates>,
}

/// A slot that needs an allocation.
#[derive(Debug, Clone)]
pub(crate) struct PlaceRequest {
    pub id: Uuid,
    pub group: String,
    pub index: u32,
    pub previous: Option<Arc<Alloc>>,
    /// The previous one failed and this is a new attempt.
    pub rescheduled: bool,
    /// The previous one is stopped by the same plan for this one.
    pub destructive: bool,
    pub canary: bool,
    pub deployment: Option<DeploymentId>,
    pub delay: Nanos,
    pub attempts_kept: usize,
}

/// Compares what a job wants with what it has.
pub(crate) fn reconcile(
    snapshot: &Snapshot,
    eval: &Evaluation,
    inputs: &Inputs,
    ids: &mut Seeded,
) -> Diff {
    let key = eval.job();
    let mut diff = Diff::default();
    let job = snapshot.job(&key).cloned();
    let stopped = job.as_ref().is_none_or(|j| j.is_stopped());
    let allocs: Vec<Arc<Alloc>> = snapshot.allocs_of_job(&key).cloned().collect();
    let mut deploying = Deploying::find(snapshot, &key, job.as_deref(), stopped, &mut diff);
    // What belongs to a purged namesake, to a stopped job or to a group that is gone, ends.
    let (ours, leftovers): (Vec<_>, Vec<_>) = allocs.into_iter().partition(|alloc| {
        !stopped
            && job.as_ref().is_some_and(|j| {
                j.create_index() == alloc.job_create_index && j.group(&alloc.group).is_some()
            })
    });
    stop_leftovers(snapshot, &leftovers, &mut diff);
    let Some(job) = job.filter(|_| !stopped) else { return diff };
    let mut by_group: BTreeMap<Name, Vec<Arc<Alloc>>> = BTreeMap::new();
    for alloc in ours {
        by_group.entry(alloc.group.clone()).or_default().push(alloc);
    }
    for group in job.task_groups.iter() {
        let allocs = by_group.remove(group.name()).unwrap_or_default();
        let mut pass = GroupPass {
            snapshot,
            job: &job,
            group,
            eval,
            now: inputs.now,
            ids: Seeded::new(inputs.seed, &format!("{}/{}", eval.id, group.name())),
            deploying: &mut deploying,
            diff: &mut diff,
            updates: DesiredUpdates::default(),
        };
        pass.run(allocs);
    }
    deploying.finish(&job, eval, ids, &mut diff);
    diff
}

fn stop_leftovers(snapshot: &Snapshot, leftovers: &[Arc<Alloc>], diff: &mut Diff) {
    for alloc in leftovers.iter().filter(|a| !a.is_client_terminal()) {
        let lost = node_is_gone(snapshot, alloc);
        if alloc.is_server_terminal() && !lost {
            continue; // its node will say when it ended
        }
        let description = if lost { why::LOST } else { why::NOT_NEEDED };
        diff.stop.push(stop(alloc, description, lost.then_some(ClientStatus::Lost)));
        diff.updates.entry(alloc.group.to_string()).or_default().stop += 1;
    }
}

pub(crate) fn node_is_gone(snapshot: &Snapshot, alloc: &Alloc) -> bool {
    snapshot.node(&alloc.node_id).is_none_or(|n| n.is_gone())
}

pub(crate) fn stop(
    alloc: &Alloc,
    description: &str,
    client_status: Option<ClientStatus>,
) -> StopAlloc {
    StopAlloc {
        id: alloc.id,
        desired: DesiredStatus::Stop,
        description: description.to_owned(),
        client_status,
        followup_eval: None,
        preempted_by: None,
    }
}
