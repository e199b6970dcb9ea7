//! Why something could not be placed.

use sdk::Fields;
use serde_json::Value;

use crate::output::table::Table;
use crate::output::units::plural;

/// The reasons of one group, one a line, each behind `prefix`.
pub(crate) fn reasons(metric: &Value, prefix: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |text: String| lines.push(format!("{prefix}* {text}"));
    if metric.int("NodesEvaluated") == 0 {
        add("No nodes were eligible for evaluation".to_owned());
    }
    for (datacenter, count) in sorted(metric, "NodesAvailable") {
        if count == 0 {
            add(format!("No nodes are available in datacenter \"{datacenter}\""));
        }
    }
    for (class, count) in sorted(metric, "ClassFiltered") {
        add(format!("Class \"{class}\": {count} nodes excluded by filter"));
    }
    for (constraint, count) in sorted(metric, "ConstraintFiltered") {
        add(format!("Constraint \"{constraint}\": {count} nodes excluded by filter"));
    }
    if metric.int("NodesExhausted") > 0 {
        add(format!("Resources exhausted on {} nodes", metric.int("NodesExhausted")));
    }
    for (class, count) in sorted(metric, "ClassExhausted") {
        add(format!("Class \"{class}\" exhausted on {count} nodes"));
    }
    for (dimension, count) in sorted(metric, "DimensionExhausted") {
        add(format!("Dimension \"{dimension}\" exhausted on {count} nodes"));
    }
    for limit in metric.texts("QuotaExhausted") {
        add(format!("Quota limit hit \"{limit}\""));
    }
    lines
}

/// All groups that could not be placed: a title and the reasons for each.
pub(crate) fn failures(failed: &[(&str, &Value)], indent: usize) -> Vec<String> {
    let mut groups = failed.to_vec();
    groups.sort_by_key(|(name, _)| *name);
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut lines = Vec::new();
    for (name, metric) in groups {
        let count = plural(metric.int("CoalescedFailures") + 1, "allocation", "allocations");
        lines.push(format!("{outer}Task Group \"{name}\" (failed to place {count}):"));
        lines.extend(reasons(metric, &inner));
    }
    lines
}

/// The scores of the nodes that were looked at; `None` without any.
pub(crate) fn scores(metric: &Value) -> Option<String> {
    let nodes = metric.items("ScoreMetaData");
    let mut terms: Vec<&str> = Vec::new();
    for (term, _) in nodes.iter().flat_map(|node| node.entries("Scores")) {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms.sort_unstable();
    let mut headings = vec!["Node"];
    headings.extend(&terms);
    headings.push("final score");
    let mut table = Table::new(&headings);
    for node in nodes {
        let scores = node.at("Scores");
        let mut row = vec![node.text("NodeID").to_owned()];
        row.extend(terms.iter().map(|term| score(scores.number(term))));
        row.push(score(node.number("NormScore")));
        table.row(row);
    }
    (!table.is_empty()).then(|| table.render())
}

/// Three digits behind the leading zeros are enough to compare.
fn score(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.4}") }
}

fn sorted<'v>(metric: &'v Value, key: &str) -> Vec<(&'v str, i64)> {
    let mut entries: Vec<(&str, i64)> = metric
        .entries(key)
        .into_iter()
        .map(|(name, count)| (name, count.as_i64().unwrap_or_default()))
        .collect();
    entries.sort_unstable();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn filters_come_before_what_ran_out() {
        let metric = json!({
            "NodesEvaluated": 4, "NodesExhausted": 2, "CoalescedFailures": 2,
            "NodesAvailable": {"dc1": 4, "dc2": 0}, "ClassFiltered": {"gpu": 1},
            "ConstraintFiltered": {"${attr.kernel.name} = linux": 2},
            "ClassExhausted": {"big": 1}, "DimensionExhausted": {"memory": 2, "cpu": 1}
        });
        let empty = json!({});
        let lines = failures(&[("web", &metric), ("api", &empty)], 0);
        expect![[r#"
            Task Group "api" (failed to place 1 allocation):
              * No nodes were eligible for evaluation
            Task Group "web" (failed to place 3 allocations):
              * No nodes are available in datacenter "dc2"
              * Class "gpu": 1 nodes excluded by filter
              * Constraint "${attr.kernel.name} = linux": 2 nodes excluded by filter
              * Resources exhausted on 2 nodes
              * Class "big" exhausted on 1 nodes
              * Dimension "cpu" exhausted on 1 nodes
              * Dimension "memory" exhausted on 2 nodes"#]]
        .assert_eq(&lines.join("\n"));
    }
}
