//! Kernel, distribution, memory, name, control groups.

use std::fs;
use std::path::Path;

use super::Found;
use crate::signals;

pub(super) struct Host {
    pub(super) found: Found,
    pub(super) hostname: String,
    pub(super) memory_bytes: u64,
}

pub(super) fn probe() -> Host {
    let mut found = Found::default();
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let hostname = text(uname.nodename());
    found.set("kernel.name", "linux");
    found.set("kernel.version", text(uname.release()));
    found.set("kernel.arch", text(uname.machine()));
    found.set("kernel.landlock", landlock());
    found.set("unique.hostname", &hostname);
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    found.set("os.name", release_field(&release, "ID").unwrap_or("linux"));
    found.set("os.version", release_field(&release, "VERSION_ID").unwrap_or_default());
    found.set("os.signals", signals::names());
    let memory_bytes = memory_bytes().unwrap_or(0);
    found.set("memory.totalbytes", memory_bytes);
    let root = Path::new("/sys/fs/cgroup");
    if root.join("cgroup.controllers").exists() {
        found.set("os.cgroups.version", 2);
    } else if root.exists() {
        found.set("os.cgroups.version", 1);
    }
    if root.exists() {
        found.set("unique.cgroup.mountpoint", root.display());
    }
    Host { found, hostname, memory_bytes }
}

/// The kernel's list of security modules says whether it is on; its version only a call would.
fn landlock() -> &'static str {
    let modules = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    if modules.split(',').any(|module| module.trim() == "landlock") { "v1" } else { "unavailable" }
}

fn memory_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

fn release_field<'a>(release: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix('=');
    release.lines().find_map(value).map(|value| value.trim_matches('"'))
}
