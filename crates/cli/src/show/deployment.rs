//! A deployment: what it is, and how far each group has come.

use sdk::Fields;
use serde_json::Value;

use crate::output::color::Palette;
use crate::output::table::{Pairs, Table};
use crate::output::units::id;
use crate::output::when;

/// All of it, as `deployment status` shows it.
pub(crate) fn details(deployment: &Value, verbose: bool, palette: Palette) -> String {
    let mut pairs = Pairs::new();
    pairs
        .add("ID", id(deployment.text("ID"), verbose))
        .add("Job ID", deployment.text("JobID"))
        .add("Job Version", deployment.int("JobVersion"))
        .add("Status", deployment.text("Status"))
        .add("Description", deployment.text("StatusDescription"));
    with_groups(pairs.render(), deployment, palette)
}

/// What `job status` shows of a job's latest one.
pub(crate) fn brief(deployment: &Value, verbose: bool, palette: Palette) -> String {
    let mut pairs = Pairs::new();
    pairs
        .add("ID", id(deployment.text("ID"), verbose))
        .add("Status", deployment.text("Status"))
        .add("Description", deployment.text("StatusDescription"));
    with_groups(pairs.render(), deployment, palette)
}

fn with_groups(head: String, deployment: &Value, palette: Palette) -> String {
    if deployment.is_empty_at("TaskGroups") {
        return head;
    }
    format!("{head}\n\n{}\n{}", palette.bold("Deployed"), groups(deployment))
}

fn groups(deployment: &Value) -> String {
    let mut groups = deployment.entries("TaskGroups");
    groups.sort_by_key(|(name, _)| *name);
    let any = |test: fn(&Value) -> bool| groups.iter().any(|(_, group)| test(group));
    let auto_revert = any(|group| group.flag("AutoRevert"));
    let canaries = any(|group| group.int("DesiredCanaries") > 0);
    let progress = any(|group| group.int("ProgressDeadline") > 0);
    let mut headings = vec!["Task Group"];
    if auto_revert {
        headings.push("Auto Revert");
    }
    if canaries {
        headings.push("Promoted");
    }
    headings.push("Desired");
    if canaries {
        headings.push("Canaries");
    }
    headings.extend(["Placed", "Healthy", "Unhealthy"]);
    if progress {
        headings.push("Progress Deadline");
    }
    let mut table = Table::new(&headings);
    for (name, group) in groups {
        let mut row = vec![name.to_owned()];
        if auto_revert {
            row.push(group.flag("AutoRevert").to_string());
        }
        if canaries {
            let promoted = group.flag("Promoted").to_string();
            row.push(if group.int("DesiredCanaries") > 0 { promoted } else { "N/A".to_owned() });
        }
        row.push(group.int("DesiredTotal").to_string());
        if canaries {
            row.push(group.int("DesiredCanaries").to_string());
        }
        for key in ["PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs"] {
            row.push(group.int(key).to_string());
        }
        if progress {
            row.push(when::at(when::parse(group.text("RequireProgressBy"))));
        }
        table.row(row);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn canary_columns_appear_only_with_canaries() {
        let mut deployment = json!({
            "ID": "62eb607c-1111", "JobID": "web", "JobVersion": 1, "Status": "running",
            "StatusDescription": "Deployment is running",
            "TaskGroups": {
                "web": {"DesiredTotal": 2, "PlacedAllocs": 1, "HealthyAllocs": 1,
                        "ProgressDeadline": 600, "RequireProgressBy": "0001-01-01T00:00:00Z"},
                "api": {"DesiredTotal": 1}
            }
        });
        expect![[r#"
            ID          = 62eb607c
            Job ID      = web
            Job Version = 1
            Status      = running
            Description = Deployment is running

            Deployed
            Task Group  Desired  Placed  Healthy  Unhealthy  Progress Deadline
            api         1        0       0        0          N/A
            web         2        1       1        0          N/A"#]]
        .assert_eq(&details(&deployment, false, Palette::default()));
        deployment["TaskGroups"]["web"]["DesiredCanaries"] = 1.into();
        expect![[r#"
            Task Group  Promoted  Desired  Canaries  Placed  Healthy  Unhealthy  Progress Deadline
            api         N/A       1        0         0       0        0          N/A
            web         false     2        1         1       1        0          N/A"#]]
        .assert_eq(&groups(&deployment));
    }
}
