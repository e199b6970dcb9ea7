//! Two jobs in, the difference out.

use super::*;
use crate::canonical::canonicalize_for_register;
use crate::plan::{DesiredUpdates, PlanAnnotations};
use crate::wire::from_json;

fn job(group: &str, task: &str) -> Job {
    let text = format!(
        r#"{{"ID":"j","TaskGroups":[{{"Name":"g","Tasks":[{{"Name":"t","Driver":"exec",
        "Config":{{"command":"/bin/a"}},"Env":{{"A":"1"}}{task}}}]{group}}}]}}"#
    );
    let mut job: Job = from_json(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
    canonicalize_for_register(&mut job);
    job
}

/// The task's part of a difference, in short.
fn task_changes(old: &Job, new: &Job) -> String {
    let mut diff = job_diff(Some(old), Some(new), true);
    annotate(&mut diff, &PlanAnnotations::default());
    let task = &diff.task_groups[0].tasks[0];
    let field = |f: &FieldDiff| format!("{:?} {} {}>{}", f.kind, f.name, f.old, f.new);
    let mut parts: Vec<String> = task.fields.iter().map(field).collect();
    for object in &task.objects {
        let inner: Vec<String> = object.fields.iter().map(field).collect();
        parts.push(format!("{:?} {} {{{}}}", object.kind, object.name, inner.join(", ")));
    }
    parts.push(task.annotations.join(","));
    parts.join("; ")
}

#[test]
fn equal_jobs_have_no_difference_whatever_became_of_them() {
    let old = job("", "");
    let mut new = old.clone();
    new.version = Some(7);
    new.status = Some("running".to_owned());
    let diff = job_diff(Some(&old), Some(&new), true);
    assert_eq!(diff.kind, DiffType::None);
    assert_eq!(diff.task_groups[0].kind, DiffType::None);
    assert_eq!(serde_json::to_value(&diff).expect("writes")["Fields"], Value::Null);
}

#[test]
fn a_new_job_is_added_with_all_it_has() {
    let diff = job_diff(None, Some(&job("", "")), true);
    let names: Vec<&str> = diff.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(diff.kind, DiffType::Added);
    assert_eq!(
        names,
        ["AllAtOnce", "Dispatched", "Name", "Namespace", "Priority", "Region", "Stop", "Type"]
    );
    let objects: Vec<&str> =
        diff.task_groups[0].objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(objects, ["RestartPolicy", "ReschedulePolicy", "EphemeralDisk", "Update"]);
}

#[test]
fn changed_blocks_keep_their_other_fields_as_context() {
    let changes = task_changes(
        &job("", r#","Resources":{"CPU":20}"#),
        &job("", r#","Resources":{"CPU":30}"#),
    );
    assert_eq!(
        changes,
        "Edited Resources {Edited CPU 20>30, None DiskMB 0>0, None IOPS 0>0, None MemoryMB 300>300}; \
         forces create/destroy update"
    );
}

#[test]
fn what_changes_in_place_is_said_to() {
    for (task, shown) in [
        (r#","KillTimeout":1000000000"#, "Edited KillTimeout 5000000000>1000000000; "),
        (
            r#","LogConfig":{"MaxFiles":2}"#,
            "Edited LogConfig {None MaxFileSizeMB 10>10, Edited MaxFiles 10>2}; ",
        ),
        (r#","Lifecycle":{"Hook":"prestart"}"#, ""),
    ] {
        let changes = task_changes(&job("", ""), &job("", task));
        assert_eq!(changes, format!("{shown}forces in-place update"));
    }
    let changes = task_changes(&job("", ""), &job("", r#","User":"root""#));
    assert_eq!(changes, "Added User >root; forces create/destroy update");
}

#[test]
fn counts_and_updates_are_annotated() {
    let mut diff = job_diff(Some(&job("", "")), Some(&job(r#","Count":3"#, "")), true);
    let updates = DesiredUpdates { place: 2, in_place_update: 1, ..DesiredUpdates::default() };
    let plan = PlanAnnotations {
        desired_tg_updates: [("g".to_owned(), updates)].into_iter().collect(),
        ..PlanAnnotations::default()
    };
    annotate(&mut diff, &plan);
    let group = &diff.task_groups[0];
    assert_eq!(group.fields[0].annotations.0, ["forces create"]);
    let updates: Vec<_> = group.updates.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(updates, [("create", 2), ("in-place update", 1)]);
}
