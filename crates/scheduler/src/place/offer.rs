//! What a node can offer a group: cpu, memory, disk and ports, or the dimension that is short.

use std::collections::BTreeSet;

use model::alloc::{
    AllocatedCpu, AllocatedMemory, AllocatedResources, AllocatedShared, AllocatedTask, PortMapping,
};
use model::job::{Job, NetworkResource, Port, TaskGroup};
use model::node::{MAX_DYNAMIC_PORT, MIN_DYNAMIC_PORT, Node};
use state::usage::Usage;

use crate::ids::Seeded;

/// Works out what a group would get on a node that already holds `held`.
///
/// # Errors
/// The dimension that is exhausted, in the words of the wire.
pub(crate) fn offer(
    _: &Job,
    group: &TaskGroup,
    node: &Node,
    held: &Usage,
    random: &mut Seeded,
) -> Result<AllocatedResources, String> {
    let mut ports = Ports::new(node, held, random)?;
    let mut resources = AllocatedResources {
        shared: AllocatedShared { disk_mb: group.disk_mb(), ..AllocatedShared::default() },
        ..AllocatedResources::default()
    };
    for network in group.networks.iter() {
        let (network, mapped) = ports.assign(network)?;
        resources.shared.networks.push(network);
        resources.shared.ports.extend(mapped);
    }
    for task in group.tasks.iter() {
        let mut given = AllocatedTask {
            cpu: AllocatedCpu { cpu_shares: task.cpu(), ..AllocatedCpu::default() },
            memory: AllocatedMemory {
                memory_mb: task.memory_mb(),
                memory_max_mb: task.resources.as_ref().and_then(|r| r.memory_max_mb).unwrap_or(0),
            },
            ..AllocatedTask::default()
        };
        for network in task.resources.iter().flat_map(|r| r.networks.iter()) {
            let (network, _) = ports.assign(network)?;
            given.networks.push(network);
        }
        resources.tasks.insert(task.name.clone(), given);
        resources.task_lifecycles.insert(task.name.clone(), task.lifecycle.clone());
    }
    // Figures of a hostile job must not wrap around into something that fits.
    let sum = |figure: fn(&AllocatedTask) -> i64| {
        resources.tasks.values().map(figure).fold(0_i64, i64::saturating_add)
    };
    let asked = (sum(|t| t.cpu.cpu_shares), sum(|t| t.memory.memory_mb), resources.shared.disk_mb);
    match held.exceeds_with(node, asked) {
        Some(dimension) => Err(dimension.to_owned()),
        None => Ok(resources),
    }
}

/// The ports of a node, as an offer is put together.
struct Ports<'a> {
    node: &'a Node,
    held: &'a Usage,
    taken: BTreeSet<(String, i64)>,
    reserved: BTreeSet<i64>,
    random: &'a mut Seeded,
}

impl<'a> Ports<'a> {
    fn new(node: &'a Node, held: &'a Usage, random: &'a mut Seeded) -> Result<Self, String> {
        let reserved = ranges(&node.reserved_resources.networks.reserved_host_ports);
        Ok(Self { node, held, taken: BTreeSet::new(), reserved, random })
    }

    /// The address of a host network; the node's first address when none is named.
    fn address(&self, host_network: &str) -> Result<String, String> {
        let wanted = if host_network.is_empty() { "default" } else { host_network };
        let addresses =
            self.node.node_resources.node_networks.iter().flat_map(|n| n.addresses.iter());
        for address in addresses {
            if address.alias == wanted && address.family == "ipv4" {
                return Ok(address.address.clone());
            }
        }
        let first = self.node.node_resources.networks.first();
        match first.filter(|_| wanted == "default") {
            Some(network) => Ok(network.ip.clone()),
            None => Err(format!("network: no addresses available for {wanted:?} network")),
        }
    }

    fn is_free(&self, ip: &str, port: i64) -> bool {
        !self.held.holds_port(ip, port)
            && !self.taken.contains(&(ip.to_owned(), port))
            && !self.reserved.contains(&port)
    }

    fn assign(
        &mut self,
        ask: &NetworkResource,
    ) -> Result<(NetworkResource, Vec<PortMapping>), String> {
        let mut given = NetworkResource { ip: self.address("default")?, ..ask.clone() };
        given.mbits = Some(ask.mbits.unwrap_or(0));
        let mut mapped = Vec::new();
        for port in given.reserved_ports.iter_mut() {
            let ip = self.address(&port.host_network)?;
            if !self.is_free(&ip, port.value) && !port.ignore_collision {
                return Err(format!(
                    "network: reserved port collision {}={}",
                    port.label, port.value
                ));
            }
            self.take(&ip, port, &mut mapped);
        }
        for port in given.dynamic_ports.iter_mut() {
            let ip = self.address(&port.host_network)?;
            port.value = self.free_port(&ip).ok_or("network: dynamic port selection failed")?;
            self.take(&ip, port, &mut mapped);
        }
        Ok((given, mapped))
    }

    fn take(&mut self, ip: &str, port: &mut Port, mapped: &mut Vec<PortMapping>) {
        if port.host_network.is_empty() {
            port.host_network = "default".to_owned();
        }
        if port.to == -1 {
            port.to = port.value;
        }
        self.taken.insert((ip.to_owned(), port.value));
        mapped.push(PortMapping {
            label: port.label.clone(),
            value: port.value,
            to: port.to,
            host_ip: ip.to_owned(),
        });
    }

    /// A free dynamic port: a random start, then the next free one, so that a nearly full node
    /// still finds its last port and a port is not reused at once.
    fn free_port(&mut self, ip: &str) -> Option<i64> {
        let or = |value: i64, default: i64| if value > 0 { value } else { default };
        let low = or(self.node.node_resources.min_dynamic_port, MIN_DYNAMIC_PORT);
        let high = or(self.node.node_resources.max_dynamic_port, MAX_DYNAMIC_PORT);
        let span = u64::try_from(high - low + 1).ok().filter(|s| *s > 0)?;
        let start = self.random.below(span);
        (0..span)
            .map(|step| low + i64::try_from((start + step) % span).unwrap_or(0))
            .find(|port| self.is_free(ip, *port))
    }
}

/// The ports of a list such as `22,80,8500-8600`. What cannot be read was refused at the agent.
fn ranges(text: &str) -> BTreeSet<i64> {
    let mut ports = BTreeSet::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(low), Ok(high)) = (low.trim().parse::<u16>(), high.trim().parse::<u16>()) {
            ports.extend((low..=high).map(i64::from));
        }
    }
    ports
}
