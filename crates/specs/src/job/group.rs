//! `group` blocks and the policies in them.

use super::{any_map, flag, placement, resources, service, string_map, task, text};
use hcl::Fields;
use model::job::*;
use std::ops::Range;

/// A group with what its tasks take from it.
pub(super) struct Read {
    pub(super) group: TaskGroup,
    pub(super) vault: Option<Vault>,
    pub(super) secrets: Vec<Secret>,
    /// Where it stands.
    pub(super) span: Range<usize>,
}

impl Read {
    /// Hands the `vault` and `secret` blocks of the job and of the group to the tasks.
    pub(super) fn inherit(self, vault: Option<&Vault>, secrets: &[Secret]) -> TaskGroup {
        let mut group = self.group;
        let vault = self.vault.as_ref().or(vault);
        for task in &mut group.tasks.0 {
            if task.vault.is_none() {
                task.vault = vault.cloned();
            }
            for secret in self.secrets.iter().chain(secrets) {
                if task.secrets.iter().all(|own| own.name != secret.name) {
                    task.secrets.push(secret.clone());
                }
            }
        }
        group
    }
}

pub(super) fn group(f: &mut Fields<'_>) -> Read {
    let vault = f.block("vault", &[], task::vault);
    let secrets = f.blocks("secret", &["name"], task::secret);
    let mut tasks: Vec<Task> = Vec::new();
    for (item, span) in f.blocks("task", &["name"], |f| (task::task(f), f.span())) {
        if !item.name.is_empty() && tasks.iter().any(|earlier| earlier.name == item.name) {
            let detail = format!(
                "The group has more than one task named {:?}; give each a name of its own.",
                item.name
            );
            f.error(span, "Duplicate task", detail);
        }
        tasks.push(item);
    }
    let group = TaskGroup {
        name: Some(f.label(0)),
        count: f.int("count"),
        constraints: placement::constraints(f),
        affinities: placement::affinities(f),
        spreads: placement::spreads(f),
        tasks: tasks.into(),
        volumes: f.blocks("volume", &["name"], volume).into_iter().collect(),
        restart_policy: f.block("restart", &[], restart),
        disconnect: f.block("disconnect", &[], disconnect),
        reschedule_policy: f.block("reschedule", &[], reschedule),
        ephemeral_disk: f.block("ephemeral_disk", &[], ephemeral_disk),
        update: f.block("update", &[], update),
        migrate: f.block("migrate", &[], migrate),
        networks: resources::networks(f),
        meta: string_map(f, "meta"),
        services: f.blocks("service", &[], service::service).into(),
        shutdown_delay: f.duration("shutdown_delay"),
        stop_after_client_disconnect: f.duration("stop_after_client_disconnect"),
        max_client_disconnect: f.duration("max_client_disconnect"),
        prevent_reschedule_on_lost: f.bool("prevent_reschedule_on_lost"),
        scaling: f.block("scaling", &[], |f| scaling(f, "horizontal")),
        consul: f.block("consul", &[], consul),
    };
    Read { group, vault, secrets, span: f.span() }
}

pub(super) fn update(f: &mut Fields<'_>) -> UpdateStrategy {
    UpdateStrategy {
        stagger: f.duration("stagger"),
        max_parallel: f.int("max_parallel"),
        health_check: f.string("health_check"),
        min_healthy_time: f.duration("min_healthy_time"),
        healthy_deadline: f.duration("healthy_deadline"),
        progress_deadline: f.duration("progress_deadline"),
        canary: f.int("canary"),
        auto_revert: f.bool("auto_revert"),
        auto_promote: f.bool("auto_promote"),
    }
}

pub(super) fn migrate(f: &mut Fields<'_>) -> MigrateStrategy {
    MigrateStrategy {
        max_parallel: f.int("max_parallel"),
        health_check: f.string("health_check"),
        min_healthy_time: f.duration("min_healthy_time"),
        healthy_deadline: f.duration("healthy_deadline"),
    }
}

pub(super) fn reschedule(f: &mut Fields<'_>) -> ReschedulePolicy {
    ReschedulePolicy {
        attempts: f.int("attempts"),
        interval: f.duration("interval"),
        delay: f.duration("delay"),
        delay_function: f.string("delay_function"),
        max_delay: f.duration("max_delay"),
        unlimited: f.bool("unlimited"),
    }
}

pub(super) fn restart(f: &mut Fields<'_>) -> RestartPolicy {
    RestartPolicy {
        interval: f.duration("interval"),
        attempts: f.int("attempts"),
        delay: f.duration("delay"),
        mode: f.string("mode"),
        render_templates: f.bool("render_templates"),
    }
}

fn disconnect(f: &mut Fields<'_>) -> DisconnectStrategy {
    DisconnectStrategy {
        lost_after: f.duration("lost_after"),
        stop_on_client_after: f.duration("stop_on_client_after"),
        replace: f.bool("replace"),
        reconcile: f.string("reconcile"),
    }
}

fn ephemeral_disk(f: &mut Fields<'_>) -> EphemeralDisk {
    EphemeralDisk { sticky: f.bool("sticky"), migrate: f.bool("migrate"), size_mb: f.int("size") }
}

/// A scaling policy, of the type that it has where it stands unless it names another.
pub(super) fn scaling(f: &mut Fields<'_>, kind: &str) -> ScalingPolicy {
    ScalingPolicy {
        min: f.int("min"),
        max: f.int("max"),
        enabled: f.bool("enabled"),
        kind: f.string("type").unwrap_or_else(|| kind.to_owned()),
        policy: any_map(f, "policy"),
        ..ScalingPolicy::default()
    }
}

fn volume(f: &mut Fields<'_>) -> (String, VolumeRequest) {
    let name = f.label(0);
    let request = VolumeRequest {
        name: name.clone(),
        kind: text(f, "type"),
        source: text(f, "source"),
        read_only: flag(f, "read_only"),
        sticky: flag(f, "sticky"),
        access_mode: text(f, "access_mode"),
        attachment_mode: text(f, "attachment_mode"),
        mount_options: f.block("mount_options", &[], |f| CsiMountOptions {
            fs_type: text(f, "fs_type"),
            mount_flags: f.string_list("mount_flags").unwrap_or_default().into(),
        }),
        per_alloc: flag(f, "per_alloc"),
    };
    (name, request)
}

pub(super) fn consul(f: &mut Fields<'_>) -> Consul {
    Consul {
        namespace: text(f, "namespace"),
        cluster: text(f, "cluster"),
        partition: text(f, "partition"),
    }
}
