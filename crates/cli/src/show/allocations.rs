//! The table of allocations below jobs, nodes and evaluations.

use sdk::Fields;
use serde_json::Value;

use crate::output::table::Table;
use crate::output::units::id;
use crate::output::when;

/// The table, newest first; the sentence for none.
pub(crate) fn table(allocations: &[Value], verbose: bool) -> String {
    render(allocations, verbose, verbose)
}

/// The same below a node, whose name need not be repeated.
pub(crate) fn table_of_node(allocations: &[Value], verbose: bool) -> String {
    render(allocations, verbose, false)
}

fn render(allocations: &[Value], verbose: bool, node_name: bool) -> String {
    if allocations.is_empty() {
        return "No allocations placed".to_owned();
    }
    let mut headings = vec!["ID"];
    headings.extend(verbose.then_some("Eval ID"));
    headings.push("Node ID");
    headings.extend(node_name.then_some("Node Name"));
    headings.extend(["Task Group", "Version", "Desired", "Status", "Created", "Modified"]);
    let mut sorted: Vec<&Value> = allocations.iter().collect();
    sorted.sort_by_key(|alloc| std::cmp::Reverse(alloc.int("CreateIndex")));
    let mut table = Table::new(&headings);
    for alloc in sorted {
        let mut row = vec![id(alloc.text("ID"), verbose)];
        if verbose {
            row.push(alloc.text("EvalID").to_owned());
        }
        row.push(id(alloc.text("NodeID"), verbose));
        if node_name {
            row.push(alloc.text("NodeName").to_owned());
        }
        row.push(alloc.text("TaskGroup").to_owned());
        row.push(version(alloc).to_string());
        row.push(alloc.text("DesiredStatus").to_owned());
        row.push(alloc.text("ClientStatus").to_owned());
        row.push(when::ago_or_at(alloc.int("CreateTime"), verbose));
        row.push(when::ago_or_at(alloc.int("ModifyTime"), verbose));
        table.row(row);
    }
    table.render()
}

/// The version of the job an allocation runs, from a list row or a whole allocation.
pub(crate) fn version(alloc: &Value) -> i64 {
    match alloc.at("JobVersion") {
        Value::Null => alloc.at("Job").int("Version"),
        version => version.as_i64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn newest_first_with_short_ids() {
        let rows = [
            json!({"ID": "aaaaaaaa-1", "NodeID": "nnnnnnnn-1", "TaskGroup": "g", "JobVersion": 0,
                "DesiredStatus": "stop", "ClientStatus": "complete", "CreateIndex": 5}),
            json!({"ID": "bbbbbbbb-1", "NodeID": "nnnnnnnn-1", "TaskGroup": "g", "JobVersion": 1,
                "DesiredStatus": "run", "ClientStatus": "running", "CreateIndex": 9}),
        ];
        expect![[r#"
            ID        Node ID   Task Group  Version  Desired  Status    Created  Modified
            bbbbbbbb  nnnnnnnn  g           1        run      running   N/A      N/A
            aaaaaaaa  nnnnnnnn  g           0        stop     complete  N/A      N/A"#]]
        .assert_eq(&table(&rows, false));
        assert_eq!(table(&[], false), "No allocations placed");
    }
}
