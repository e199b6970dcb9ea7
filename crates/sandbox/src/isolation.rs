//! What an isolated program sees of the machine: a root of its own, put together from mounts that
//! exist in its own mount namespace alone.
//!
//! Nothing is copied and nothing is mounted where others see it. The namespace goes when its last
//! process ends, and every mount with it, whichever way the process, its supervisor or the agent
//! came to an end: there is nothing to clean up.

use std::ffi::CString;

use crate::capabilities::Capabilities;

/// The root of a program, and the namespaces it has to itself beside that of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// The directory that becomes `/`. Mount points must exist in it.
    pub root: CString,
    /// In this order; a later one may lie inside an earlier one.
    pub mounts: Vec<Mount>,
    pub private_pids: bool,
    pub private_ipc: bool,
}

/// One mount. Targets are paths below the root without a leading slash, and no part of one may be
/// a link: what ran in this root earlier may have put one there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// A file or directory of the host with everything mounted below it. Device files in it cannot
    /// be opened.
    Bind { source: CString, target: CString, read_only: bool },
    /// What is there already, made unchangeable. Absent targets are fine.
    ReadOnly { target: CString },
    /// Nothing where the program has no business: an empty directory, or a file that cannot be
    /// opened. Absent targets are fine.
    Hidden { target: CString },
    /// The processes of the program's namespace.
    Proc { target: CString },
    /// The kernel's view of devices, unchangeable.
    Sys { target: CString },
    /// The few device files that programs expect, terminals and shared memory of its own. No other
    /// device file in it can be opened, not even one that the program makes.
    Devices { target: CString },
}

impl Mount {
    pub fn target(&self) -> &CString {
        match self {
            Self::Bind { target, .. }
            | Self::ReadOnly { target }
            | Self::Hidden { target }
            | Self::Proc { target }
            | Self::Sys { target }
            | Self::Devices { target } => target,
        }
    }

    /// For a message about a failure, after "cannot mount /".
    pub(crate) fn describe(&self) -> String {
        let target = self.target().to_string_lossy();
        match self {
            Self::Bind { source, .. } => format!("{target} from {}", source.to_string_lossy()),
            _ => target.into_owned(),
        }
    }
}

/// Parts of `/proc` and `/sys` through which root in a namespace reaches the whole machine.
const UNCHANGEABLE: [&std::ffi::CStr; 5] =
    [c"proc/sys", c"proc/sysrq-trigger", c"proc/irq", c"proc/bus", c"proc/fs"];
const HIDDEN: [&std::ffi::CStr; 6] = [
    c"proc/kcore",
    c"proc/keys",
    c"proc/latency_stats",
    c"proc/timer_list",
    c"proc/sched_debug",
    c"sys/firmware",
];
/// Mount points that [`kernel_mounts`] needs.
pub const KERNEL_MOUNT_POINTS: [&str; 3] = ["dev", "proc", "sys"];

/// `/dev`, `/proc` and `/sys` as every isolated program has them.
pub fn kernel_mounts() -> Vec<Mount> {
    let mut mounts = vec![
        Mount::Devices { target: c"dev".to_owned() },
        Mount::Proc { target: c"proc".to_owned() },
        Mount::Sys { target: c"sys".to_owned() },
    ];
    mounts.extend(UNCHANGEABLE.map(|target| Mount::ReadOnly { target: target.to_owned() }));
    mounts.extend(HIDDEN.map(|target| Mount::Hidden { target: target.to_owned() }));
    mounts
}

/// Why the machine cannot isolate programs, if it cannot: the calls that make whole trees read-only
/// are in Linux 5.12 and later.
pub fn unavailable() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("the agent does not run as root");
    }
    if !may_mount() {
        return Some("the agent has no capability to mount (sys_admin)");
    }
    // No descriptor has this number, so a kernel that knows the call answers so.
    match crate::spawn::set_mount_attributes_of_nothing() {
        rustix::io::Errno::NOSYS => Some("the kernel is older than Linux 5.12"),
        _ => None,
    }
}

fn may_mount() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    Capabilities::named("sys_admin")
        .is_some_and(|needed| needed.without(Capabilities(held)).is_empty())
}
