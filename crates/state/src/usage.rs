//! What allocations hold of a node: the one sum that placing, verifying and checking share.
//!
//! Only the observation frees resources: an allocation that should stop holds what it has until
//! its node says that it ended. A replacement on the same node waits there for its predecessor,
//! so such a pair is counted as the larger of the two, not as both.

use std::collections::{BTreeMap, BTreeSet};

use model::alloc::Alloc;
use model::ids::AllocId;
use model::node::Node;

/// What is held of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// MHz.
    pub cpu: i64,
    /// MiB.
    pub memory_mb: i64,
    /// MiB.
    pub disk_mb: i64,
    /// Host addresses and ports; an empty address stands for all.
    pub ports: BTreeSet<(String, i64)>,
    /// Ports that two allocations claim.
    pub clashes: BTreeSet<(String, i64)>,
}

/// Sums what allocations of one node hold.
pub fn usage<'a>(allocs: impl IntoIterator<Item = &'a Alloc>) -> Usage {
    let held: BTreeMap<AllocId, &Alloc> =
        allocs.into_iter().filter(|a| a.holds_resources()).map(|a| (a.id, a)).collect();
    let mut waiting_for: BTreeMap<AllocId, &Alloc> = BTreeMap::new();
    for alloc in held.values().filter(|a| !a.is_server_terminal()) {
        if let Some(previous) =
            alloc.previous.filter(|p| held.get(p).is_some_and(|p| p.is_server_terminal()))
        {
            waiting_for.insert(previous, alloc);
        }
    }
    let mut sum = Usage::default();
    for (id, alloc) in &held {
        let (cpu, memory, disk) = figures(alloc);
        match waiting_for.get(id) {
            Some(successor) => {
                let (c, m, d) = figures(successor);
                sum.cpu += (cpu - c).max(0);
                sum.memory_mb += (memory - m).max(0);
                sum.disk_mb += (disk - d).max(0);
                sum.add_ports(alloc, Some(successor));
            }
            None => {
                sum.cpu += cpu;
                sum.memory_mb += memory;
                sum.disk_mb += disk;
                sum.add_ports(alloc, None);
            }
        }
    }
    sum
}

fn figures(alloc: &Alloc) -> (i64, i64, i64) {
    let r = &alloc.resources;
    (r.cpu(), r.memory_mb(), r.shared.disk_mb)
}

impl Usage {
    fn add_ports(&mut self, alloc: &Alloc, successor: Option<&Alloc>) {
        for (ip, port) in alloc.resources.host_ports().filter(|(_, p)| *p > 0) {
            let passed_on =
                successor.is_some_and(|s| s.resources.host_ports().any(|held| held == (ip, port)));
            let key = (ip.to_owned(), port);
            if !passed_on && !self.ports.insert(key.clone()) {
                self.clashes.insert(key);
            }
        }
    }

    /// Whether a port of an address is taken.
    pub fn holds_port(&self, ip: &str, port: i64) -> bool {
        self.ports
            .iter()
            .any(|(held, p)| *p == port && (held == ip || held.is_empty() || ip.is_empty()))
    }

    /// Adds an allocation that replaces none.
    pub fn add(&mut self, alloc: &Alloc) {
        let (cpu, memory, disk) = figures(alloc);
        self.cpu += cpu;
        self.memory_mb += memory;
        self.disk_mb += disk;
        self.add_ports(alloc, None);
    }

    /// The first dimension in which this is more than the node has, as the wire names it.
    pub fn exceeds(&self, node: &Node) -> Option<&'static str> {
        let clash = (!self.clashes.is_empty()).then_some("network: port collision");
        self.exceeds_with(node, (0, 0, 0)).or(clash)
    }

    /// The first of cpu, memory and disk in which this and `more` of each pass what the node has.
    pub fn exceeds_with(&self, node: &Node, more: (i64, i64, i64)) -> Option<&'static str> {
        let (cpu, memory_mb, disk_mb) = more;
        if self.cpu + cpu > node.usable_cpu() {
            Some("cpu")
        } else if self.memory_mb + memory_mb > node.usable_memory_mb() {
            Some("memory")
        } else if self.disk_mb + disk_mb > node.usable_disk_mb() {
            Some("disk")
        } else {
            None
        }
    }
}
