//! What Muster reads but cannot run yet: one line per item, refused by name at registration.
//!
//! A job that asks for one of these would otherwise run without it, which is worse than a refusal.

use super::Problem;
use crate::job::*;

type Rule<T> = (&'static str, fn(&T) -> bool);

const JOB: &[Rule<Job>] = &[
    ("type = \"system\"", |job| job.job_type() == JobType::System),
    ("type = \"sysbatch\"", |job| job.job_type() == JobType::SysBatch),
    ("periodic", |job| job.periodic.is_some()),
    ("parameterized", |job| job.parameterized_job.is_some()),
    ("multiregion", |job| job.multiregion.is_some()),
    ("spread", |job| !job.spreads.is_empty()),
];

const GROUP: &[Rule<TaskGroup>] = &[
    ("spread", |group| !group.spreads.is_empty()),
    ("service", |group| !group.services.is_empty()),
    ("volume", |group| !group.volumes.is_empty()),
    ("scaling", |group| group.scaling.is_some()),
    ("consul", |group| group.consul.is_some()),
    ("disconnect", |group| group.disconnect.is_some()),
    ("max_client_disconnect", |group| group.max_client_disconnect.is_some()),
    ("stop_after_client_disconnect", |group| group.stop_after_client_disconnect.is_some()),
    ("prevent_reschedule_on_lost", |group| group.prevent_reschedule_on_lost == Some(true)),
    ("ephemeral_disk.sticky", |group| disk(group, |disk| disk.sticky)),
    ("ephemeral_disk.migrate", |group| disk(group, |disk| disk.migrate)),
    ("network.dns", |group| group.networks.iter().any(|network| network.dns.is_some())),
    ("network.cni", |group| group.networks.iter().any(|network| network.cni.is_some())),
    ("network.hostname", |group| group.networks.iter().any(|n| !n.hostname.is_empty())),
    ("restart.render_templates", |group| renders(group.restart_policy.as_ref())),
];

const TASK: &[Rule<Task>] = &[
    ("artifact", |task| !task.artifacts.is_empty()),
    ("template", |task| !task.templates.is_empty()),
    ("vault", |task| task.vault.is_some()),
    ("consul", |task| task.consul.is_some()),
    ("secret", |task| !task.secrets.is_empty()),
    ("identity", |task| task.identity.is_some() || !task.identities.is_empty()),
    ("action", |task| !task.actions.is_empty()),
    ("schedule", |task| task.schedule.is_some()),
    ("csi_plugin", |task| task.csi_plugin_config.is_some()),
    ("volume_mount", |task| !task.volume_mounts.is_empty()),
    ("service", |task| !task.services.is_empty()),
    ("scaling", |task| !task.scaling_policies.is_empty()),
    ("dispatch_payload", |task| task.dispatch_payload.is_some()),
    ("kind", |task| !task.kind.is_empty()),
    ("logs.disabled", |task| {
        task.log_config
            .as_ref()
            .is_some_and(|logs| logs.disabled == Some(true) || logs.enabled == Some(false))
    }),
    ("resources.device", |task| wants(task, |wanted| !wanted.devices.is_empty())),
    ("resources.cores", |task| wants(task, |wanted| wanted.cores.unwrap_or(0) != 0)),
    ("resources.memory_max", |task| wants(task, |wanted| wanted.memory_max_mb.unwrap_or(0) != 0)),
    ("resources.numa", |task| wants(task, |wanted| wanted.numa.is_some())),
    ("resources.secrets", |task| wants(task, |wanted| wanted.secrets_mb.unwrap_or(0) != 0)),
    ("restart.render_templates", |task| renders(task.restart_policy.as_ref())),
];

fn disk(group: &TaskGroup, flag: fn(&EphemeralDisk) -> Option<bool>) -> bool {
    group.ephemeral_disk.as_ref().and_then(flag) == Some(true)
}

fn wants(task: &Task, ask: fn(&Resources) -> bool) -> bool {
    task.resources.as_ref().is_some_and(ask)
}

fn renders(policy: Option<&RestartPolicy>) -> bool {
    policy.and_then(|policy| policy.render_templates) == Some(true)
}

fn apply<T>(rules: &[Rule<T>], item: &T, path: &str, found: &mut Vec<Problem>) {
    for (name, _) in rules.iter().filter(|(_, holds)| holds(item)) {
        let message = format!("{name} is not supported by Muster yet (docs/gaps.md)");
        found.push(Problem { path: path.to_owned(), message });
    }
}

/// Names everything in a valid job that would be ignored if it ran.
pub fn unsupported(job: &Job) -> Vec<Problem> {
    let mut found = Vec::new();
    apply(JOB, job, "", &mut found);
    for group in &job.task_groups {
        let path = format!("group {:?}", group.name());
        apply(GROUP, group, &path, &mut found);
        for task in &group.tasks {
            apply(TASK, task, &format!("{path} > task {:?}", task.name), &mut found);
        }
    }
    found
}
