//! Checks of tasks and services.

use super::{Findings, group, placement};
use crate::job::*;
use crate::wire::SECOND;

/// Smallest memory of a task.
const MEMORY_MB_MIN: i64 = 10;

pub(super) fn check(group: &TaskGroup, task: &Task, found: &mut Findings) {
    found.require(!task.name.contains(['/', '\\']), || {
        "Task name cannot include slashes".to_owned()
    });
    found.require(!task.name.contains('\0'), || {
        "Task name cannot include null characters".to_owned()
    });
    found.require(!task.driver.is_empty(), || "Missing task driver".to_owned());
    found.require(task.kill_timeout() >= 0, || "KillTimeout must be a positive value".to_owned());
    found.require(task.shutdown_delay >= 0, || "ShutdownDelay must be a positive value".to_owned());
    if let Some(wanted) = &task.resources {
        resources(wanted, found);
    }
    logs(group, task, found);
    placement::constraints(&task.constraints, found);
    placement::affinities(&task.affinities, found);
    if let Some(lifecycle) = &task.lifecycle {
        let hook = lifecycle.hook.as_str();
        found.require(matches!(hook, "prestart" | "poststart" | "poststop"), || {
            format!("Lifecycle validation failed: invalid hook: {hook}")
        });
    }
    for (at, template) in task.templates.iter().enumerate() {
        found.within(format!("template {}", at + 1), |found| check_template(template, found));
    }
    for (at, artifact) in task.artifacts.iter().enumerate() {
        found.within(format!("artifact {}", at + 1), |found| check_artifact(artifact, found));
    }
    if let Some(payload) = &task.dispatch_payload {
        found.require(!escapes(&payload.file, 0), || {
            "dispatch_payload file escapes the local directory".to_owned()
        });
    }
    for mount in &task.volume_mounts {
        let mode = mount.propagation_mode.as_deref().unwrap_or("private");
        found.require(matches!(mode, "" | "private" | "host-to-task" | "bidirectional"), || {
            format!("Volume mount has an invalid propagation mode: {mode:?}")
        });
    }
    let mut labels = port_labels(&group.networks);
    if let Some(wanted) = &task.resources {
        labels.extend(port_labels(&wanted.networks));
    }
    for item in &task.services {
        service(item, &labels, found);
    }
}

fn resources(wanted: &Resources, found: &mut Findings) {
    let (cpu, cores) = (wanted.cpu.unwrap_or(0), wanted.cores.unwrap_or(0));
    found.require(cores >= 0, || format!("minimum cores value is 0; got {cores}"));
    found.require(cores > 0 || cpu >= 1, || format!("minimum CPU value is 1; got {cpu}"));
    let memory = wanted.memory_mb.unwrap_or(0);
    found.require(memory >= MEMORY_MB_MIN, || {
        format!("minimum MemoryMB value is {MEMORY_MB_MIN}; got {memory}")
    });
    let most = wanted.memory_max_mb.unwrap_or(0);
    found.require(most <= 0 || most >= memory, || {
        format!("MemoryMaxMB value ({most}) should be larger than MemoryMB value ({memory})")
    });
    group::networks(&wanted.networks, found);
    for device in &wanted.devices {
        found.within(format!("device {:?}", device.name), |found| {
            found.require(!device.name.is_empty(), || "device name must be given".to_owned());
            found.require(device.count.unwrap_or(1) > 0, || "count must be above zero".to_owned());
            placement::constraints(&device.constraints, found);
            placement::affinities(&device.affinities, found);
        });
    }
}

fn logs(group: &TaskGroup, task: &Task, found: &mut Findings) {
    let Some(logs) = &task.log_config else { return };
    let files = logs.max_files.unwrap_or(10);
    let size = logs.max_file_size_mb.unwrap_or(10);
    found.require(files >= 1, || format!("logs: minimum number of files is 1; got {files}"));
    found.require(size >= 1, || format!("logs: minimum file size is 1MB; got {size}"));
    let (total, disk) = (files.saturating_mul(size), group.disk_mb());
    found.require(total <= disk, || {
        format!("log storage ({total} MB) must be less than requested disk capacity ({disk} MB)")
    });
}

fn check_template(template: &Template, found: &mut Findings) {
    let text = |slot: &Option<String>| slot.clone().unwrap_or_default();
    let (source, data) = (text(&template.source_path), text(&template.embedded_tmpl));
    found.require(source.is_empty() != data.is_empty(), || {
        "Must specify either a source path or have an embedded template, not both".to_owned()
    });
    let destination = text(&template.dest_path);
    found.require(!destination.is_empty(), || "Must specify a destination".to_owned());
    found.require(!escapes(&destination, 1), || {
        "destination escapes allocation directory".to_owned()
    });
    let mode = text(&template.change_mode);
    found.require(matches!(mode.as_str(), "noop" | "restart" | "signal" | "script"), || {
        format!("Invalid change mode {mode:?}, must be noop, restart, signal or script")
    });
    found.require(mode != "script" || template.change_script.is_some(), || {
        "Change mode script needs a change_script block".to_owned()
    });
    found.require(mode != "signal" || template.envvars != Some(true), || {
        "Cannot use signals with environment variables".to_owned()
    });
    found.require(template.splay.unwrap_or(0) >= 0, || {
        "Must specify positive splay value".to_owned()
    });
    let perms = text(&template.perms);
    found.require(perms.is_empty() || u32::from_str_radix(&perms, 8).is_ok(), || {
        format!("Failed to parse perms {perms:?} as octal")
    });
}

fn check_artifact(artifact: &TaskArtifact, found: &mut Findings) {
    let source = artifact.getter_source.as_deref().unwrap_or_default();
    found.require(!source.is_empty(), || "source must be specified".to_owned());
    let mode = artifact.getter_mode.as_deref().unwrap_or("any");
    found.require(matches!(mode, "" | "any" | "file" | "dir"), || {
        format!("invalid artifact mode {mode:?}; must be one of: any, file, dir")
    });
    let destination = artifact.relative_dest.as_deref().unwrap_or_default();
    found.require(!escapes(destination, 1), || {
        "destination escapes allocation directory".to_owned()
    });
    let Some(checksum) = artifact.getter_options.get("checksum") else { return };
    if checksum.contains("${") {
        return;
    }
    let (kind, digest) = checksum.split_once(':').unwrap_or(("", checksum));
    let digits = match kind {
        "md5" => 32,
        "sha1" => 40,
        "sha256" => 64,
        "sha512" => 128,
        "file" => return,
        _ => {
            found.error(format!("unsupported checksum type: {kind}"));
            return;
        }
    };
    let well_formed = digest.len() == digits && digest.bytes().all(|b| b.is_ascii_hexdigit());
    found.require(well_formed, || format!("invalid {kind} checksum: {digest:?}"));
}

/// Whether a relative path climbs more than `allowed` levels out of its directory.
fn escapes(path: &str, allowed: i64) -> bool {
    let mut depth = 0_i64;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < -allowed {
            return true;
        }
    }
    false
}

/// The labels of all ports of some networks.
pub(super) fn port_labels(networks: &[NetworkResource]) -> Vec<&str> {
    let ports = networks.iter().flat_map(|n| n.reserved_ports.iter().chain(n.dynamic_ports.iter()));
    ports.map(|port| port.label.as_str()).collect()
}

pub(super) fn service(service: &Service, labels: &[&str], found: &mut Findings) {
    found.within(format!("service {:?}", service.name), |found| {
        let plain = service.name.replace("${", "").replace('}', "");
        let well_formed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        found.require(plain.len() <= 63 && plain.chars().all(well_formed), || {
            let name = &service.name;
            format!("Service name {name:?} may contain only letters, digits and dashes")
        });
        found.require(matches!(service.provider.as_str(), "" | "consul" | "nomad"), || {
            format!("Service provider {:?} must be consul or nomad", service.provider)
        });
        port_exists(&service.port_label, labels, found);
        for item in &service.checks {
            check_service_check(service, item, found);
            port_exists(&item.port_label, labels, found);
        }
    });
}

fn port_exists(label: &str, labels: &[&str], found: &mut Findings) {
    let number = label.parse::<u16>().is_ok();
    found.require(
        label.is_empty() || number || label.contains("${") || labels.contains(&label),
        || format!("port label {label:?} does not exist"),
    );
}

fn check_service_check(service: &Service, check: &ServiceCheck, found: &mut Findings) {
    let kind = check.kind.as_str();
    match kind {
        "http" => found.require(check.path.starts_with('/') || check.path.contains("${"), || {
            "check of type http must have a valid http path".to_owned()
        }),
        "script" => found.require(!check.command.is_empty(), || {
            "check of type script needs a command".to_owned()
        }),
        "tcp" | "grpc" => {}
        _ => found.error(format!("invalid check type {kind:?}, must be http, tcp, grpc or script")),
    }
    if service.provider == "nomad" && matches!(kind, "grpc" | "script") {
        found.error(format!("checks of type {kind:?} need the provider consul"));
    }
    found.require(check.interval >= SECOND, || "check interval cannot be less than 1s".to_owned());
    found.require(check.timeout >= SECOND, || "check timeout cannot be less than 1s".to_owned());
}
