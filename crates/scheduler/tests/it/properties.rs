//! What holds whatever happens: random clusters, random events, a seed to repeat them.

use model::alloc::ClientStatus;
use serde_json::json;
use state::Command;

use crate::cluster::*;

/// A small generator of our own, so that a seed means the same for ever (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

fn one_step(cluster: &mut Cluster, chance: &mut Chance, version: &mut u64) {
    let id = format!("j{}", chance.below(3));
    let exists = cluster.view().job(&key(&id)).is_some();
    match chance.below(9) {
        0 | 1 => {
            let kind = if id == "j0" { "batch" } else { "service" };
            let ports = json!({ "Networks": [{ "DynamicPorts": [{ "Label": "a" }] }] });
            *version += chance.below(2);
            let count = chance.below(6) as u32;
            cluster.register(&with_env(job(&id, kind, count, ports), &version.to_string()));
        }
        2 if exists => {
            let now = cluster.now;
            cluster.apply(Command::DeregisterJob {
                no_shutdown_delay: false,
                job: key(&id),
                purge: chance.below(2) == 0,
                eval: None,
                now,
            });
        }
        3 => cluster.take_down(&format!("n{}", 1 + chance.below(4))),
        4 => {
            let fresh = node(&format!("n{}", 1 + chance.below(4)));
            cluster.node(fresh);
        }
        5 | 6 => {
            let live = cluster.live(&id);
            if !live.is_empty() {
                let alloc = live[chance.below(live.len() as u64) as usize].clone();
                let status = [ClientStatus::Running, ClientStatus::Complete, ClientStatus::Failed];
                cluster.report(&alloc, status[chance.below(3) as usize]);
            }
        }
        7 => {
            // Nodes confirm what they were asked to stop.
            let stopping: Vec<_> = cluster
                .allocs(&id)
                .into_iter()
                .filter(|a| a.is_server_terminal() && !a.is_client_terminal())
                .collect();
            for alloc in stopping {
                cluster.report(&alloc, ClientStatus::Complete);
            }
        }
        _ => cluster.now += 60 * model::wire::SECOND,
    }
    // Every step ends with a decision; `run` checks the invariants after each.
    cluster.run(&id);
    let view = cluster.view();
    let wanted =
        view.job(&key(&id)).filter(|j| !j.is_stopped()).map_or(0, |j| j.task_groups[0].count());
    let running = cluster.live(&id).iter().filter(|a| !a.is_canary()).count();
    assert!(running <= wanted as usize, "{id}: {running} live of {wanted} wanted");
}

#[test]
fn no_order_of_events_breaks_an_invariant_or_overshoots_a_count() {
    for seed in 1..=60 {
        let mut cluster = Cluster::new().nodes(4);
        let mut chance = Chance(seed);
        let mut version = 0;
        for _ in 0..60 {
            one_step(&mut cluster, &mut chance, &mut version);
        }
    }
}

/// Service with canaries, rolling service and batch, of one or two groups.
fn varied(chance: &mut Chance, id: &str, version: u64) -> model::job::Job {
    let kind = if id == "j0" { "batch" } else { "service" };
    let count = chance.below(4) as u32;
    let update =
        json!({ "Update": { "MaxParallel": 1 + chance.below(2), "Canary": chance.below(2) } });
    let more = if kind == "batch" { json!({}) } else { update };
    let mut made = with_env(job(id, kind, count, more), &version.to_string());
    if chance.below(3) == 0 {
        let mut second = made.task_groups[0].clone();
        second.name = Some("h".to_owned());
        second.count = Some(chance.below(3) as i64);
        made.task_groups.push(second);
    }
    if chance.below(3) == 0 {
        made.task_groups[0].tasks[0].kill_timeout = Some(30 * model::wire::SECOND);
    }
    made
}

fn pick<T: Clone>(chance: &mut Chance, of: &[T]) -> Option<T> {
    (!of.is_empty()).then(|| of[chance.below(of.len() as u64) as usize].clone())
}

fn disturb(cluster: &mut Cluster, chance: &mut Chance, version: &mut u64) {
    let id = format!("j{}", chance.below(3));
    let now = cluster.now;
    match chance.below(12) {
        0 | 1 => {
            *version += chance.below(2);
            let made = varied(chance, &id, *version);
            cluster.register(&made);
        }
        2 => {
            let purge = chance.below(2) == 0;
            cluster.apply(Command::DeregisterJob {
                job: key(&id),
                purge,
                no_shutdown_delay: false,
                eval: None,
                now,
            });
        }
        3 => cluster.take_down(&format!("n{}", 1 + chance.below(4))),
        4 => cluster.node(node(&format!("n{}", 1 + chance.below(4)))),
        5..=7 => {
            let waiting: Vec<_> =
                cluster.allocs(&id).into_iter().filter(|a| !a.is_client_terminal()).collect();
            if let Some(alloc) = pick(chance, &waiting) {
                let status = [ClientStatus::Running, ClientStatus::Complete, ClientStatus::Failed];
                cluster.report(&alloc, status[chance.below(3) as usize]);
            }
        }
        8 => {
            if let Some(alloc) = pick(chance, &cluster.live(&id)) {
                cluster.migrate(&alloc);
            }
        }
        9 => {
            let deployments = cluster.view().deployments_of_job(&key(&id));
            if let Some(found) = pick(chance, &deployments) {
                let command = if chance.below(2) == 0 {
                    Command::DeploymentPromote { id: found.id, groups: vec![], eval: None, now }
                } else {
                    let status = [
                        model::deployment::DeploymentStatus::Paused,
                        model::deployment::DeploymentStatus::Running,
                        model::deployment::DeploymentStatus::Failed,
                    ][chance.below(3) as usize];
                    let update = model::plan::DeploymentUpdate {
                        id: found.id,
                        status,
                        description: String::new(),
                    };
                    let (eval, revert, stable) = (None, None, false);
                    Command::DeploymentStatus { update, eval, revert, stable, now }
                };
                // Whether it is refused is not the point here.
                cluster.try_apply(command);
            }
        }
        10 => cluster.restore(),
        _ => cluster.now += 60 * model::wire::SECOND,
    }
    cluster.run(&id);
}

/// All nodes come back, everything is confirmed, and the jobs get what they ask for.
fn settle(cluster: &mut Cluster, seed: u64) {
    for n in 1..=9 {
        cluster.node(node(&format!("n{n}")));
    }
    for id in ["j0", "j1", "j2"] {
        // A fresh version without canaries, so that no decision of a person is waited for.
        let exists = cluster.view().job(&key(id)).is_some_and(|j| !j.is_stopped());
        let kind = if id == "j0" { "batch" } else { "service" };
        if exists {
            cluster.register(&with_env(job(id, kind, 3, json!({})), "last"));
        }
        for _ in 0..12 {
            cluster.now += 7200 * model::wire::SECOND;
            cluster.run(id);
            for alloc in cluster.allocs(id).iter().filter(|a| !a.is_client_terminal()) {
                let ends = alloc.is_server_terminal();
                let status = if ends { ClientStatus::Complete } else { ClientStatus::Running };
                cluster.report(alloc, status);
            }
        }
        let wanted = if exists { 3 } else { 0 };
        let live = cluster.live(id);
        let slots: Vec<String> = live.iter().map(|a| a.name()).collect();
        assert_eq!(live.len(), wanted, "seed {seed}, {id}: {slots:?}");
        let eval = cluster.eval(id);
        let (outcome, text) = cluster.decide(&eval);
        assert!(outcome.plan.is_empty(), "seed {seed}, {id} never comes to rest: {text}");
    }
}

#[test]
fn what_ended_stays_ended_and_after_every_storm_the_count_is_reached_and_nothing_moves() {
    for seed in 1..=80 {
        let mut cluster = Cluster::new().nodes(4);
        let mut chance = Chance(seed * 7919);
        let mut version = 0;
        for _ in 0..50 {
            let before = cluster.view();
            disturb(&mut cluster, &mut chance, &mut version);
            let after = cluster.view();
            for old in before.allocs().filter(|a| a.is_terminal()) {
                let new = after.alloc(&old.id).unwrap();
                assert!(new.is_terminal(), "seed {seed}: {} came back", old.name());
            }
            for old in before.deployments().filter(|d| !d.status.is_active()) {
                let new = after.deployment_row(&old.id).unwrap();
                assert_eq!(new.status, old.status, "seed {seed}: a deployment went back");
            }
            for old in before.allocs().filter(|a| {
                a.observed.status == ClientStatus::Complete
                    && !a.is_server_terminal()
                    && a.spec.job_type() == model::job::JobType::Batch
            }) {
                let again = after.allocs().find(|a| {
                    (&a.job, a.job_create_index, a.job_version, &a.group, a.index)
                        == (&old.job, old.job_create_index, old.job_version, &old.group, old.index)
                        && a.create_index > before.index()
                });
                assert!(again.is_none(), "seed {seed}: {} runs a second time", old.name());
            }
        }
        settle(&mut cluster, seed);
    }
}
