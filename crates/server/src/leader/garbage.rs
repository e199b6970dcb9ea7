//! Collection: what is terminal and past its retention is forgotten, in small log entries.
//!
//! What fills a slot of the current version of a batch job is never collected: without its record
//! the finished work would run again.

use std::time::Duration;

use model::alloc::Alloc;
use model::ids::{AllocId, DeploymentId, EvalId, JobKey, NodeId};
use model::node::NodeStatus;
use model::wire::{Nanos, SECOND};
use state::{Command, Snapshot};

use crate::random;
use crate::server::{GcConfig, Server};

/// How many objects one log entry forgets.
const OBJECTS_PER_ENTRY: usize = 2000;

/// What is to be forgotten.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Garbage {
    pub evals: Vec<EvalId>,
    pub allocs: Vec<AllocId>,
    pub deployments: Vec<DeploymentId>,
    pub jobs: Vec<JobKey>,
    pub nodes: Vec<NodeId>,
}

/// Runs until the server stops.
pub(crate) async fn run(server: Server) {
    loop {
        let forced = tokio::select! {
            () = tokio::time::sleep(server.config().gc.interval) => false,
            () = server.inner.leader.force_gc.notified() => true,
            () = server.inner.stop.cancelled() => return,
        };
        let snapshot = server.snapshot();
        let garbage = find(&snapshot, &server.config().gc, random::now(), forced);
        let count = garbage.evals.len()
            + garbage.allocs.len()
            + garbage.deployments.len()
            + garbage.jobs.len()
            + garbage.nodes.len();
        server.inner.leader.loops.report("garbage", format!("forgot {count} objects"));
        for command in commands(garbage) {
            if let Err(error) = server.commit(&command).await {
                tracing::warn!(%error, "garbage was not collected; the next run tries again");
                break;
            }
        }
    }
}

/// Finds what is past its retention; `forced` ignores the thresholds.
pub(crate) fn find(snapshot: &Snapshot, config: &GcConfig, now: Nanos, forced: bool) -> Garbage {
    let cutoff = |threshold: Duration| {
        if forced {
            now + SECOND
        } else {
            now - Nanos::try_from(threshold.as_nanos()).unwrap_or(Nanos::MAX)
        }
    };
    let mut garbage = Garbage::default();
    let (eval_cutoff, batch_cutoff) =
        (cutoff(config.eval_threshold), cutoff(config.batch_eval_threshold));
    for eval in snapshot.evals().filter(|e| e.status.is_terminal()) {
        let batch = eval.kind == "batch";
        if eval.modify_time >= if batch { batch_cutoff } else { eval_cutoff } {
            continue;
        }
        let allocs: Vec<&Alloc> = snapshot.allocs_of_eval(&eval.id).map(|a| &**a).collect();
        let past = |a: &&Alloc| a.modify_time < if batch { batch_cutoff } else { eval_cutoff };
        let (gone, kept): (Vec<&Alloc>, Vec<&Alloc>) =
            allocs.into_iter().partition(|a| is_collectable(snapshot, a) && past(a));
        garbage.allocs.extend(gone.iter().map(|a| a.id));
        if kept.is_empty() {
            garbage.evals.push(eval.id);
        }
    }
    // Allocations whose evaluation is gone already (updated in place, or an evaluation deleted).
    for alloc in snapshot.allocs() {
        let orphaned = snapshot.eval(&alloc.eval_id).is_none();
        if orphaned && alloc.modify_time < eval_cutoff && is_collectable(snapshot, alloc) {
            garbage.allocs.push(alloc.id);
        }
    }
    let deployment_cutoff = cutoff(config.deployment_threshold);
    for deployment in snapshot.deployments() {
        let in_use = || snapshot.allocs_of_deployment(&deployment.id).any(|a| !a.is_terminal());
        if !deployment.status.is_active() && deployment.modify_time < deployment_cutoff && !in_use()
        {
            garbage.deployments.push(deployment.id);
        }
    }
    find_jobs(snapshot, cutoff(config.job_threshold), &mut garbage);
    let node_cutoff = cutoff(config.node_threshold);
    for node in snapshot.nodes() {
        let empty = snapshot.allocs_of_node(&node.id).next().is_none();
        if node.status == NodeStatus::Down && empty && node.status_updated_at * SECOND < node_cutoff
        {
            garbage.nodes.push(node.id);
        }
    }
    garbage
}

/// A dead job goes as a whole: its evaluations and allocations with it.
fn find_jobs(snapshot: &Snapshot, cutoff: Nanos, garbage: &mut Garbage) {
    for (key, entry) in snapshot.jobs() {
        let job = entry.job();
        let finished = job.is_stopped() || job.job_type().runs_to_completion();
        if entry.status() != "dead" || !finished || job.is_periodic() || job.is_parameterized() {
            continue;
        }
        let evals = snapshot.evals_of_job(key);
        let newest = evals
            .iter()
            .map(|e| e.modify_time)
            .max()
            .unwrap_or(0)
            .max(job.submit_time.unwrap_or(0));
        if newest >= cutoff || snapshot.allocs_of_job(key).any(|a| !a.is_client_terminal()) {
            continue;
        }
        garbage.jobs.push(key.clone());
        garbage.allocs.extend(snapshot.allocs_of_job(key).map(|a| a.id));
        garbage.evals.extend(evals.iter().map(|e| e.id));
    }
    garbage.allocs.sort_unstable();
    garbage.allocs.dedup();
    garbage.evals.sort_unstable();
    garbage.evals.dedup();
}

/// Whether nothing needs the record any more, its age aside.
fn is_collectable(snapshot: &Snapshot, alloc: &Alloc) -> bool {
    if !alloc.is_client_terminal() {
        return false;
    }
    let Some(job) = snapshot.job(&alloc.job).filter(|j| j.create_index() == alloc.job_create_index)
    else {
        return true;
    };
    if job.is_stopped() || job.group(&alloc.group).is_none() {
        return true;
    }
    if job.job_type().runs_to_completion() {
        // Of an older version, or followed by another attempt, it fills no slot.
        return alloc.job_version < job.version() || alloc.next.is_some();
    }
    // A failed allocation that waits for its next attempt carries the history of its slot.
    let waits = alloc.next.is_none()
        && !alloc.is_server_terminal()
        && alloc.observed.status == model::alloc::ClientStatus::Failed;
    !waits
}

fn commands(garbage: Garbage) -> Vec<Command> {
    let mut commands = Vec::new();
    let empty = || (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let collect = |(allocs, evals, deployments, jobs, nodes)| Command::Collect {
        evals,
        allocs,
        deployments,
        jobs,
        nodes,
    };
    // Allocations first: an evaluation or job goes only when nothing refers to it any more.
    for part in garbage.allocs.chunks(OBJECTS_PER_ENTRY) {
        commands.push(collect((part.to_vec(), empty().1, empty().2, empty().3, empty().4)));
    }
    for part in garbage.evals.chunks(OBJECTS_PER_ENTRY) {
        commands.push(collect((empty().0, part.to_vec(), empty().2, empty().3, empty().4)));
    }
    if !(garbage.deployments.is_empty() && garbage.jobs.is_empty() && garbage.nodes.is_empty()) {
        commands.push(collect((
            Vec::new(),
            Vec::new(),
            garbage.deployments,
            garbage.jobs,
            garbage.nodes,
        )));
    }
    commands
}
