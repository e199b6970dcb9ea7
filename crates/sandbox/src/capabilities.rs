//! The parts of root's power, by the names they have in job files.

/// A set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(pub u64);

/// In the order of their numbers, which the kernel never changes.
const NAMES: [&str; 41] = [
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
];

impl Capabilities {
    pub const NONE: Self = Self(0);

    /// Those that this kernel has.
    pub fn all() -> Self {
        let text = std::fs::read_to_string("/proc/sys/kernel/cap_last_cap").unwrap_or_default();
        let last: u32 = text.trim().parse().unwrap_or(NAMES.len() as u32 - 1);
        Self(u64::MAX >> (63 - last.min(63)))
    }

    /// By name, with or without `cap_`, in any case; `all` stands for all there are.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let name = name.strip_prefix("cap_").unwrap_or(&name);
        if name == "all" {
            return Some(Self::all());
        }
        let number = NAMES.iter().position(|known| *known == name)?;
        Some(Self(1 << number))
    }

    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names, in the order of the alphabet.
    pub fn names(self) -> Vec<&'static str> {
        let has = |number: usize| self.0 & (1 << number) != 0;
        let numbered = NAMES.iter().enumerate();
        let mut names: Vec<_> =
            numbered.filter(|(number, _)| has(*number)).map(|(_, name)| *name).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_people_write_them() {
        assert_eq!(Capabilities::named("CAP_NET_RAW"), Some(Capabilities(1 << 13)));
        assert_eq!(Capabilities::named("mknod"), Some(Capabilities(1 << 27)));
        assert_eq!(Capabilities::named("checkpoint_restore"), Some(Capabilities(1 << 40)));
        assert_eq!(Capabilities::named("everything"), None);
        let two = Capabilities(1 << 13).with(Capabilities(1));
        assert_eq!(two.names(), ["chown", "net_raw"]);
        assert!(two.without(Capabilities::named("all").unwrap()).is_empty());
    }
}
