//! Defaults of tasks: resources, logs, templates, artifacts, services.

use super::{fill, fill_text, inherit, policies};
use crate::job::*;
use crate::wire::SECOND;

/// Fills in one task; `prefix` is the start of the names of its services.
pub(super) fn canonicalize(task: &mut Task, restart: Option<&RestartPolicy>, prefix: &str) {
    fill(&mut task.kill_timeout, 5 * SECOND);
    let logs = task.log_config.get_or_insert_default();
    fill(&mut logs.max_files, 10);
    fill(&mut logs.max_file_size_mb, 10);
    // `enabled` was the name of one release; it says the same the other way round.
    let disabled = logs.enabled.is_some_and(|enabled| !enabled);
    fill(&mut logs.disabled, disabled);
    canonicalize_resources(task.resources.get_or_insert_default());
    if let Some(restart) = restart {
        policies::inherit_restart(task.restart_policy.get_or_insert_default(), restart);
    }
    for affinity in &mut task.affinities.0 {
        fill(&mut affinity.weight, 50);
    }
    let name = format!("{prefix}-{}", task.name);
    for service in &mut task.services.0 {
        canonicalize_service(service, &name);
    }
    task.templates.iter_mut().for_each(canonicalize_template);
    task.artifacts.iter_mut().for_each(canonicalize_artifact);
    for mount in &mut task.volume_mounts.0 {
        fill(&mut mount.read_only, false);
        fill(&mut mount.propagation_mode, "private".to_owned());
        fill(&mut mount.se_linux_label, String::new());
    }
    for policy in &mut task.scaling_policies.0 {
        fill(&mut policy.enabled, true);
    }
    if let Some(vault) = &mut task.vault {
        fill(&mut vault.env, true);
        fill(&mut vault.disable_file, false);
        fill(&mut vault.namespace, String::new());
        fill_text(&mut vault.cluster, "default");
        fill(&mut vault.change_mode, "restart".to_owned());
        fill(&mut vault.change_signal, "SIGHUP".to_owned());
        fill(&mut vault.allow_token_expiration, false);
    }
    if let Some(plugin) = &mut task.csi_plugin_config {
        fill_text(&mut plugin.mount_dir, "/csi");
        if plugin.health_timeout == 0 {
            plugin.health_timeout = 30 * SECOND;
        }
    }
}

fn canonicalize_resources(resources: &mut Resources) {
    fill(&mut resources.cores, 0);
    // Reserved cores bring their own share of the cpu.
    let cpu = if resources.cores == Some(0) { 100 } else { 0 };
    fill(&mut resources.cpu, cpu);
    fill(&mut resources.memory_mb, 300);
    fill(&mut resources.memory_max_mb, 0);
    fill(&mut resources.secrets_mb, 0);
    for device in &mut resources.devices.0 {
        fill(&mut device.count, 1);
        for affinity in &mut device.affinities.0 {
            fill(&mut affinity.weight, 50);
        }
    }
}

fn canonicalize_template(template: &mut Template) {
    for slot in [&mut template.source_path, &mut template.dest_path, &mut template.embedded_tmpl] {
        fill(slot, String::new());
    }
    fill(&mut template.change_mode, "restart".to_owned());
    let signal = if template.change_mode.as_deref() == Some("signal") { "SIGHUP" } else { "" };
    fill(&mut template.change_signal, signal.to_owned());
    template.change_signal = template.change_signal.take().map(|signal| signal.to_uppercase());
    fill(&mut template.splay, 5 * SECOND);
    fill(&mut template.perms, "0644".to_owned());
    fill(&mut template.left_delim, "{{".to_owned());
    fill(&mut template.right_delim, "}}".to_owned());
    fill(&mut template.envvars, false);
    fill(&mut template.vault_grace, 0);
    fill(&mut template.err_missing_key, false);
    fill(&mut template.once, false);
    if let Some(script) = &mut template.change_script {
        fill(&mut script.command, String::new());
        fill(&mut script.timeout, 5 * SECOND);
        fill(&mut script.fail_on_error, false);
    }
}

fn canonicalize_artifact(artifact: &mut TaskArtifact) {
    fill(&mut artifact.getter_mode, "any".to_owned());
    fill(&mut artifact.getter_source, String::new());
    fill(&mut artifact.getter_insecure, false);
    let destination = match (artifact.getter_mode.as_deref(), artifact.getter_source.as_deref()) {
        (Some("file"), Some(source)) => {
            let path = source.split(['?', '#']).next().unwrap_or_default();
            format!("local/{}", path.rsplit('/').next().unwrap_or_default())
        }
        _ => "local/".to_owned(),
    };
    fill(&mut artifact.relative_dest, destination);
}

/// Fills in one service, whose checks take from it what they do not say themselves.
pub(super) fn canonicalize_service(service: &mut Service, default_name: &str) {
    fill_text(&mut service.name, default_name);
    fill_text(&mut service.address_mode, "auto");
    fill_text(&mut service.provider, "consul");
    fill_text(&mut service.on_update, "require_healthy");
    if service.provider == "consul" {
        fill_text(&mut service.cluster, "default");
    }
    if let Some(restart) = &mut service.check_restart {
        fill(&mut restart.grace, SECOND);
    }
    for check in &mut service.checks.0 {
        fill_text(&mut check.on_update, &service.on_update);
        let Some(from) = &service.check_restart else {
            if let Some(own) = &mut check.check_restart {
                fill(&mut own.grace, SECOND);
            }
            continue;
        };
        match &mut check.check_restart {
            None => check.check_restart = Some(from.clone()),
            Some(own) => {
                if own.limit == 0 {
                    own.limit = from.limit;
                }
                inherit(&mut own.grace, &from.grace);
                own.ignore_warnings |= from.ignore_warnings;
            }
        }
    }
}
