//! Where: the best feasible node for each slot, all nodes scored, none sampled.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::alloc::{Alloc, AllocMetric, AllocatedResources, DesiredStatus, NodeScoreMeta};
use model::ids::{AllocId, NodeId};
use model::job::{Job, JobType, TaskGroup};
use model::node::Node;
use model::plan::StopAlloc;
use state::Snapshot;
use state::usage::{Usage, usage};

use crate::ids::Seeded;
use crate::reconcile::PlaceRequest;

mod distinct;
mod feasible;
mod offer;
mod score;
mod target;
mod version;

pub use feasible::feasible;
pub use target::meets;

/// How many nodes' scores a metric keeps, the best first.
pub const SCORES_KEPT: usize = 5;

/// A place found.
pub(crate) struct Spot {
    pub node: Arc<Node>,
    pub resources: AllocatedResources,
    pub metric: AllocMetric,
}

/// A node as this evaluation sees it: what is there, plus what the evaluation already placed.
struct NodeView {
    node: Arc<Node>,
    allocs: BTreeMap<AllocId, Arc<Alloc>>,
    usage: Usage,
    /// Live allocations of this job by group.
    of_job: BTreeMap<Box<str>, usize>,
    dirty: bool,
}

/// Finds places for one evaluation's slots, each knowing of those before it.
pub(crate) struct Placer<'a> {
    snapshot: &'a Snapshot,
    job: &'a Arc<Job>,
    stops: BTreeMap<AllocId, DesiredStatus>,
    views: BTreeMap<NodeId, NodeView>,
    /// Nodes in the datacenters and pool of the job, ready for work, by datacenter.
    candidates: Vec<NodeId>,
    available: BTreeMap<String, i64>,
    /// Which candidates pass the checks of a group, worked out once.
    checked: BTreeMap<String, Checked>,
    ports: Seeded,
    spread_algorithm: bool,
}

#[derive(Clone, Default)]
struct Checked {
    passing: Vec<NodeId>,
    reasons: BTreeMap<String, i64>,
    classes: BTreeMap<String, i64>,
    filtered: i64,
    eligibility: BTreeMap<String, bool>,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        job: &'a Arc<Job>,
        stops: &[StopAlloc],
        seed: u64,
    ) -> Self {
        // A datacenter that is named is shown even when it has no node that is ready.
        let named = job.datacenters.iter().filter(|dc| !dc.contains('*'));
        let mut available: BTreeMap<String, i64> = named.map(|dc| (dc.clone(), 0)).collect();
        let mut candidates = Vec::new();
        for node in snapshot.nodes().filter(|n| n.accepts_work()) {
            if feasible::in_reach(job, node) {
                *available.entry(node.datacenter.clone()).or_default() += 1;
                candidates.push(node.id);
            }
        }
        Self {
            snapshot,
            job,
            stops: stops.iter().map(|s| (s.id, s.desired)).collect(),
            views: BTreeMap::new(),
            candidates,
            available,
            checked: BTreeMap::new(),
            ports: Seeded::new(seed, "ports"),
            spread_algorithm: snapshot.scheduler_config().scheduler_algorithm == "spread",
        }
    }

    /// Takes a placement of this evaluation into account for those that follow.
    pub(crate) fn note(&mut self, alloc: &Alloc) {
        let view = self.view(alloc.node_id);
        if let Some(view) = view {
            let known = view.allocs.insert(alloc.id, Arc::new(alloc.clone())).is_some();
            let follows = alloc.previous.is_some_and(|p| view.allocs.contains_key(&p));
            if known || follows {
                view.dirty = true; // figures of another allocation change with it
            } else if !view.dirty {
                view.usage.add(alloc);
                view.count(alloc);
            }
        }
    }

    /// An allocation stays after all: its replacement has found no place.
    pub(crate) fn keep(&mut self, id: &AllocId) {
        self.stops.remove(id);
        let Some(node) = self.snapshot.alloc(id).map(|a| a.node_id) else { return };
        if let Some(view) = self.views.get_mut(&node)
            && let Some(alloc) = self.snapshot.alloc(id).filter(|a| a.holds_resources())
        {
            view.allocs.insert(*id, alloc.clone());
            view.dirty = true;
        }
    }

    /// The best place for a slot, or why there is none.
    pub(crate) fn find(&mut self, request: &PlaceRequest) -> Result<Spot, Box<AllocMetric>> {
        let job = self.job.clone();
        let Some(group) = job.group(&request.group) else {
            return Err(Box::default());
        };
        let checked = self.check(group);
        let mut metric = AllocMetric {
            nodes_evaluated: self.candidates.len() as i64,
            nodes_filtered: checked.filtered,
            nodes_in_pool: self.candidates.len() as i64,
            node_pool: job.node_pool().to_owned(),
            nodes_available: self.available.clone().into(),
            class_filtered: checked.classes.clone().into(),
            constraint_filtered: checked.reasons.clone().into(),
            ..AllocMetric::default()
        };
        let distinct = distinct::Distinct::of(&job, group);
        let penalised = penalised_nodes(request);
        let mut best: Option<(f64, NodeId, AllocatedResources)> = None;
        let mut scores: Vec<NodeScoreMeta> = Vec::new();
        for id in checked.passing {
            if let Some(reason) = distinct.refuses(self, group, id, request) {
                filter_out(&mut metric, &reason, self.snapshot.node(&id));
                continue;
            }
            match self.try_node(&job, group, id, request, &penalised) {
                Ok((meta, resources)) => {
                    let better = best.as_ref().is_none_or(|(score, _, _)| meta.norm_score > *score);
                    if better {
                        best = Some((meta.norm_score, id, resources));
                    }
                    scores.push(meta);
                }
                Err(dimension) => exhaust(&mut metric, &dimension, self.snapshot.node(&id)),
            }
        }
        scores.sort_by(|a, b| b.norm_score.total_cmp(&a.norm_score));
        scores.truncate(SCORES_KEPT);
        let Some((_, id, resources)) = best else { return Err(Box::new(metric)) };
        metric.score_meta_data = scores.into();
        let node = self.snapshot.node(&id).cloned().ok_or_else(|| Box::new(metric.clone()))?;
        Ok(Spot { node, resources, metric })
    }

    /// Which classes of nodes pass a group's checks: what a blocked evaluation waits for.
    pub(crate) fn class_eligibility(&mut self, group: &str, into: &mut BTreeMap<String, bool>) {
        if let Some(checked) = self.checked.get(group) {
            for (class, passes) in &checked.eligibility {
                let slot = into.entry(class.clone()).or_insert(false);
                *slot |= *passes;
            }
        }
    }

    fn check(&mut self, group: &TaskGroup) -> Checked {
        if let Some(checked) = self.checked.get(group.name()) {
            return checked.clone();
        }
        let mut checked = Checked::default();
        for id in &self.candidates {
            let Some(node) = self.snapshot.node(id) else { continue };
            let verdict = feasible(self.job, group, node);
            if !node.computed_class.is_empty() {
                checked.eligibility.insert(node.computed_class.clone(), verdict.is_ok());
            }
            match verdict {
                Ok(()) => checked.passing.push(*id),
                Err(reason) => {
                    checked.filtered += 1;
                    *checked.reasons.entry(reason).or_default() += 1;
                    if !node.node_class.is_empty() {
                        *checked.classes.entry(node.node_class.clone()).or_default() += 1;
                    }
                }
            }
        }
        self.checked.insert(group.name().to_owned(), checked.clone());
        checked
    }

    fn try_node(
        &mut self,
        job: &Job,
        group: &TaskGroup,
        id: NodeId,
        request: &PlaceRequest,
        penalised: &[NodeId],
    ) -> Result<(NodeScoreMeta, AllocatedResources), String> {
        let mut ports = self.ports.clone();
        let spread_algorithm = self.spread_algorithm;
        let view = self.view(id).ok_or_else(|| "node is gone".to_owned())?;
        view.refresh(job);
        // A predecessor on this node hands its resources over when it ends.
        let handed_over;
        // One that waits for another itself has nothing to hand over yet.
        let waits = |p: &Alloc| {
            p.previous.is_some_and(|b| view.allocs.get(&b).is_some_and(|b| b.is_server_terminal()))
        };
        let held = match request
            .previous
            .as_ref()
            .filter(|p| p.node_id == id && request.destructive && !waits(p))
        {
            Some(previous) => {
                let others = view.allocs.values().filter(|a| a.id != previous.id).map(|a| &**a);
                handed_over = usage(others);
                &handed_over
            }
            None => &view.usage,
        };
        let resources = offer::offer(job, group, &view.node, held, &mut ports)?;
        let same_group = view.of_job.get(group.name()).copied().unwrap_or(0);
        let meta = score::score(&score::Facts {
            job,
            group,
            node: &view.node,
            held,
            asked: &resources,
            same_group,
            penalised: penalised.contains(&id),
            spread_algorithm,
        });
        self.ports = ports;
        Ok((meta, resources))
    }

    fn view(&mut self, id: NodeId) -> Option<&mut NodeView> {
        if !self.views.contains_key(&id) {
            let node = self.snapshot.node(&id)?.clone();
            let stops = &self.stops;
            let allocs = self
                .snapshot
                .allocs_of_node(&id)
                .filter(|a| a.holds_resources())
                .map(|a| match stops.get(&a.id) {
                    Some(desired) => {
                        let mut stopping = Alloc::clone(a);
                        stopping.desired = *desired;
                        (a.id, Arc::new(stopping))
                    }
                    None => (a.id, a.clone()),
                })
                .collect();
            self.views.insert(
                id,
                NodeView {
                    node,
                    allocs,
                    usage: Usage::default(),
                    of_job: BTreeMap::new(),
                    dirty: true,
                },
            );
        }
        self.views.get_mut(&id)
    }

    fn allocs_on(&mut self, id: NodeId) -> Vec<Arc<Alloc>> {
        self.view(id).map(|v| v.allocs.values().cloned().collect()).unwrap_or_default()
    }
}

impl NodeView {
    fn refresh(&mut self, job: &Job) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        self.usage = usage(self.allocs.values().map(|a| &**a));
        self.of_job.clear();
        let of_job =
            |a: &&Arc<Alloc>| *a.job.id == *job.id() && *a.job.namespace == *job.namespace();
        let allocs: Vec<Arc<Alloc>> = self.allocs.values().filter(of_job).cloned().collect();
        allocs.iter().for_each(|alloc| self.count(alloc));
    }

    /// Counts an allocation of the job that is being placed.
    fn count(&mut self, alloc: &Alloc) {
        if !alloc.is_terminal() {
            *self.of_job.entry((*alloc.group).into()).or_default() += 1;
        }
    }
}

/// Nodes on which earlier attempts of a slot failed: chosen only if nothing else fits as well.
fn penalised_nodes(request: &PlaceRequest) -> Vec<NodeId> {
    let Some(previous) = request.previous.as_ref().filter(|_| request.rescheduled) else {
        return Vec::new();
    };
    let earlier = previous.reschedule.iter().flat_map(|t| t.events.iter()).map(|e| e.prev_node_id);
    earlier.chain([previous.node_id]).collect()
}

fn filter_out(metric: &mut AllocMetric, reason: &str, node: Option<&Arc<Node>>) {
    metric.nodes_filtered += 1;
    *metric.constraint_filtered.entry(reason.to_owned()).or_default() += 1;
    if let Some(class) = node.map(|n| &n.node_class).filter(|c| !c.is_empty()) {
        *metric.class_filtered.entry(class.clone()).or_default() += 1;
    }
}

fn exhaust(metric: &mut AllocMetric, dimension: &str, node: Option<&Arc<Node>>) {
    metric.nodes_exhausted += 1;
    *metric.dimension_exhausted.entry(dimension.to_owned()).or_default() += 1;
    if let Some(class) = node.map(|n| &n.node_class).filter(|c| !c.is_empty()) {
        *metric.class_exhausted.entry(class.clone()).or_default() += 1;
    }
}

/// Whether jobs of this type are placed by the generic steps.
pub fn is_generic(kind: JobType) -> bool {
    matches!(kind, JobType::Service | JobType::Batch)
}
