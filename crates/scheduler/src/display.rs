//! A plan as text, one line per change: for tests, and for people who ask why.

use std::fmt::Write;

use model::plan::Plan;
use state::Snapshot;

use crate::Outcome;

/// The changes of an outcome, in a stable order, without ids that differ from run to run.
pub fn outcome_text(snapshot: &Snapshot, outcome: &Outcome) -> String {
    let mut text = plan_text(snapshot, &outcome.plan);
    let mut line = |words: String| {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{words}");
    };
    for (group, metric) in &outcome.eval.failed_tg_allocs {
        let reasons: Vec<String> = metric
            .constraint_filtered
            .iter()
            .chain(metric.dimension_exhausted.iter())
            .map(|(reason, n)| format!("{reason} on {n}"))
            .collect();
        let more = metric.coalesced_failures;
        line(format!("no place for {group} and {more} more: {}", reasons.join(", ")));
    }
    for eval in &outcome.new_evals {
        let wait = if eval.wait_until.is_zero() { String::new() } else { " later".to_owned() };
        line(format!("evaluation {} {}{wait}", eval.triggered_by, eval.status.as_str()));
    }
    line(format!("this evaluation {}", outcome.eval.status.as_str()));
    text
}

fn plan_text(snapshot: &Snapshot, plan: &Plan) -> String {
    let mut lines = Vec::new();
    for stop in &plan.stop {
        let name = snapshot.alloc(&stop.id).map(|a| a.name()).unwrap_or_default();
        let status = stop.client_status.map(|s| format!(" as {}", s.as_str())).unwrap_or_default();
        lines.push(format!("stop {name}{status}: {}", stop.description));
    }
    for alloc in &plan.place {
        let verb = if snapshot.alloc(&alloc.id).is_some() { "update" } else { "place" };
        let mut words =
            format!("{verb} {} v{} on {}", alloc.name(), alloc.job_version, alloc.node_name);
        if alloc.is_canary() {
            words.push_str(" as canary");
        }
        if alloc.reschedule.is_some() {
            words.push_str(" as new attempt");
        }
        let ports: Vec<String> =
            alloc.resources.host_ports().map(|(ip, p)| format!("{ip}:{p}")).collect();
        if !ports.is_empty() {
            let _ = write!(words, " with {}", ports.join(" "));
        }
        lines.push(words);
    }
    lines.sort();
    if let Some(deployment) = &plan.deployment {
        lines.push(format!(
            "deployment of v{} begins: {}",
            deployment.job_version, deployment.status_description
        ));
    }
    for update in &plan.deployment_updates {
        lines.push(format!("deployment {}: {}", update.status.as_str(), update.description));
    }
    lines.extend(plan.delayed.iter().map(|(id, _)| {
        format!("later: {}", snapshot.alloc(id).map(|a| a.name()).unwrap_or_default())
    }));
    lines.iter().map(|l| format!("{l}\n")).collect()
}
