//! `task` blocks and what stands in them.

use super::{any_map, driver_config, flag, group, placement, resources, service, string_map, text};
use hcl::Fields;
use model::job::*;
use model::wire::{List, SECOND};

pub(super) fn task(f: &mut Fields<'_>) -> Task {
    let (identity, identities) = identities(f);
    let driver = text(f, "driver");
    let config = any_map(f, "config");
    driver_config::check(f, &driver, &config);
    Task {
        name: f.label(0),
        driver,
        user: text(f, "user"),
        lifecycle: f.block("lifecycle", &[], |f| TaskLifecycle {
            hook: text(f, "hook"),
            sidecar: flag(f, "sidecar"),
        }),
        config,
        constraints: placement::constraints(f),
        affinities: placement::affinities(f),
        env: string_map(f, "env"),
        services: f.blocks("service", &[], service::service).into(),
        resources: f.block("resources", &[], resources::resources),
        restart_policy: f.block("restart", &[], group::restart),
        meta: string_map(f, "meta"),
        kill_timeout: f.duration("kill_timeout"),
        log_config: f.block("logs", &[], logs),
        artifacts: f.blocks("artifact", &[], artifact).into(),
        vault: f.block("vault", &[], vault),
        consul: f.block("consul", &[], group::consul),
        templates: f.blocks("template", &[], template).into(),
        dispatch_payload: f
            .block("dispatch_payload", &[], |f| DispatchPayloadConfig { file: text(f, "file") }),
        volume_mounts: f.blocks("volume_mount", &[], volume_mount).into(),
        csi_plugin_config: f.block("csi_plugin", &[], csi_plugin),
        leader: flag(f, "leader"),
        shutdown_delay: f.duration("shutdown_delay").unwrap_or(0),
        kill_signal: text(f, "kill_signal"),
        kind: text(f, "kind"),
        scaling_policies: f.blocks("scaling", &["resource"], vertical_scaling).into(),
        secrets: f.blocks("secret", &["name"], secret).into(),
        identity,
        identities: identities.into(),
        actions: f
            .blocks("action", &["name"], |f| Action {
                name: f.label(0),
                command: text(f, "command"),
                args: f.string_list("args").unwrap_or_default().into(),
            })
            .into(),
        schedule: f.block("schedule", &[], |f| TaskSchedule {
            cron: f.block("cron", &[], |f| TaskScheduleCron {
                start: text(f, "start"),
                end: text(f, "end"),
                timezone: text(f, "timezone"),
            }),
        }),
    }
}

/// The default identity, which has a member of its own on the wire, and all others.
fn identities(f: &mut Fields<'_>) -> (Option<WorkloadIdentity>, Vec<WorkloadIdentity>) {
    let all = f.blocks("identity", &[], identity);
    let (mut default, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|item| matches!(item.name.as_str(), "" | "default"));
    if default.len() > 1 {
        f.error(f.span(), "Duplicate identity", "A task may have one default identity.");
    }
    (default.pop(), others)
}

pub(super) fn identity(f: &mut Fields<'_>) -> WorkloadIdentity {
    WorkloadIdentity {
        name: text(f, "name"),
        audience: f.string_list("aud").unwrap_or_default().into(),
        change_mode: text(f, "change_mode"),
        change_signal: text(f, "change_signal"),
        env: flag(f, "env"),
        file: flag(f, "file"),
        filepath: text(f, "filepath"),
        service_name: text(f, "service_name"),
        ttl: f.duration("ttl").unwrap_or(0),
    }
}

fn vertical_scaling(f: &mut Fields<'_>) -> ScalingPolicy {
    let resource = f.label(0);
    if !resource.is_empty() && !matches!(resource.as_str(), "cpu" | "mem") {
        let detail = format!("A task scales \"cpu\" or \"mem\", not {resource:?}.");
        f.error(f.span(), "Unsuitable label", detail);
    }
    group::scaling(f, &format!("vertical_{resource}"))
}

pub(super) fn logs(f: &mut Fields<'_>) -> LogConfig {
    LogConfig {
        max_files: f.int("max_files"),
        max_file_size_mb: f.int("max_file_size"),
        enabled: f.bool("enabled"),
        disabled: f.bool("disabled"),
    }
}

fn artifact(f: &mut Fields<'_>) -> TaskArtifact {
    TaskArtifact {
        getter_source: f.string("source"),
        getter_options: string_map(f, "options"),
        getter_headers: string_map(f, "headers"),
        getter_mode: f.string("mode"),
        getter_insecure: f.bool("insecure"),
        relative_dest: f.string("destination"),
        chown: flag(f, "chown"),
    }
}

/// A template; the three values that clients expect from a file are set here already.
fn template(f: &mut Fields<'_>) -> Template {
    Template {
        source_path: f.string("source"),
        dest_path: f.string("destination"),
        embedded_tmpl: f.string("data"),
        change_mode: f.string("change_mode").or_else(|| Some("restart".to_owned())),
        change_script: f.block("change_script", &[], |f| ChangeScript {
            command: f.string("command"),
            args: f.string_list("args").unwrap_or_default().into(),
            timeout: f.duration("timeout"),
            fail_on_error: f.bool("fail_on_error"),
        }),
        change_signal: f.string("change_signal"),
        once: f.bool("once"),
        splay: f.duration("splay").or(Some(5 * SECOND)),
        perms: f.string("perms").or_else(|| Some("0644".to_owned())),
        uid: f.int("uid"),
        gid: f.int("gid"),
        left_delim: f.string("left_delimiter"),
        right_delim: f.string("right_delimiter"),
        envvars: f.bool("env"),
        vault_grace: f.duration("vault_grace"),
        wait: f
            .block("wait", &[], |f| WaitConfig { min: f.duration("min"), max: f.duration("max") }),
        err_missing_key: f.bool("error_on_missing_key"),
    }
}

pub(super) fn vault(f: &mut Fields<'_>) -> Vault {
    Vault {
        policies: f.string_list("policies").unwrap_or_default().into(),
        role: text(f, "role"),
        namespace: f.string("namespace"),
        cluster: text(f, "cluster"),
        env: f.bool("env").or(Some(true)),
        disable_file: f.bool("disable_file"),
        change_mode: f.string("change_mode").or_else(|| Some("restart".to_owned())),
        change_signal: f.string("change_signal"),
        allow_token_expiration: f.bool("allow_token_expiration"),
    }
}

pub(super) fn secret(f: &mut Fields<'_>) -> Secret {
    Secret {
        name: f.label(0),
        provider: text(f, "provider"),
        path: text(f, "path"),
        config: any_map(f, "config"),
        env: string_map(f, "env"),
    }
}

pub(super) fn volume_mount(f: &mut Fields<'_>) -> VolumeMount {
    VolumeMount {
        volume: f.string("volume"),
        destination: f.string("destination"),
        read_only: f.bool("read_only"),
        propagation_mode: f.string("propagation_mode"),
        se_linux_label: f.string("selinux_label"),
    }
}

fn csi_plugin(f: &mut Fields<'_>) -> CsiPluginConfig {
    CsiPluginConfig {
        id: text(f, "id"),
        kind: text(f, "type"),
        mount_dir: text(f, "mount_dir"),
        stage_publish_base_dir: text(f, "stage_publish_base_dir"),
        health_timeout: f.duration("health_timeout").unwrap_or(0),
    }
}

/// The `sidecar_task` of a mesh service: a task without what the mesh decides.
pub(super) fn sidecar_task(f: &mut Fields<'_>) -> SidecarTask {
    SidecarTask {
        name: text(f, "name"),
        driver: text(f, "driver"),
        user: text(f, "user"),
        config: any_map(f, "config"),
        env: string_map(f, "env"),
        resources: f.block("resources", &[], resources::resources),
        meta: string_map(f, "meta"),
        kill_timeout: f.duration("kill_timeout"),
        log_config: f.block("logs", &[], logs),
        shutdown_delay: f.duration("shutdown_delay"),
        kill_signal: text(f, "kill_signal"),
        volume_mounts: f.blocks("volume_mount", &[], volume_mount).into(),
        identities: List(f.blocks("identity", &[], identity)),
    }
}
