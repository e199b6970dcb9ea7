//! Service and batch jobs: the steps from an evaluation to a plan (hop 11).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::alloc::{
    Alloc, AllocDeploymentStatus, AllocMetric, Observed, RescheduleEvent, RescheduleTracker,
};
use model::eval::{EvalStatus, Evaluation, trigger};
use model::ids::{AllocId, EvalId};
use model::job::Job;
use model::plan::{Plan, PlanAnnotations, StopAlloc};
use state::Snapshot;

use crate::ids::Seeded;
use crate::place::{Placer, Spot};
use crate::reconcile::{Diff, PlaceRequest, reconcile};
use crate::{Inputs, Outcome};

/// How many earlier attempts an allocation remembers when its policy has no limit.
const RESCHEDULE_EVENTS_MAX: usize = 5;
/// About how large the placements of one plan may become as a log entry; an entry is at most
/// 16 MiB. What is left is placed by an evaluation that follows at once.
const PLAN_BYTES_MAX: usize = 4 << 20;
/// A generous guess at what one placement takes in the log (measured: 1.4 KiB with one task).
const PLACEMENT_BYTES: usize = 2 << 10;
/// And what each of its tasks adds.
const PLACEMENT_TASK_BYTES: usize = 512;

/// Decides what an evaluation should change. Pure: equal arguments, equal outcome.
pub fn schedule(snapshot: &Snapshot, eval: &Evaluation, inputs: &Inputs) -> Outcome {
    let mut ids = Seeded::new(inputs.seed, &eval.id.to_string());
    let mut diff = reconcile(snapshot, eval, inputs, &mut ids);
    let job = snapshot.job(&eval.job()).cloned();
    let mut plan = Plan {
        eval_id: eval.id,
        job: Some(eval.job()),
        job_version: job.as_ref().map_or(0, |j| j.version()),
        priority: eval.priority,
        all_at_once: job.as_ref().is_some_and(|j| j.all_at_once == Some(true)),
        stop: std::mem::take(&mut diff.stop),
        deployment: diff.deployment.take(),
        deployment_updates: std::mem::take(&mut diff.deployment_updates),
        delayed: std::mem::take(&mut diff.delayed),
        ..Plan::default()
    };
    let mut done = Evaluation {
        status: EvalStatus::Complete,
        snapshot_index: snapshot.index(),
        status_description: String::new(),
        failed_tg_allocs: Default::default(),
        ..eval.clone()
    };
    // The newest deployment of the job, ended or not: what a monitor follows on to.
    let newest = || snapshot.deployments_of_job(&eval.job()).first().map(|d| d.id);
    done.deployment_id = plan
        .deployment
        .as_ref()
        .map(|d| d.id)
        .or(diff.active_deployment)
        .or(eval.deployment_id)
        .or_else(newest);
    let mut queued: BTreeMap<String, i64> = BTreeMap::new();
    let mut eligibility = BTreeMap::new();
    let mut left = 0;
    if let Some(job) = &job {
        for group in job.task_groups.iter() {
            queued.insert(group.name().to_owned(), 0);
        }
        let mut placing = Placing { snapshot, eval, inputs, job, plan: &mut plan };
        let (failed, rest) = placing.place_all(&mut diff, &mut queued, &mut eligibility);
        done.failed_tg_allocs = failed.into();
        left = rest;
    }
    annotate(&mut plan, &diff);
    done.queued_allocations = queued.into();
    let mut new_evals = std::mem::take(&mut diff.follow_ups);
    if left > 0 {
        // It decides anew, so it also finds what could not be placed here.
        go_on(eval, &mut done, &mut new_evals, &mut ids);
    } else if !done.failed_tg_allocs.is_empty() {
        block(eval, &mut done, &mut new_evals, eligibility, &mut ids);
    }
    supersede_blocked(snapshot, eval, &mut new_evals);
    done.plan_annotations = None;
    Outcome { plan, eval: done, new_evals }
}

/// One evaluation of a job waits for room at most: this one's outcome is newer than theirs.
fn supersede_blocked(snapshot: &Snapshot, eval: &Evaluation, new_evals: &mut Vec<Evaluation>) {
    for old in snapshot.evals_of_job(&eval.job()) {
        if old.status == EvalStatus::Blocked && old.id != eval.id {
            new_evals.push(Evaluation {
                status: EvalStatus::Cancelled,
                status_description: "a newer evaluation of the job took its place".to_owned(),
                queued_allocations: Default::default(),
                ..Evaluation::clone(&old)
            });
        }
    }
}

/// What did not fit into this plan is the business of the next evaluation.
fn go_on(
    eval: &Evaluation,
    done: &mut Evaluation,
    new_evals: &mut Vec<Evaluation>,
    ids: &mut Seeded,
) {
    let next = Evaluation {
        id: EvalId(ids.uuid()),
        triggered_by: trigger::QUEUED_ALLOCS.to_owned(),
        status: EvalStatus::Pending,
        status_description: "goes on where a plan was full".to_owned(),
        previous_eval: Some(eval.id),
        queued_allocations: Default::default(),
        failed_tg_allocs: Default::default(),
        ..eval.clone()
    };
    done.next_eval = Some(next.id);
    new_evals.push(next);
}

/// What is left waits for room: a blocked evaluation blocks again, another one makes one.
fn block(
    eval: &Evaluation,
    done: &mut Evaluation,
    new_evals: &mut Vec<Evaluation>,
    eligibility: BTreeMap<String, bool>,
    ids: &mut Seeded,
) {
    if eval.triggered_by == trigger::QUEUED_ALLOCS {
        done.status = EvalStatus::Blocked;
        done.class_eligibility = eligibility.into();
        done.status_description = "created to place remaining allocations".to_owned();
        return;
    }
    let blocked = Evaluation {
        id: EvalId(ids.uuid()),
        namespace: eval.namespace.clone(),
        job_id: eval.job_id.clone(),
        priority: eval.priority,
        kind: eval.kind.clone(),
        triggered_by: trigger::QUEUED_ALLOCS.to_owned(),
        job_modify_index: eval.job_modify_index,
        status: EvalStatus::Blocked,
        status_description: "created to place remaining allocations".to_owned(),
        previous_eval: Some(eval.id),
        class_eligibility: eligibility.into(),
        snapshot_index: done.snapshot_index,
        failed_tg_allocs: done.failed_tg_allocs.clone(),
        ..Evaluation::default()
    };
    done.blocked_eval = Some(blocked.id);
    new_evals.push(blocked);
}

fn annotate(plan: &mut Plan, diff: &Diff) {
    plan.annotations = Some(PlanAnnotations {
        desired_tg_updates: diff.updates.clone().into(),
        ..PlanAnnotations::default()
    });
}

/// The placements of one evaluation, one after the other on the same view of the nodes.
struct Placing<'a> {
    snapshot: &'a Snapshot,
    eval: &'a Evaluation,
    inputs: &'a Inputs,
    job: &'a Arc<Job>,
    plan: &'a mut Plan,
}

impl Placing<'_> {
    fn place_all(
        &mut self,
        diff: &mut Diff,
        queued: &mut BTreeMap<String, i64>,
        eligibility: &mut BTreeMap<String, bool>,
    ) -> (BTreeMap<String, AllocMetric>, usize) {
        let mut failed: BTreeMap<String, AllocMetric> = BTreeMap::new();
        if diff.place.is_empty() && diff.in_place.is_empty() {
            return (failed, 0);
        }
        let (mut room, mut left) = (PLAN_BYTES_MAX, 0);
        let mut placer = Placer::new(self.snapshot, self.job, &self.plan.stop, self.inputs.seed);
        for alloc in diff.in_place.drain(..) {
            if !self.take_room(&mut room, &alloc.group) {
                left += 1;
                continue;
            }
            placer.note(&alloc);
            self.plan.place.push(Arc::new(alloc));
        }
        for request in diff.place.drain(..) {
            if let Some(metric) = failed.get_mut(&request.group).filter(|_| !request.destructive) {
                // The same ask failed a moment ago; nothing has come free since.
                metric.coalesced_failures += 1;
                *queued.entry(request.group.clone()).or_default() += 1;
                continue;
            }
            if !self.take_room(&mut room, &request.group) {
                left += 1;
                *queued.entry(request.group.clone()).or_default() += 1;
                self.undo_stop(&mut placer, &request);
                continue;
            }
            match placer.find(&request) {
                Ok(spot) => self.commit(&mut placer, request, spot),
                Err(metric) => {
                    *queued.entry(request.group.clone()).or_default() += 1;
                    self.undo_stop(&mut placer, &request);
                    placer.class_eligibility(&request.group, eligibility);
                    match failed.get_mut(&request.group) {
                        Some(first) => first.coalesced_failures += 1,
                        None => {
                            failed.insert(request.group.clone(), *metric);
                        }
                    }
                }
            }
        }
        (failed, left)
    }

    /// Whether one more placement of a group fits into the plan.
    fn take_room(&self, room: &mut usize, group: &str) -> bool {
        let tasks = self.job.group(group).map_or(1, |group| group.tasks.len());
        let bytes = PLACEMENT_BYTES + tasks * PLACEMENT_TASK_BYTES;
        // One always fits: an evaluation must get somewhere.
        if *room < bytes && *room < PLAN_BYTES_MAX {
            return false;
        }
        *room = room.saturating_sub(bytes);
        true
    }

    /// A replacement that finds no room leaves what it would have replaced running.
    fn undo_stop(&mut self, placer: &mut Placer<'_>, request: &PlaceRequest) {
        if let Some(previous) = request.previous.as_ref().filter(|_| request.destructive) {
            placer.keep(&previous.id);
            self.plan.stop.retain(|s| s.id != previous.id);
        }
    }

    fn commit(&mut self, placer: &mut Placer<'_>, request: PlaceRequest, spot: Spot) {
        let alloc = self.new_alloc(&request, spot);
        if let Some(previous) = request.previous.as_ref().filter(|_| request.rescheduled) {
            self.plan.stop.push(StopAlloc {
                id: previous.id,
                desired: model::alloc::DesiredStatus::Stop,
                description: "alloc was rescheduled because it failed".to_owned(),
                client_status: None,
                followup_eval: None,
                preempted_by: None,
            });
        }
        placer.note(&alloc);
        self.plan.place.push(Arc::new(alloc));
    }

    fn new_alloc(&self, request: &PlaceRequest, spot: Spot) -> Alloc {
        let id = AllocId(request.id);
        Alloc {
            id,
            job: self.job.key(),
            job_version: self.job.version(),
            job_create_index: self.job.create_index(),
            spec: self.job.clone(),
            group: request.group.as_str().into(),
            index: request.index,
            eval_id: self.eval.id,
            node_id: spot.node.id,
            node_name: spot.node.name.as_str().into(),
            resources: Arc::new(spot.resources),
            metrics: Some(Arc::new(spot.metric)),
            desired: Default::default(),
            desired_description: String::new(),
            transition: Default::default(),
            observed: Observed::default(),
            deployment_id: request.deployment,
            deployment_status: request
                .canary
                .then(|| AllocDeploymentStatus { canary: true, ..Default::default() }),
            followup_eval: None,
            previous: request.previous.as_ref().map(|p| p.id),
            next: None,
            reschedule: self.tracker(request),
            preempted: Vec::new(),
            preempted_by: None,
            create_index: 0,
            modify_index: 0,
            alloc_modify_index: 0,
            create_time: self.inputs.now,
            modify_time: self.inputs.now,
        }
    }

    /// The earlier attempts of the slot, with this one's predecessor as the newest.
    fn tracker(&self, request: &PlaceRequest) -> Option<Arc<RescheduleTracker>> {
        let previous = request.previous.as_ref()?;
        if !request.rescheduled {
            return previous.reschedule.clone().filter(|_| !request.destructive);
        }
        let mut tracker =
            previous.reschedule.as_ref().map(|t| RescheduleTracker::clone(t)).unwrap_or_default();
        tracker.events.push(RescheduleEvent {
            reschedule_time: self.inputs.now,
            prev_alloc_id: previous.id,
            prev_node_id: previous.node_id,
            delay: request.delay,
        });
        let limit = request.attempts_kept.max(RESCHEDULE_EVENTS_MAX);
        let excess = tracker.events.len().saturating_sub(limit);
        tracker.events.drain(..excess);
        Some(Arc::new(tracker))
    }
}
