//! What allocations hold of a node: the one sum that placing, verifying and checking share.
//!
//! Only the observation frees resources: an allocation that should stop holds what it has until
//! its node says that it ended. A replacement on the same node waits there for its predecessor, so
//! such a chain is counted as the most that one of it needs, not as the sum.

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
    // Who waits for whom: at most one for each, so that a chain runs one after the other.
    let mut follower: BTreeMap<AllocId, &Alloc> = BTreeMap::new();
    // One that waits itself hands nothing over: it may end before it has started, and its own
    // predecessor runs on.
    let ending = |id: &AllocId| held.get(id).filter(|p| p.is_server_terminal());
    let hands_over = |p: &&&Alloc| p.previous.is_none_or(|before| ending(&before).is_none());
    for alloc in held.values() {
        if let Some(previous) =
            alloc.previous.filter(|p| ending(p).filter(|p| hands_over(p)).is_some())
        {
            let first = follower.entry(previous).or_insert(alloc);
            if (alloc.create_index, alloc.id) < (first.create_index, first.id) {
                *first = alloc;
            }
        }
    }
    let waits = |alloc: &Alloc| {
        alloc.previous.is_some_and(|p| follower.get(&p).is_some_and(|f| f.id == alloc.id))
    };
    let mut sum = Usage::default();
    for first in held.values().filter(|a| !waits(a)) {
        let mut chain = vec![*first];
        while let Some(next) = chain.last().and_then(|last| follower.get(&last.id)) {
            chain.push(next);
        }
        sum.add_chain(&chain);
    }
    sum
}

fn figures(alloc: &Alloc) -> (i64, i64, i64) {
    let r = &alloc.resources;
    (r.cpu(), r.memory_mb(), r.shared.disk_mb)
}

/// Whether the job says that others may listen on this port too.
fn may_be_shared(alloc: &Alloc, port: i64) -> bool {
    let mut reserved = alloc.resources.shared.networks.iter().flat_map(|n| n.reserved_ports.iter());
    reserved.any(|p| p.value == port && p.ignore_collision)
}

impl Usage {
    /// Adds allocations that run one after the other: the most any of them needs.
    fn add_chain(&mut self, chain: &[&Alloc]) {
        let most = |figure: fn(&Alloc) -> i64| chain.iter().map(|a| figure(a)).max().unwrap_or(0);
        self.cpu = self.cpu.saturating_add(most(|a| figures(a).0));
        self.memory_mb = self.memory_mb.saturating_add(most(|a| figures(a).1));
        self.disk_mb = self.disk_mb.saturating_add(most(|a| figures(a).2));
        let ports: BTreeSet<(String, i64)> = chain
            .iter()
            .flat_map(|a| {
                let ports = a.resources.host_ports();
                ports.filter(|(_, port)| *port > 0 && !may_be_shared(a, *port))
            })
            .map(|(ip, port)| (ip.to_owned(), port))
            .collect();
        for port in ports {
            if !self.ports.insert(port.clone()) {
                self.clashes.insert(port);
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
        self.add_chain(&[alloc]);
    }

    /// The first dimension in which this is more than the node has, as the wire names it.
    pub fn exceeds(&self, node: &Node) -> Option<&'static str> {
        let clash = (!self.clashes.is_empty()).then_some("network: port collision");
        self.exceeds_with(node, (0, 0, 0)).or(clash)
    }

    /// The first of cpu, memory and disk in which this and `more` of each pass what the node has.
    pub fn exceeds_with(&self, node: &Node, more: (i64, i64, i64)) -> Option<&'static str> {
        let (cpu, memory_mb, disk_mb) = more;
        if self.cpu.saturating_add(cpu) > node.usable_cpu() {
            Some("cpu")
        } else if self.memory_mb.saturating_add(memory_mb) > node.usable_memory_mb() {
            Some("memory")
        } else if self.disk_mb.saturating_add(disk_mb) > node.usable_disk_mb() {
            Some("disk")
        } else {
            None
        }
    }
}
