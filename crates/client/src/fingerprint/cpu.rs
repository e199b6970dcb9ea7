//! Processors: how many, which, and how fast.

use std::fs;

use super::Found;

/// Assumed where the machine does not tell.
const MHZ_UNKNOWN: i64 = 1000;

pub(super) struct Cpu {
    pub(super) found: Found,
    pub(super) cores: u16,
    pub(super) total_mhz: i64,
}

pub(super) fn probe() -> Cpu {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = info.lines().filter(|line| line.starts_with("processor")).count().max(1);
    let cores = u16::try_from(cores).unwrap_or(u16::MAX);
    let mhz = max_mhz().or_else(|| field(&info, "cpu MHz")?.parse::<f64>().ok().map(|m| m as i64));
    let mhz = mhz.filter(|mhz| *mhz > 0).unwrap_or(MHZ_UNKNOWN);
    let mut found = Found::default();
    found.set("cpu.arch", architecture());
    found.set("cpu.numcores", cores);
    found.set("cpu.numcores.performance", cores);
    found.set("cpu.frequency", mhz);
    found.set("cpu.frequency.performance", mhz);
    found.set("cpu.modelname", field(&info, "model name").unwrap_or_default());
    found.set("numa.node.count", 1);
    found.set("numa.node0.cores", if cores > 1 { format!("0-{}", cores - 1) } else { "0".into() });
    Cpu { found, cores, total_mhz: mhz * i64::from(cores) }
}

/// The names that Go uses, which constraints are written with.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn max_mhz() -> Option<i64> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok()?;
    Some(text.trim().parse::<i64>().ok()? / 1000)
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let line = info.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}
