//! What a new version means for an allocation of an old one: nothing, in place, or a replacement.

use model::job::{Job, NetworkResource, Resources, Service, Task, TaskGroup};

/// What a change of a group means for its running allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing that the allocation would notice.
    None,
    /// It takes the new version while it runs.
    InPlace,
    /// It has to be replaced.
    Destructive,
}

/// Compares a group of two versions.
pub fn change_of_group(old_job: &Job, new_job: &Job, name: &str) -> Change {
    let (Some(old), Some(new)) = (old_job.group(name), new_job.group(name)) else {
        return Change::Destructive;
    };
    if state::tables::jobs::same_specification(old_job, new_job) {
        return Change::None;
    }
    let same_group = group_identity(old) == group_identity(new)
        && old.tasks.len() == new.tasks.len()
        && merged_meta(old_job, old, None) == merged_meta(new_job, new, None);
    let same_tasks = || {
        new.tasks.iter().all(|task| {
            old.task(&task.name).is_some_and(|before| {
                task_identity(before) == task_identity(task)
                    && merged_meta(old_job, old, Some(before))
                        == merged_meta(new_job, new, Some(task))
            })
        })
    };
    if same_group && same_tasks() { Change::InPlace } else { Change::Destructive }
}

/// What of a group cannot change under a running allocation.
fn group_identity(group: &TaskGroup) -> TaskGroup {
    TaskGroup {
        name: None,
        count: None,
        constraints: Default::default(),
        affinities: Default::default(),
        spreads: Default::default(),
        tasks: Default::default(),
        restart_policy: group.restart_policy.as_ref().and_then(|r| {
            // Rendering templates again is a matter of how the task was set up.
            r.render_templates.filter(|t| *t).map(|t| model::job::RestartPolicy {
                render_templates: Some(t),
                ..Default::default()
            })
        }),
        disconnect: None,
        reschedule_policy: None,
        update: None,
        migrate: None,
        meta: Default::default(),
        services: connect_parts(&group.services),
        shutdown_delay: None,
        stop_after_client_disconnect: None,
        max_client_disconnect: None,
        scaling: None,
        prevent_reschedule_on_lost: None,
        networks: group.networks.iter().map(port_shape).collect(),
        ..group.clone()
    }
}

/// Only the mesh parts of services are built into an allocation.
fn connect_parts(services: &[Service]) -> model::wire::List<Service> {
    services
        .iter()
        .filter(|s| s.connect.is_some())
        .map(|s| Service { name: s.name.clone(), connect: s.connect.clone(), ..Service::default() })
        .collect()
}

fn port_shape(network: &NetworkResource) -> NetworkResource {
    NetworkResource { mbits: None, ..network.clone() }
}

/// What of a task cannot change under a running process.
fn task_identity(task: &Task) -> Task {
    Task {
        constraints: Default::default(),
        affinities: Default::default(),
        services: connect_parts(&task.services),
        restart_policy: None,
        meta: Default::default(),
        kill_timeout: None,
        kill_signal: String::new(),
        shutdown_delay: 0,
        log_config: task.log_config.as_ref().map(|l| model::job::LogConfig {
            disabled: Some(l.disabled.unwrap_or(false)),
            ..Default::default()
        }),
        leader: false,
        lifecycle: None,
        scaling_policies: Default::default(),
        actions: Default::default(),
        resources: task.resources.as_ref().map(|r| Resources {
            disk_mb: None,
            iops: None,
            networks: r.networks.iter().map(port_shape).collect(),
            ..r.clone()
        }),
        ..task.clone()
    }
}

fn merged_meta(
    job: &Job,
    group: &TaskGroup,
    task: Option<&Task>,
) -> std::collections::BTreeMap<String, String> {
    let mut merged = job.meta.0.clone();
    merged.extend(group.meta.0.clone());
    if let Some(task) = task {
        merged.extend(task.meta.0.clone());
    }
    merged
}
