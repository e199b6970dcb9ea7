//! Named checks of what must always hold; used by tests, the simulation, and debug builds.

use std::collections::{BTreeMap, BTreeSet};

use model::api::GroupSummary;
use model::ids::Name;

use crate::snapshot::Snapshot;
use crate::tables::{count_into, is_live};
use crate::usage::usage;

/// Above this many allocations the debug build leaves the recount to the tests.
const DEBUG_CHECK_MAX_ALLOCS: usize = 300;

/// Why an allocation of a node that is down is asked to stop; the wire's words.
pub const LOST: &str = "alloc is lost since its node is down";

/// Every broken invariant, in words; empty when all hold.
pub fn check(snapshot: &Snapshot) -> Vec<String> {
    let mut broken = Vec::new();
    counts_equal_a_recount(snapshot, &mut broken);
    nodes_are_not_overcommitted(snapshot, &mut broken);
    slots_have_one_live_alloc(snapshot, &mut broken);
    broken
}

#[cfg(debug_assertions)]
pub(crate) fn debug_check(snapshot: &Snapshot) {
    if snapshot.alloc_count() <= DEBUG_CHECK_MAX_ALLOCS {
        let broken = check(snapshot);
        assert!(broken.is_empty(), "invariants broken at index {}: {broken:#?}", snapshot.index());
    }
}

fn counts_equal_a_recount(snapshot: &Snapshot, broken: &mut Vec<String>) {
    for (key, entry) in snapshot.jobs() {
        let mut counts: BTreeMap<Name, GroupSummary> =
            entry.counts.keys().map(|g| (g.clone(), GroupSummary::default())).collect();
        let mut live = 0;
        for alloc in snapshot.allocs_of_job(key) {
            if alloc.job_create_index == entry.job().create_index() {
                count_into(&mut counts, alloc);
                live += u32::from(is_live(alloc));
            }
        }
        if counts != entry.counts || live != entry.live_allocs {
            broken.push(format!(
                "job {key:?}: counts {:?} live {} but recounted {counts:?} {live}",
                entry.counts, entry.live_allocs
            ));
        }
        let open = snapshot.evals_of_job(key).iter().filter(|e| !e.status.is_terminal()).count();
        if open != entry.open_evals as usize {
            broken.push(format!(
                "job {key:?}: {} open evaluations but recounted {open}",
                entry.open_evals
            ));
        }
    }
}

fn nodes_are_not_overcommitted(snapshot: &Snapshot, broken: &mut Vec<String>) {
    for node in snapshot.nodes() {
        // What was given up with the node and turns out to run is more than anybody planned for.
        let planned = |a: &&std::sync::Arc<model::alloc::Alloc>| {
            !(a.is_server_terminal() && a.desired_description == LOST)
        };
        let held = usage(snapshot.allocs_of_node(&node.id).filter(planned).map(|a| &**a));
        // A node may shrink under what it runs; what was placed after that has to fit.
        let youngest = snapshot
            .allocs_of_node(&node.id)
            .filter(|a| !a.is_terminal())
            .map(|a| a.create_index)
            .max();
        let placed_knowing = youngest.is_some_and(|index| index > node.modify_index);
        if let Some(what) = held.exceeds(node).filter(|_| placed_knowing) {
            let of = |a: &std::sync::Arc<model::alloc::Alloc>| {
                let ports: Vec<i64> = a.resources.host_ports().map(|(_, p)| p).collect();
                let (wish, seen) = (a.desired.as_str(), a.observed.status.as_str());
                format!(
                    "{} v{} {wish}/{seen} {ports:?} id {} after {:?} since {}",
                    a.name(),
                    a.job_version,
                    a.id.short(),
                    a.previous.map(|p| p.short()),
                    a.create_index
                )
            };
            let holders: Vec<String> =
                snapshot.allocs_of_node(&node.id).filter(|a| a.holds_resources()).map(of).collect();
            broken.push(format!(
                "node {} at {}: {what} is over-committed by {holders:#?}",
                node.id, node.modify_index
            ));
        }
    }
}

/// Two versions may share a slot only while canaries that were promoted take over.
fn slots_have_one_live_alloc(snapshot: &Snapshot, broken: &mut Vec<String>) {
    for (key, _) in snapshot.jobs() {
        let mut held = BTreeSet::new();
        for alloc in snapshot.allocs_of_job(key) {
            let wanted = !alloc.is_terminal() && !alloc.is_canary();
            let system = matches!(
                alloc.spec.job_type(),
                model::job::JobType::System | model::job::JobType::SysBatch
            );
            if wanted
                && !system
                && !held.insert((
                    alloc.job_create_index,
                    alloc.job_version,
                    alloc.group.clone(),
                    alloc.index,
                ))
            {
                broken.push(format!(
                    "job {key:?}: slot {}[{}] filled twice",
                    alloc.group, alloc.index
                ));
            }
        }
    }
}
