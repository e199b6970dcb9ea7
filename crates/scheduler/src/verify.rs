//! The last look at a plan, against the newest state, by the one writer (hop 12).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::alloc::Alloc;
use model::ids::{AllocId, NodeId};
use model::node::Node;
use model::plan::Plan;
use state::Snapshot;
use state::usage::usage;

/// What of a plan may be committed.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The part that fits.
    pub plan: Plan,
    /// Nodes whose placements were refused, with the reason.
    pub refused: BTreeMap<NodeId, String>,
}

impl Verdict {
    /// Whether all of it fits.
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }
}

/// Checks each node a plan places on; what does not fit there is left out.
pub fn verify(snapshot: &Snapshot, plan: Plan) -> Verdict {
    let mut by_node: BTreeMap<NodeId, Vec<Arc<Alloc>>> = BTreeMap::new();
    for alloc in &plan.place {
        by_node.entry(alloc.node_id).or_default().push(alloc.clone());
    }
    let stops: BTreeMap<AllocId, model::alloc::DesiredStatus> =
        plan.stop.iter().map(|s| (s.id, s.desired)).collect();
    let mut refused = BTreeMap::new();
    for (id, placed) in &by_node {
        let verdict = match snapshot.node(id) {
            None => Err("node does not exist".to_owned()),
            Some(node) => fits(snapshot, node, placed, &stops),
        };
        if let Err(reason) = verdict {
            refused.insert(*id, reason);
        }
    }
    if refused.is_empty() {
        return Verdict { plan, refused };
    }
    let mut kept = plan;
    if kept.all_at_once {
        kept.place.clear();
        kept.stop.clear();
        kept.deployment = None;
        kept.deployment_updates.clear();
        return Verdict { plan: kept, refused };
    }
    let left_out: BTreeSet<AllocId> = kept
        .place
        .iter()
        .filter(|a| refused.contains_key(&a.node_id))
        .filter_map(|a| a.previous)
        .collect();
    kept.place.retain(|a| !refused.contains_key(&a.node_id));
    // What would have been replaced runs on until its replacement has a place.
    kept.stop.retain(|s| !left_out.contains(&s.id) || s.client_status.is_some());
    Verdict { plan: kept, refused }
}

fn fits(
    snapshot: &Snapshot,
    node: &Node,
    placed: &[Arc<Alloc>],
    stops: &BTreeMap<AllocId, model::alloc::DesiredStatus>,
) -> Result<(), String> {
    let is_new = |a: &&Arc<Alloc>| snapshot.alloc(&a.id).is_none();
    if !placed.iter().any(|a| is_new(&a)) {
        return Ok(()); // updates in place ask for nothing more, even where the node has shrunk
    }
    if !node.accepts_work() {
        return Err("node is not ready for placements".to_owned());
    }
    let replaced: BTreeSet<AllocId> = placed.iter().map(|a| a.id).collect();
    let mut allocs: Vec<Arc<Alloc>> = snapshot
        .allocs_of_node(&node.id)
        .filter(|a| !replaced.contains(&a.id))
        .map(|a| match stops.get(&a.id) {
            Some(desired) => Arc::new(Alloc { desired: *desired, ..Alloc::clone(a) }),
            None => a.clone(),
        })
        .collect();
    allocs.extend(placed.iter().map(|a| match snapshot.alloc(&a.id) {
        Some(old) => Arc::new(Alloc { observed: old.observed.clone(), ..Alloc::clone(a) }),
        None => a.clone(),
    }));
    match usage(allocs.iter().map(|a| &**a)).exceeds(node) {
        Some(dimension) => Err(dimension.to_owned()),
        None => Ok(()),
    }
}
