//! Scores: the mean of the terms that apply, each from -1 to 1 (`docs` say which applies when).

use model::alloc::{AllocatedResources, NodeScoreMeta};
use model::job::{Job, TaskGroup};
use model::node::Node;
use state::usage::Usage;

use super::target::compare;

/// The raw bin-packing score of a node that is exactly full; scores are divided by it.
/// Figure and formula are those of the documented score: 20 − (10^freeCPU + 10^freeMemory).
const BINPACK_MAX: f64 = 18.0;

/// What a score depends on.
pub(crate) struct Facts<'a> {
    pub job: &'a Job,
    pub group: &'a TaskGroup,
    pub node: &'a Node,
    pub held: &'a Usage,
    pub asked: &'a AllocatedResources,
    /// Live allocations of the same group already on the node.
    pub same_group: usize,
    pub penalised: bool,
    pub spread_algorithm: bool,
}

/// The score of a node, with its terms.
pub(crate) fn score(facts: &Facts<'_>) -> NodeScoreMeta {
    let mut meta = NodeScoreMeta { node_id: facts.node.id, ..NodeScoreMeta::default() };
    let mut applied = Vec::new();
    let mut term = |name: &str, value: Option<f64>| {
        meta.scores.insert(name.to_owned(), value.unwrap_or(0.0));
        applied.extend(value);
    };
    term("binpack", Some(fitness(facts)));
    term("job-anti-affinity", anti_affinity(facts));
    term("node-reschedule-penalty", facts.penalised.then_some(-1.0));
    term("node-affinity", affinity(facts));
    meta.norm_score = applied.iter().sum::<f64>() / applied.len() as f64;
    meta
}

fn fitness(facts: &Facts<'_>) -> f64 {
    let free = |used: i64, asked: i64, usable: i64| {
        if usable <= 0 { 0.0 } else { 1.0 - (used + asked) as f64 / usable as f64 }
    };
    let cpu = free(facts.held.cpu, facts.asked.cpu(), facts.node.usable_cpu());
    let memory = free(facts.held.memory_mb, facts.asked.memory_mb(), facts.node.usable_memory_mb());
    let total = 10_f64.powf(cpu) + 10_f64.powf(memory);
    let raw = if facts.spread_algorithm { total - 2.0 } else { 20.0 - total };
    raw.clamp(0.0, BINPACK_MAX) / BINPACK_MAX
}

fn anti_affinity(facts: &Facts<'_>) -> Option<f64> {
    let count = f64::from(facts.group.count().max(1));
    (facts.same_group > 0 && count > 1.0)
        .then(|| -((facts.same_group as f64 + 1.0) / count).min(1.0))
}

fn affinity(facts: &Facts<'_>) -> Option<f64> {
    let tasks = facts.group.tasks.iter().flat_map(|t| t.affinities.iter());
    let all = facts.job.affinities.iter().chain(facts.group.affinities.iter()).chain(tasks);
    let (mut total, mut sum, mut any) = (0.0, 0.0, false);
    for wish in all {
        let weight = wish.weight.unwrap_or(50) as f64;
        any = true;
        sum += weight.abs();
        if compare(&wish.operand, &wish.l_target, &wish.r_target, facts.node) {
            total += weight;
        }
    }
    (any && total != 0.0 && sum > 0.0).then(|| total / sum)
}
