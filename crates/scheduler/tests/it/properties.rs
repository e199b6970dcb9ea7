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
