//! Deployments on their way: health, promotion, deadlines, success, failure and going back.
//!
//! A decision is taken from the state and the time alone, so that a restart continues where the
//! last leader stopped.
//!
//! ```text
//! running ──all groups healthy──► successful (version marked stable)
//!    │ ▲
//!    │ └─ promoted by itself when all canaries are healthy and `auto_promote` is set
//!    └──unhealthy, or no progress in time──► failed ──auto_revert──► last stable version
//! ```

use std::time::Duration;

use model::deployment::{Deployment, DeploymentGroup, DeploymentStatus, description};
use model::eval::Evaluation;
use model::ids::DeploymentId;
use model::job::Job;
use model::plan::DeploymentUpdate;
use model::wire::Nanos;
use state::{Command, Snapshot, Table};

use crate::endpoints::eval::for_job;
use crate::random;
use crate::server::Server;

/// How long the loop sleeps when no deadline is near.
const SLEEP_MAX: Duration = Duration::from_secs(600);
/// How long it waits before it tries again what could not be committed.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// What a deployment needs now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Nothing before this time.
    Wait(Nanos),
    /// All is healthy.
    Succeed,
    /// Canaries take over.
    Promote,
    /// It failed, for this reason.
    Fail(&'static str),
    /// Health changed: the scheduler may go on.
    Continue,
}

/// Runs until the server stops.
pub(crate) async fn run(server: Server) {
    let tables = [Table::Deployments, Table::Allocs];
    let mut seen: std::collections::BTreeMap<DeploymentId, (u32, u32)> = Default::default();
    let mut wait = Duration::ZERO;
    let mut last = 0;
    loop {
        let snapshot = server.wait(&tables, last, wait).await;
        if server.inner.stop.is_cancelled() {
            return;
        }
        last = snapshot.tables_index(&tables);
        let now = random::now();
        let mut next = now + Nanos::try_from(SLEEP_MAX.as_nanos()).unwrap_or(Nanos::MAX);
        let active: Vec<DeploymentId> = snapshot
            .deployments()
            .filter(|d| d.status == DeploymentStatus::Running)
            .map(|d| d.id)
            .collect();
        seen.retain(|id, _| active.contains(id));
        let mut failed = false;
        for id in active {
            let Some(view) = snapshot.deployment(&id) else { continue };
            let health = health(&view);
            let canaries = healthy_canaries(&snapshot, &view);
            let step =
                step(&view, &canaries, leftovers(&snapshot, &view), seen.get(&id).copied(), now);
            if let Step::Wait(until) = step {
                next = next.min(until);
                seen.insert(id, health);
                continue;
            }
            match act(&server, &snapshot, &view, &step, now).await {
                Ok(()) => {
                    server.inner.leader.loops.report("deployments", format!("{id}: {step:?}"));
                    seen.insert(id, health);
                    if let Step::Continue = step {
                        next = next.min(deadline(&view, &canaries).unwrap_or(next));
                    }
                }
                Err(error) => {
                    tracing::warn!(deployment_id = %id, %error, "a step of a deployment was not committed");
                    failed = true;
                }
            }
        }
        wait = if failed {
            RETRY_WAIT
        } else {
            Duration::from_nanos(u64::try_from(next - now).unwrap_or(0).max(1_000_000))
        };
    }
}

/// Live allocations of older versions, which the deployment has yet to replace.
fn leftovers(snapshot: &Snapshot, view: &Deployment) -> usize {
    let older = |a: &&std::sync::Arc<model::alloc::Alloc>| {
        a.job_create_index == view.job_create_index
            && a.job_version < view.job_version
            && !a.is_terminal()
            && view.task_groups.contains_key(&*a.group)
    };
    snapshot.allocs_of_job(&view.job()).filter(older).count()
}

fn health(view: &Deployment) -> (u32, u32) {
    let groups = view.task_groups.values();
    groups.fold((0, 0), |(h, u), g| (h + g.healthy_allocs, u + g.unhealthy_allocs))
}

/// The healthy canaries of each group; others of a group do not stand in for them.
fn healthy_canaries(snapshot: &Snapshot, view: &Deployment) -> Canaries {
    let healthy = |id: &&model::ids::AllocId| {
        snapshot.alloc(id).is_some_and(|a| a.health() == Some(true) && !a.is_terminal())
    };
    let groups = view.task_groups.iter();
    groups
        .map(|(name, g)| (name.clone(), g.placed_canaries.iter().filter(healthy).count()))
        .collect()
}

/// How many canaries of each group are healthy.
type Canaries = std::collections::BTreeMap<String, usize>;

fn waits_for_promotion(group: &DeploymentGroup) -> bool {
    group.desired_canaries > 0 && !group.promoted
}

fn canaries_are_healthy(name: &str, group: &DeploymentGroup, canaries: &Canaries) -> bool {
    canaries.get(name).is_some_and(|healthy| *healthy >= group.desired_canaries as usize)
}

/// The earliest time by which some group has to have made progress. Canaries that are healthy
/// wait for a person, as long as it takes.
fn deadline(view: &Deployment, canaries: &Canaries) -> Option<Nanos> {
    let pressed = view.task_groups.iter().filter(|(name, g)| {
        let waits_for_a_person = waits_for_promotion(g) && canaries_are_healthy(name, g, canaries);
        !is_done(g) && !waits_for_a_person
    });
    pressed.map(|(_, g)| g.require_progress_by.0).filter(|t| *t > 0).min()
}

fn is_done(group: &DeploymentGroup) -> bool {
    let promoted = group.desired_canaries == 0 || group.promoted;
    promoted && group.healthy_allocs >= group.desired_total
}

/// Decides. `seen` is the health at which the scheduler was last told to go on.
pub(crate) fn step(
    view: &Deployment,
    canaries: &Canaries,
    leftovers: usize,
    seen: Option<(u32, u32)>,
    now: Nanos,
) -> Step {
    let groups = || view.task_groups.iter();
    // It has not succeeded while something of an older version runs: ended too early, it would
    // leave the scheduler without the memory that its canaries were promoted.
    if groups().all(|(_, g)| is_done(g)) && leftovers == 0 {
        return Step::Succeed;
    }
    for (_, group) in groups() {
        let impatient = group.progress_deadline == 0 || group.auto_revert;
        if group.unhealthy_allocs > 0 && impatient {
            return Step::Fail(description::FAILED_ALLOCS);
        }
    }
    let mut canaried = groups().filter(|(_, g)| waits_for_promotion(g)).peekable();
    if canaried.peek().is_some()
        && view.has_auto_promote()
        && canaried.all(|(name, g)| canaries_are_healthy(name, g, canaries))
    {
        return Step::Promote;
    }
    let deadline = deadline(view, canaries);
    if deadline.is_some_and(|d| d <= now) {
        return Step::Fail(description::FAILED_DEADLINE);
    }
    if seen.is_some_and(|seen| seen != health(view)) || (seen.is_none() && health(view) != (0, 0)) {
        return Step::Continue;
    }
    let forever = now + Nanos::try_from(SLEEP_MAX.as_nanos()).unwrap_or(Nanos::MAX);
    Step::Wait(deadline.unwrap_or(forever))
}

async fn act(
    server: &Server,
    snapshot: &Snapshot,
    view: &Deployment,
    step: &Step,
    now: Nanos,
) -> Result<(), crate::Fault> {
    let Some(job) = snapshot.job(&view.job()) else { return Ok(()) };
    let eval = || {
        Box::new(Evaluation {
            deployment_id: Some(view.id),
            ..for_job(job, model::eval::trigger::DEPLOYMENT_WATCHER)
        })
    };
    let command = match step {
        Step::Wait(_) => return Ok(()),
        Step::Continue => Command::UpsertEvals { evals: vec![*eval()], now },
        Step::Promote => {
            Command::DeploymentPromote { id: view.id, groups: Vec::new(), eval: Some(eval()), now }
        }
        Step::Succeed => Command::DeploymentStatus {
            update: update(view, DeploymentStatus::Successful, description::SUCCESSFUL.to_owned()),
            eval: Some(eval()),
            revert: None,
            stable: true,
            now,
        },
        Step::Fail(why) => fail(snapshot, view, why, eval(), now),
    };
    match server.commit(&command).await {
        Ok(_) => Ok(()),
        // Somebody else ended it meanwhile: nothing is left to do.
        Err(fault) if fault.kind == crate::Kind::NotFound => Ok(()),
        Err(fault) => Err(fault),
    }
}

fn update(view: &Deployment, status: DeploymentStatus, description: String) -> DeploymentUpdate {
    DeploymentUpdate { id: view.id, status, description }
}

/// A failed deployment, with the version that comes back if its groups ask for that.
pub(crate) fn fail(
    snapshot: &Snapshot,
    view: &Deployment,
    why: &str,
    eval: Box<Evaluation>,
    now: Nanos,
) -> Command {
    let wants_revert = view.task_groups.values().any(|g| g.auto_revert);
    let revert = wants_revert.then(|| revert_target(snapshot, view)).flatten();
    let text = match &revert {
        Some(job) => format!("{why} - rolling back to job version {}", job.version()),
        None if wants_revert => format!("{why} - no stable job version to auto revert to"),
        None => why.to_owned(),
    };
    Command::DeploymentStatus {
        update: update(view, DeploymentStatus::Failed, text),
        eval: Some(eval),
        revert: revert.map(Box::new),
        stable: false,
        now,
    }
}

/// The newest stable version that differs from the one that failed.
fn revert_target(snapshot: &Snapshot, view: &Deployment) -> Option<Job> {
    let entry = snapshot.job_entry(&view.job())?;
    let current = entry.job();
    let stable =
        entry.versions.iter().find(|j| j.stable == Some(true) && j.version() < view.job_version)?;
    let same = state::tables::jobs::same_specification(stable, current);
    (!same).then(|| Job::clone(stable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wire::{SECOND, Time};

    fn view(group: DeploymentGroup) -> Deployment {
        let mut view = Deployment::default();
        view.task_groups.insert("g".to_owned(), group);
        view
    }

    fn group() -> DeploymentGroup {
        DeploymentGroup {
            desired_total: 3,
            progress_deadline: 600 * SECOND,
            require_progress_by: Time(1000),
            ..DeploymentGroup::default()
        }
    }

    #[test]
    fn each_situation_has_its_step() {
        let step_of = |g: DeploymentGroup, seen| step(&view(g), &Canaries::new(), 0, seen, 500);
        assert_eq!(step_of(group(), None), Step::Wait(1000));
        assert_eq!(step_of(DeploymentGroup { healthy_allocs: 3, ..group() }, None), Step::Succeed);
        let all = DeploymentGroup { healthy_allocs: 3, ..group() };
        assert!(matches!(step(&view(all), &Canaries::new(), 1, Some((3, 0)), 500), Step::Wait(_)));
        let one = DeploymentGroup { healthy_allocs: 1, ..group() };
        assert_eq!(step_of(one.clone(), Some((0, 0))), Step::Continue);
        assert_eq!(step_of(one, Some((1, 0))), Step::Wait(1000));
        let bad = DeploymentGroup { unhealthy_allocs: 1, ..group() };
        assert_eq!(step_of(bad.clone(), Some((0, 1))), Step::Wait(1000));
        assert_eq!(
            step_of(DeploymentGroup { progress_deadline: 0, ..bad }, None),
            Step::Fail(description::FAILED_ALLOCS)
        );
        assert_eq!(
            step(&view(group()), &Canaries::new(), 0, None, 1000),
            Step::Fail(description::FAILED_DEADLINE)
        );
    }

    #[test]
    fn healthy_canaries_wait_for_a_person_or_promote_themselves() {
        let canaries = DeploymentGroup {
            desired_canaries: 1,
            healthy_allocs: 1,
            placed_canaries: vec![model::ids::AllocId::from_name("c")].into(),
            ..group()
        };
        let healthy = Canaries::from([("g".to_owned(), 1)]);
        let late = 5000;
        assert!(matches!(
            step(&view(canaries.clone()), &healthy, 0, Some((1, 0)), late),
            Step::Wait(_)
        ));
        let auto = DeploymentGroup { auto_promote: true, ..canaries };
        assert_eq!(step(&view(auto.clone()), &healthy, 0, Some((1, 0)), late), Step::Promote);
        // The healthy one is no canary: apply would refuse the promotion.
        let other = step(&view(auto), &Canaries::new(), 0, Some((1, 0)), 500);
        assert_eq!(other, Step::Wait(1000));
    }

    #[test]
    fn a_group_that_waits_for_its_promotion_does_not_fail_one_that_goes_on() {
        let waiting = DeploymentGroup { desired_canaries: 1, healthy_allocs: 1, ..group() };
        let going_on = DeploymentGroup { require_progress_by: Time(9000), ..group() };
        let mut both = view(waiting);
        both.task_groups.insert("h".to_owned(), going_on);
        let healthy = Canaries::from([("g".to_owned(), 1)]);
        assert_eq!(step(&both, &healthy, 0, Some((1, 0)), 5000), Step::Wait(9000));
    }
}
