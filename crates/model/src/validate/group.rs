//! Checks of groups and their policies.

use super::{Findings, duration_text, placement, repeated, task};
use crate::job::*;
use crate::wire::{Nanos, SECOND};

/// Shortest delay and interval of restart and reschedule policies.
const SHORTEST: Nanos = 5 * SECOND;
/// Smallest disk of an allocation.
const DISK_MB_MIN: i64 = 10;
/// Highest port number.
const PORT_MAX: i64 = 65_535;

pub(super) fn check(job: &Job, group: &TaskGroup, found: &mut Findings) {
    let kind = job.job_type();
    let name = group.name();
    found.require(!name.contains(['\0', '/']), || {
        "Task group name cannot include slashes or null characters".to_owned()
    });
    let count = group.count.unwrap_or(1);
    found.require(count >= 0, || "Task group count can't be negative".to_owned());
    if kind == JobType::System && count > 1 {
        found.error(format!(
            "Job task group {name} has count {count}. Count cannot exceed 1 with system scheduler"
        ));
    }
    check_tasks(group, found);
    placement::constraints(&group.constraints, found);
    let everywhere = kind == JobType::System;
    if everywhere && !group.affinities.is_empty() {
        found.error("System jobs may not have an affinity block");
    } else {
        placement::affinities(&group.affinities, found);
    }
    if everywhere && !group.spreads.is_empty() {
        found.error("System jobs may not have a spread block");
    } else {
        placement::spreads(&group.spreads, found);
    }
    if let Some(policy) = &group.restart_policy {
        restart(policy, found);
    }
    match &group.reschedule_policy {
        Some(_) if matches!(kind, JobType::System | JobType::SysBatch) => {
            found.error("System jobs should not have a reschedule policy");
        }
        Some(policy) => reschedule(policy, found),
        None => {}
    }
    if let Some(disk) = &group.ephemeral_disk {
        let size = disk.size_mb.unwrap_or(DISK_MB_MIN);
        found.require(size >= DISK_MB_MIN, || {
            format!("minimum DiskMB value is {DISK_MB_MIN}; got {size}")
        });
    }
    if let Some(policy) = &group.update {
        update(policy, kind, count, found);
    }
    if let Some(policy) = &group.migrate {
        migrate(policy, kind, found);
    }
    if let Some(policy) = &group.scaling {
        scaling(policy, count, found);
    }
    networks(&group.networks, found);
    let labels = task::port_labels(&group.networks);
    for service in &group.services {
        task::service(service, &labels, found);
    }
    found.require(group.shutdown_delay.unwrap_or(0) >= 0, || {
        "shutdown_delay must be a positive value".to_owned()
    });
}

fn check_tasks(group: &TaskGroup, found: &mut Findings) {
    found.require(!group.tasks.is_empty(), || "Missing tasks for task group".to_owned());
    for (name, first, again) in repeated(group.tasks.iter().map(|task| task.name.as_str())) {
        found.error(format!("Task {again} redefines '{name}' from task {first}"));
    }
    let leaders = group.tasks.iter().filter(|task| task.leader).count();
    found.require(leaders <= 1, || "Only one task may be marked as leader".to_owned());
    for (at, item) in group.tasks.iter().enumerate() {
        if item.name.is_empty() {
            found.error(format!("Task {} missing name", at + 1));
        }
        for (at, mount) in item.volume_mounts.iter().enumerate() {
            let volume = mount.volume.as_deref().unwrap_or_default();
            found.require(group.volumes.contains_key(volume), || {
                format!(
                    "Task {} has a volume mount ({at}) referencing undefined volume {volume}",
                    item.name
                )
            });
        }
        found.within(format!("task {:?}", item.name), |found| {
            task::check(group, item, found);
            if let Some(policy) = &item.restart_policy {
                restart(policy, found);
            }
        });
    }
}

fn restart(policy: &RestartPolicy, found: &mut Findings) {
    let mode = policy.mode.as_deref().unwrap_or_default();
    found.require(matches!(mode, "fail" | "delay"), || {
        format!("Unsupported restart mode: {mode:?}")
    });
    let attempts = policy.attempts.unwrap_or(0);
    let (interval, delay) = (policy.interval.unwrap_or(0), policy.delay.unwrap_or(0));
    found.require(attempts >= 0 && delay >= 0, || {
        "Restart attempts and delay must not be negative".to_owned()
    });
    if attempts == 0 {
        found.require(mode != "delay", || {
            "Restart policy \"delay\" with 0 attempts is ambiguous".to_owned()
        });
        return;
    }
    found.require(interval >= SHORTEST, || {
        let least = duration_text(SHORTEST);
        format!("Restart interval can not be less than {least} (got {})", duration_text(interval))
    });
    found.require(attempts.saturating_mul(delay) <= interval, || {
        format!(
            "Cannot restart {attempts} times in an interval of {} with a delay of {}",
            duration_text(interval),
            duration_text(delay)
        )
    });
}

fn reschedule(policy: &ReschedulePolicy, found: &mut Findings) {
    let attempts = policy.attempts.unwrap_or(0);
    let interval = policy.interval.unwrap_or(0);
    let unlimited = policy.unlimited.unwrap_or(false);
    if !unlimited && attempts == 0 {
        return;
    }
    let delay = policy.delay.unwrap_or(0);
    let most = policy.max_delay.unwrap_or(0);
    let function = policy.delay_function.as_deref().unwrap_or_default();
    let known = matches!(function, "constant" | "exponential" | "fibonacci");
    found.require(known, || {
        format!("Invalid delay function {function:?}, must be constant, exponential or fibonacci")
    });
    let least = duration_text(SHORTEST);
    found.require(delay >= SHORTEST, || {
        format!("Reschedule delay cannot be less than {least} (got {})", duration_text(delay))
    });
    if known && function != "constant" {
        found.require(most >= SHORTEST, || {
            format!("Max Delay cannot be less than {least} (got {})", duration_text(most))
        });
        found.require(most >= delay, || {
            format!(
                "Max Delay cannot be less than Delay {} (got {})",
                duration_text(delay),
                duration_text(most)
            )
        });
    }
    if unlimited || !known || delay < SHORTEST {
        return;
    }
    found.require(interval > 0, || "Reschedule attempts need an interval above zero".to_owned());
    let possible = attempts_within(interval, delay, most, function, attempts);
    found.require(interval <= 0 || possible >= attempts, || {
        format!(
            "Only {possible} of {attempts} reschedule attempts fit in {} with initial delay {} and function {function:?}",
            duration_text(interval),
            duration_text(delay)
        )
    });
}

/// How many of the wanted attempts the growing delays leave room for.
fn attempts_within(interval: Nanos, delay: Nanos, most: Nanos, function: &str, wanted: i64) -> i64 {
    let (mut spent, mut made) = (0_i64, 0);
    let (mut previous, mut current) = (0_i64, delay);
    while made < wanted {
        spent = spent.saturating_add(current);
        if spent > interval {
            break;
        }
        made += 1;
        let next = match function {
            "exponential" => current.saturating_mul(2),
            "fibonacci" => current.saturating_add(previous).max(delay),
            _ => current,
        };
        previous = current;
        current = if most > 0 && function != "constant" { next.min(most) } else { next };
    }
    made
}

fn update(policy: &UpdateStrategy, kind: JobType, count: i64, found: &mut Findings) {
    if kind.runs_to_completion() {
        found.error(format!("Job type {:?} does not allow update block", kind.as_str()));
        return;
    }
    let check = policy.health_check.as_deref().unwrap_or_default();
    found.require(matches!(check, "checks" | "task_states" | "manual"), || {
        format!("Invalid health check given: {check:?}")
    });
    let parallel = policy.max_parallel.unwrap_or(0);
    let canary = policy.canary.unwrap_or(0);
    found.require(parallel >= 0, || {
        format!("Max parallel can not be less than zero: {parallel} < 0")
    });
    found.require(canary >= 0, || format!("Canary count can not be less than zero: {canary} < 0"));
    found.require(canary > 0 || policy.auto_promote != Some(true), || {
        "Auto Promote requires a Canary count greater than zero".to_owned()
    });
    let healthy = policy.min_healthy_time.unwrap_or(0);
    let deadline = policy.healthy_deadline.unwrap_or(0);
    let progress = policy.progress_deadline.unwrap_or(0);
    let text = duration_text;
    found.require(healthy >= 0, || "Minimum healthy time may not be less than zero".to_owned());
    found.require(deadline > 0, || "Healthy deadline must be greater than zero".to_owned());
    found.require(progress >= 0, || "Progress deadline must not be negative".to_owned());
    found.require(healthy < deadline, || {
        let (healthy, deadline) = (text(healthy), text(deadline));
        format!("Minimum healthy time must be less than healthy deadline: {healthy} > {deadline}")
    });
    found.require(progress == 0 || deadline < progress, || {
        let (deadline, progress) = (text(deadline), text(progress));
        format!("Healthy deadline must be less than progress deadline: {deadline} > {progress}")
    });
    found.require(policy.stagger.unwrap_or(0) > 0, || {
        "Stagger must be greater than zero".to_owned()
    });
    if kind == JobType::Service && parallel > count {
        found.warning(format!(
            "Update max parallel count is greater than task group count ({parallel} > {count}). \
             A destructive change would result in the simultaneous replacement of all allocations."
        ));
    }
}

fn migrate(policy: &MigrateStrategy, kind: JobType, found: &mut Findings) {
    if kind != JobType::Service {
        found.error(format!("Job type {:?} does not allow migrate block", kind.as_str()));
        return;
    }
    let check = policy.health_check.as_deref().unwrap_or_default();
    found.require(matches!(check, "checks" | "task_states"), || {
        format!("Invalid health check in migrate block: {check:?}")
    });
    let parallel = policy.max_parallel.unwrap_or(0);
    found.require(parallel >= 0, || format!("MaxParallel must be >= 0 but found {parallel}"));
    let healthy = policy.min_healthy_time.unwrap_or(0);
    let deadline = policy.healthy_deadline.unwrap_or(0);
    found.require(healthy >= 0 && healthy < deadline, || {
        let (healthy, deadline) = (duration_text(healthy), duration_text(deadline));
        format!("MinHealthyTime must be less than HealthyDeadline in migrate block: {healthy} > {deadline}")
    });
}

fn scaling(policy: &ScalingPolicy, count: i64, found: &mut Findings) {
    found.within("scaling", |found| {
        let Some(most) = policy.max else {
            found.error("missing maximum count in scaling policy");
            return;
        };
        let least = policy.min.unwrap_or(count);
        found.require(least >= 0, || "minimum count must be a non-negative integer".to_owned());
        found.require(most >= least, || {
            "maximum count must not be less than minimum count".to_owned()
        });
        found.require(count >= least, || {
            "task group count must not be less than minimum count in scaling policy".to_owned()
        });
        found.require(count <= most, || {
            "task group count must not be greater than maximum count in scaling policy".to_owned()
        });
    });
}

/// Checks ports, over all networks together.
pub(super) fn networks(list: &[NetworkResource], found: &mut Findings) {
    found.require(list.len() <= 1, || "Only one network is allowed".to_owned());
    found.within("network", |found| {
        let ports =
            || list.iter().flat_map(|n| n.reserved_ports.iter().chain(n.dynamic_ports.iter()));
        for (label, _, _) in repeated(ports().map(|port| port.label.as_str())) {
            found.error(format!("Port label {label} already in use"));
        }
        for port in ports() {
            let label = &port.label;
            found.require(!label.is_empty(), || "Port label cannot be empty".to_owned());
            found.require(port.value <= PORT_MAX, || {
                format!("Port {label} ({}) cannot be greater than {PORT_MAX}", port.value)
            });
            found.require(port.value >= 0, || {
                format!("Port {label} ({}) cannot be negative", port.value)
            });
            found.require((-1..=PORT_MAX).contains(&port.to), || {
                format!("Port {label} cannot be mapped to port {}", port.to)
            });
        }
        let mut taken: Vec<(i64, &str, &str)> = Vec::new();
        for port in list.iter().flat_map(|network| network.reserved_ports.iter()) {
            let host = port.host_network.as_str();
            match taken.iter().find(|(value, at, _)| *value == port.value && *at == host) {
                Some((value, _, other)) if *value > 0 && !port.ignore_collision => {
                    found.error(format!("Static port {value} already reserved by port {other:?}"));
                }
                _ => taken.push((port.value, host, &port.label)),
            }
        }
    });
}
