//! What changed between two versions of a job, in the form of the API.
//!
//! [`job_diff`] compares; [`annotate`] adds what a plan would do about it. Both jobs must be in
//! canonical form. Values are compared as the wire writes them.
//! **Limits.** Changes of `lifecycle`, `scaling`, `spread` and `volume_mount` make the task or group
//! "Edited" without saying which field: that is the recorded form.

mod annotate;
mod objects;
mod shapes;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::job::Job;
use crate::wire::{List, Map};

pub use annotate::annotate;

/// How a part of the job changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DiffType {
    /// It did not.
    #[default]
    None,
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It has another value.
    Edited,
}

/// The difference between two jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDiff {
    #[serde(rename = "Type")]
    pub kind: DiffType,
    #[serde(rename = "ID")]
    pub id: String,
    pub fields: List<FieldDiff>,
    pub objects: List<ObjectDiff>,
    pub task_groups: List<TaskGroupDiff>,
}

/// The difference between two groups.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupDiff {
    #[serde(rename = "Type")]
    pub kind: DiffType,
    pub name: String,
    pub fields: List<FieldDiff>,
    pub objects: List<ObjectDiff>,
    pub tasks: List<TaskDiff>,
    /// How many allocations a plan creates, updates and so on, by the name of the action.
    pub updates: Map<u64>,
}

/// The difference between two tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskDiff {
    #[serde(rename = "Type")]
    pub kind: DiffType,
    pub name: String,
    pub fields: List<FieldDiff>,
    pub objects: List<ObjectDiff>,
    /// What the change forces.
    pub annotations: List<String>,
}

/// The difference between two blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ObjectDiff {
    #[serde(rename = "Type")]
    pub kind: DiffType,
    pub name: String,
    pub fields: List<FieldDiff>,
    pub objects: List<ObjectDiff>,
}

/// The difference between two values, as text; an absent value is the empty text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FieldDiff {
    #[serde(rename = "Type")]
    pub kind: DiffType,
    pub name: String,
    pub old: String,
    pub new: String,
    pub annotations: List<String>,
}

/// Members of a job that say what became of it, not what it is.
const VOLATILE: [&str; 13] = [
    "Status",
    "StatusDescription",
    "Stable",
    "Version",
    "SubmitTime",
    "CreateIndex",
    "ModifyIndex",
    "JobModifyIndex",
    "NomadTokenID",
    "Payload",
    "DispatchIdempotencyToken",
    "VersionTag",
    "TaskGroups",
];

/// How a pair of values changed.
fn kind_of(old: Option<&Value>, new: Option<&Value>) -> DiffType {
    match (old, new) {
        (None, None) => DiffType::None,
        (None, Some(_)) => DiffType::Added,
        (Some(_), None) => DiffType::Deleted,
        (Some(old), Some(new)) if old == new => DiffType::None,
        (Some(_), Some(_)) => DiffType::Edited,
    }
}

/// A member that is there and not null.
fn member<'v>(value: Option<&'v Value>, name: &str) -> Option<&'v Value> {
    value?.get(name).filter(|member| !member.is_null())
}

/// The elements of a list member.
fn elements<'v>(value: Option<&'v Value>, name: &str) -> &'v [Value] {
    member(value, name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Compares two jobs, of which one may be missing. `contextual` keeps the unchanged fields of
/// changed blocks, as plans show them.
pub fn job_diff(old: Option<&Job>, new: Option<&Job>, contextual: bool) -> JobDiff {
    let value = |job: Option<&Job>| job.map(|job| serde_json::to_value(job).unwrap_or_default());
    let (old_value, new_value) = (value(old), value(new));
    let spec = |value: &Option<Value>| {
        let mut value = value.clone()?;
        let members = value.as_object_mut()?;
        members.retain(|name, _| !VOLATILE.contains(&name.as_str()));
        Some(value)
    };
    let (old_spec, new_spec) = (spec(&old_value), spec(&new_value));
    let context = objects::Context { contextual };
    let (from, to) = (old_value.as_ref(), new_value.as_ref());
    let task_groups = pairs(elements(from, "TaskGroups"), elements(to, "TaskGroups"))
        .into_iter()
        .map(|(name, from, to)| group_diff(name, from, to, &context))
        .collect::<Vec<_>>();
    let mut kind = kind_of(old_spec.as_ref(), new_spec.as_ref());
    if kind == DiffType::None && task_groups.iter().any(|group| group.kind != DiffType::None) {
        kind = DiffType::Edited;
    }
    JobDiff {
        kind,
        id: new.or(old).map(Job::id).unwrap_or_default().to_owned(),
        fields: objects::top_fields(from, to, &shapes::JOB).into(),
        objects: context.job_objects(from, to).into(),
        task_groups: task_groups.into(),
    }
}

/// The elements of two lists with their partners of the same name, by name.
fn pairs<'v>(
    old: &'v [Value],
    new: &'v [Value],
) -> Vec<(&'v str, Option<&'v Value>, Option<&'v Value>)> {
    let name = |value: &'v Value| value.get("Name").and_then(Value::as_str).unwrap_or_default();
    let find = |list: &'v [Value], wanted: &str| list.iter().find(|value| name(value) == wanted);
    let mut names: Vec<&str> = old.iter().chain(new).map(name).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| (name, find(old, name), find(new, name))).collect()
}

fn group_diff(
    name: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    context: &objects::Context,
) -> TaskGroupDiff {
    let tasks = pairs(elements(old, "Tasks"), elements(new, "Tasks"));
    TaskGroupDiff {
        kind: kind_of(old, new),
        name: name.to_owned(),
        fields: objects::top_fields(old, new, &shapes::GROUP).into(),
        objects: context.group_objects(old, new).into(),
        tasks: tasks
            .into_iter()
            .map(|(name, old, new)| TaskDiff {
                kind: kind_of(old, new),
                name: name.to_owned(),
                fields: objects::top_fields(old, new, &shapes::TASK).into(),
                objects: context.task_objects(old, new).into(),
                annotations: List::default(),
            })
            .collect(),
        updates: Map::default(),
    }
}

#[cfg(test)]
mod tests;
