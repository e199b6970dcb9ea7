//! Figures of tasks and of the machine, in the API's form.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::alloc::runner::TaskFigures;
use crate::clock;
use crate::fingerprint::mount_of;

const DISKS_MAX: usize = 64;

/// `core_mhz` turns a share of a processor into the unit of jobs' `cpu`.
fn usage(figures: Option<&TaskFigures>, core_mhz: f64, devices: Value) -> Value {
    let (cpu_measured, memory_measured) = match figures {
        Some(_) => (json!(["Percent", "System Mode", "User Mode"]), json!(["RSS", "Swap"])),
        None => (Value::Null, Value::Null),
    };
    let percent = figures.map_or(0.0, |figures| figures.cpu_percent);
    let system = figures.map_or(0.0, |figures| figures.cpu_system_percent);
    let user = (percent - system).max(0.0);
    let rss = figures.map_or(0, |figures| figures.stats.memory_rss_bytes);
    let swap = figures.map_or(0, |figures| figures.stats.memory_swap_bytes);
    json!({
        "CpuStats": {
            "Measured": cpu_measured, "Percent": percent, "SystemMode": system, "UserMode": user,
            "ThrottledPeriods": 0, "ThrottledTime": 0, "TotalTicks": percent / 100.0 * core_mhz,
        },
        "DeviceStats": devices,
        "MemoryStats": {
            "Measured": memory_measured, "RSS": rss, "Cache": 0, "Swap": swap, "Usage": rss,
            "MaxUsage": 0, "KernelUsage": 0, "KernelMaxUsage": 0, "MappedFile": 0,
        },
    })
}

/// Of the tasks of one allocation, and their sum.
pub(crate) fn alloc(tasks: &BTreeMap<String, TaskFigures>, core_mhz: f64) -> Value {
    let mut sum: Option<TaskFigures> = None;
    for figures in tasks.values() {
        let sum = sum.get_or_insert(TaskFigures {
            at: figures.at,
            stats: Default::default(),
            cpu_percent: 0.0,
            cpu_system_percent: 0.0,
        });
        sum.at = sum.at.max(figures.at);
        sum.cpu_percent += figures.cpu_percent;
        sum.cpu_system_percent += figures.cpu_system_percent;
        sum.stats.memory_swap_bytes += figures.stats.memory_swap_bytes;
        sum.stats.memory_rss_bytes += figures.stats.memory_rss_bytes;
    }
    let of_task = |figures: &TaskFigures| {
        json!({
            "Pids": {}, "ResourceUsage": usage(Some(figures), core_mhz, Value::Null),
            "Timestamp": figures.at,
        })
    };
    let by_name: serde_json::Map<String, Value> =
        tasks.iter().map(|(name, figures)| (name.clone(), of_task(figures))).collect();
    json!({
        "ResourceUsage": usage(sum.as_ref(), core_mhz, json!([])),
        "Tasks": by_name,
        "Timestamp": sum.map_or(0, |sum| sum.at),
    })
}

/// Processor time of one processor, in ticks.
#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    user: u64,
    system: u64,
    idle: u64,
    total: u64,
}

/// Remembers the last look, since shares of the processors are over a time.
#[derive(Default)]
pub(crate) struct HostSampler {
    last: BTreeMap<String, Ticks>,
}

impl HostSampler {
    pub(crate) fn sample(&mut self, alloc_dir: &Path) -> Value {
        let now = ticks();
        let mut cpus = Vec::new();
        let mut busy_share = 0.0;
        for (name, ticks) in &now {
            let before = self.last.get(name).copied().unwrap_or_default();
            let share = |get: fn(&Ticks) -> u64| {
                let total = ticks.total.saturating_sub(before.total).max(1) as f64;
                100.0 * get(ticks).saturating_sub(get(&before)) as f64 / total
            };
            let idle = share(|t| t.idle);
            busy_share += 100.0 - idle;
            cpus.push(json!({
                "CPU": name, "User": share(|t| t.user), "System": share(|t| t.system),
                "Idle": idle, "TotalPercent": 100.0 - idle, "TotalTicks": 100.0 - idle,
                "Total": 100.0 - idle,
            }));
        }
        self.last = now;
        let disk = disk(alloc_dir);
        json!({
            "AllocDirStats": disk.clone().unwrap_or(Value::Null),
            "CPU": cpus,
            "CPUTicksConsumed": busy_share,
            "DeviceStats": null,
            "DiskStats": disks(),
            "Memory": memory(),
            "Timestamp": clock::now(),
            "Uptime": uptime_seconds(),
        })
    }
}

fn ticks() -> BTreeMap<String, Ticks> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of_line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let is_one = name.strip_prefix("cpu").is_some_and(|number| !number.is_empty());
        let fields: Vec<u64> =
            rest.split_ascii_whitespace().filter_map(|field| field.parse().ok()).collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or(0);
        let ticks = Ticks {
            user: field(0) + field(1),
            system: field(2),
            idle: field(3) + field(4),
            // Guests are within user time.
            total: fields.iter().take(8).sum(),
        };
        is_one.then(|| (name.to_owned(), ticks))
    };
    stat.lines().filter_map(of_line).collect()
}

fn memory() -> Value {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
        kibibytes.unwrap_or(0_u64) << 10
    };
    let (total, free, available) = (bytes("MemTotal:"), bytes("MemFree:"), bytes("MemAvailable:"));
    let cached = bytes("Cached:") + bytes("Buffers:");
    let used = total.saturating_sub(free).saturating_sub(cached);
    json!({"Total": total, "Available": available, "Used": used, "Free": free})
}

fn uptime_seconds() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    seconds.unwrap_or(0.0) as u64
}

/// The disks that hold files: one entry for each device.
fn disks() -> Vec<Value> {
    let table = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut seen = BTreeMap::new();
    for line in table.lines() {
        let mut fields = line.split(' ');
        let (Some(device), Some(point)) = (fields.next(), fields.next()) else { continue };
        if device.starts_with("/dev/") && seen.len() < DISKS_MAX {
            seen.entry(device.to_owned()).or_insert_with(|| point.to_owned());
        }
    }
    seen.iter().filter_map(|(device, point)| space(Path::new(point), device, point)).collect()
}

fn disk(path: &Path) -> Option<Value> {
    let mount = mount_of(path)?;
    space(path, &mount.device, &mount.point)
}

fn space(path: &Path, device: &str, point: &str) -> Option<Value> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let size = stat.f_blocks * stat.f_frsize;
    let available = stat.f_bavail * stat.f_frsize;
    let used = (stat.f_blocks - stat.f_bfree) * stat.f_frsize;
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / (whole.max(1) as f64);
    Some(json!({
        "Device": device, "Mountpoint": point, "Size": size, "Used": used,
        "Available": available, "UsedPercent": percent(used, used + available),
        "InodesUsedPercent": percent(stat.f_files - stat.f_ffree, stat.f_files),
    }))
}
