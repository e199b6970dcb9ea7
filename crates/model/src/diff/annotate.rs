//! What a plan does about a difference: notes on fields and tasks, and counts per group.

use super::{DiffType, JobDiff, TaskDiff, TaskGroupDiff};
use crate::plan::{DesiredUpdates, PlanAnnotations};
use crate::wire::List;

const CREATE: &str = "forces create";
const DESTROY: &str = "forces destroy";
const IN_PLACE: &str = "forces in-place update";
const DESTRUCTIVE: &str = "forces create/destroy update";

/// Blocks of a task that change without a new allocation.
const IN_PLACE_OBJECTS: [&str; 5] =
    ["Affinity", "Constraint", "LogConfig", "RestartPolicy", "Service"];
/// Fields of a task that change without a new allocation.
const IN_PLACE_FIELDS: [&str; 1] = ["KillTimeout"];

/// Adds what the plan would do.
pub fn annotate(diff: &mut JobDiff, plan: &PlanAnnotations) {
    for group in &mut diff.task_groups.0 {
        if let Some(updates) = plan.desired_tg_updates.get(&group.name) {
            count_updates(group, updates);
        }
        annotate_count(group);
        let kind = group.kind;
        for task in &mut group.tasks.0 {
            if let Some(note) = task_note(kind, task) {
                task.annotations = List(vec![note.to_owned()]);
            }
        }
    }
}

fn count_updates(group: &mut TaskGroupDiff, updates: &DesiredUpdates) {
    for (name, count) in [
        ("ignore", updates.ignore),
        ("create", updates.place),
        ("migrate", updates.migrate),
        ("destroy", updates.stop),
        ("in-place update", updates.in_place_update),
        ("create/destroy update", updates.destructive_update),
        ("canary", updates.canary),
    ] {
        if count > 0 {
            group.updates.insert(name.to_owned(), count);
        }
    }
}

fn annotate_count(group: &mut TaskGroupDiff) {
    for field in group.fields.iter_mut().filter(|field| field.name == "Count") {
        let count = |text: &str| text.parse::<i64>().unwrap_or(0);
        let note = match field.kind {
            DiffType::Added => CREATE,
            DiffType::Deleted => DESTROY,
            DiffType::Edited if count(&field.new) > count(&field.old) => CREATE,
            DiffType::Edited => DESTROY,
            DiffType::None => continue,
        };
        field.annotations = List(vec![note.to_owned()]);
    }
}

fn task_note(group: DiffType, task: &TaskDiff) -> Option<&'static str> {
    match (group, task.kind) {
        (_, DiffType::None) | (DiffType::None, _) => None,
        (DiffType::Added, _) => Some(CREATE),
        (DiffType::Deleted, _) => Some(DESTROY),
        (DiffType::Edited, DiffType::Added | DiffType::Deleted) => Some(DESTRUCTIVE),
        (DiffType::Edited, DiffType::Edited) => {
            let changed = |name: &str, harmless: &[&str]| !harmless.contains(&name);
            let fields = task.fields.iter().filter(|field| field.kind != DiffType::None);
            let destructive = fields.map(|f| &f.name).any(|name| changed(name, &IN_PLACE_FIELDS))
                || task.objects.iter().any(|object| changed(&object.name, &IN_PLACE_OBJECTS));
            Some(if destructive { DESTRUCTIVE } else { IN_PLACE })
        }
    }
}
