//! What this machine is: probes run side by side, each a file, and make up the node.

mod cpu;
mod host;
mod network;
mod storage;

pub(crate) use storage::mount_of;

use std::collections::BTreeMap;

use drivers::Registry;
use model::job::NetworkResource;
use model::node::{
    DriverInfo, ELIGIBLE, HostVolume, Node, NodeCpu, NodeCpuReserved, NodeDisk, NodeMemory,
    NodeReservedNetworks, NodeReservedResources, NodeResources, NodeStatus,
};
use model::wire::{Map, Time};

use crate::alloc::operations::blocking;
use crate::clock;
use crate::config::Config;
use crate::identity::Identity;

/// What one probe found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    attributes: BTreeMap<String, String>,
}

impl Found {
    fn set(&mut self, name: &str, value: impl ToString) {
        let value = value.to_string();
        if !value.is_empty() {
            self.attributes.insert(name.to_owned(), value);
        }
    }
}

/// Defaults that jobs of service meshes refer to.
const CONNECT_META: [(&str, &str); 4] = [
    ("connect.sidecar_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"),
    ("connect.gateway_image", "docker.io/envoyproxy/envoy:v${NOMAD_envoy_version}"),
    ("connect.log_level", "info"),
    ("connect.proxy_concurrency", "1"),
];

/// Looks at the machine and makes the node of it.
pub(crate) async fn node(config: &Config, identity: &Identity, drivers: &Registry) -> Node {
    let storage_of = config.alloc_dir.clone();
    let interface = config.network_interface.clone();
    let dev_mode = config.dev_mode;
    let (cpu, host, storage, network) = tokio::join!(
        blocking(cpu::probe),
        blocking(host::probe),
        blocking(move || storage::probe(&storage_of)),
        blocking(move || network::probe(interface.as_deref(), dev_mode)),
    );
    let mut found = Found::default();
    for part in [&cpu.found, &host.found, &storage.found, &network.found] {
        found.attributes.extend(part.attributes.clone());
    }
    let total_compute = config.cpu_total_compute.unwrap_or(cpu.total_mhz);
    found.set("cpu.totalcompute", total_compute);
    found.set("cpu.usablecompute", total_compute - config.reserved_cpu);
    found.set("cpu.reservablecores", cpu.cores);
    found.set("nomad.version", &config.nomad_version);
    found.set("nomad.service_discovery", true);
    found.set("nomad.advertise.address", &config.http_address);
    found.set("unique.advertise.address", &config.http_address);
    found.set("muster.version", &config.muster_version);
    let drivers = driver_infos(config, drivers, &mut found);
    let mut node = Node {
        id: identity.node_id,
        secret_id: identity.secret.clone(),
        datacenter: config.datacenter.clone(),
        name: if config.name.is_empty() { host.hostname } else { config.name.clone() },
        http_addr: config.http_address.clone(),
        attributes: Map(found.attributes),
        node_resources: resources(config, total_compute, cpu.cores, &storage, host.memory_bytes),
        reserved_resources: reserved(config),
        meta: meta(config),
        host_volumes: host_volumes(config),
        node_class: config.node_class.clone(),
        node_pool: config.node_pool.clone(),
        scheduling_eligibility: ELIGIBLE.to_owned(),
        status: NodeStatus::Initializing,
        drivers,
        ..Node::default()
    };
    node.node_resources.networks =
        network.addresses.iter().map(|address| network_resource(&network, address)).collect();
    node.node_resources.node_networks = network.node_networks();
    node.computed_class = computed_class(&node);
    node
}

fn host_volumes(config: &Config) -> Map<HostVolume> {
    let volume = |(name, (path, read_only)): (&String, &(String, bool))| {
        let volume = HostVolume { name: name.clone(), path: path.clone(), read_only: *read_only };
        (name.clone(), volume)
    };
    Map(config.host_volumes.iter().map(volume).collect())
}

fn resources(
    config: &Config,
    total_compute: i64,
    cores: u16,
    storage: &storage::Storage,
    memory_bytes: u64,
) -> NodeResources {
    let mebibytes = |bytes: u64| i64::try_from(bytes >> 20).unwrap_or(i64::MAX);
    NodeResources {
        cpu: NodeCpu {
            cpu_shares: total_compute,
            total_cpu_cores: cores,
            reservable_cpu_cores: (0..cores).collect(),
        },
        memory: NodeMemory { memory_mb: config.memory_total_mb.unwrap_or(mebibytes(memory_bytes)) },
        disk: NodeDisk { disk_mb: config.disk_total_mb.unwrap_or(mebibytes(storage.total_bytes)) },
        min_dynamic_port: config.min_dynamic_port,
        max_dynamic_port: config.max_dynamic_port,
        ..NodeResources::default()
    }
}

fn reserved(config: &Config) -> NodeReservedResources {
    NodeReservedResources {
        cpu: NodeCpuReserved { cpu_shares: config.reserved_cpu, ..NodeCpuReserved::default() },
        memory: NodeMemory { memory_mb: config.reserved_memory_mb },
        disk: NodeDisk { disk_mb: config.reserved_disk_mb },
        networks: NodeReservedNetworks { reserved_host_ports: config.reserved_ports.clone() },
    }
}

fn meta(config: &Config) -> Map<String> {
    let mut meta: BTreeMap<String, String> =
        CONNECT_META.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    meta.extend(config.meta.clone());
    Map(meta)
}

fn network_resource(network: &network::Network, address: &network::Address) -> NetworkResource {
    let bits = if address.ip.is_ipv4() { 32 } else { 128 };
    NetworkResource {
        mode: "host".to_owned(),
        device: network.device.clone(),
        cidr: format!("{}/{bits}", address.ip),
        ip: address.ip.to_string(),
        mbits: Some(network.speed_mbits),
        ..NetworkResource::default()
    }
}

fn driver_infos(config: &Config, drivers: &Registry, found: &mut Found) -> Map<DriverInfo> {
    let mut infos = BTreeMap::new();
    for driver in drivers.iter() {
        let name = driver.name();
        let print = driver.fingerprint();
        // The pretending driver shows itself only where it was asked for.
        if !config.allows_driver(name) || (name == "mock_driver" && !print.detected) {
            continue;
        }
        found.attributes.extend(print.attributes.clone());
        let info = DriverInfo {
            attributes: Map(print.attributes),
            detected: print.detected,
            healthy: print.healthy,
            health_description: print.description,
            update_time: Time(clock::now()),
        };
        infos.insert(name.to_owned(), info);
    }
    Map(infos)
}

/// Nodes of one class are alike for every constraint that names nothing unique.
fn computed_class(node: &Node) -> String {
    let mut hash = Fnv::new();
    for text in [&node.datacenter, &node.node_class, &node.node_pool] {
        hash.add(text);
    }
    let is_shared = |name: &str| !name.starts_with("unique.");
    for facts in [&node.attributes, &node.meta] {
        for (name, value) in facts.iter().filter(|(name, _)| is_shared(name)) {
            // The address of the node's API is its own, whatever the name says.
            if name != "nomad.advertise.address" {
                hash.add(name);
                hash.add(value);
            }
        }
        hash.add("");
    }
    for (name, driver) in node.drivers.iter() {
        hash.add(name);
        hash.add(if driver.healthy { "healthy" } else { "" });
    }
    format!("v1:{}", hash.0)
}

/// FNV-1a: the same on every machine and in every version.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// What `${attr.…}`, `${meta.…}` and `${node.…}` stand for on this node.
pub(crate) fn facts(node: &Node, region: &str) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    facts.extend(node.attributes.iter().map(|(name, v)| (format!("attr.{name}"), v.clone())));
    facts.extend(node.meta.iter().map(|(name, v)| (format!("meta.{name}"), v.clone())));
    let own = [
        ("unique.id", node.id.to_string()),
        ("unique.name", node.name.clone()),
        ("datacenter", node.datacenter.clone()),
        ("class", node.node_class.clone()),
        ("region", region.to_owned()),
        ("pool", node.node_pool.clone()),
    ];
    facts.extend(own.map(|(name, value)| (format!("node.{name}"), value)));
    facts
}

#[cfg(test)]
mod tests {
    use model::ids::NodeId;

    use super::*;

    fn node() -> Node {
        let attributes = [("kernel.name", "linux"), ("unique.hostname", "a")];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Node { datacenter: "dc1".to_owned(), attributes: Map(attributes.into()), ..Node::default() }
    }

    #[test]
    fn the_class_depends_on_what_is_shared_and_on_nothing_unique() {
        let class = computed_class(&node());
        assert_eq!(class, "v1:4093213568888138072");
        let mut other = node();
        other.attributes.insert("unique.hostname".to_owned(), "b".to_owned());
        other.id = NodeId::from_name("other");
        assert_eq!(computed_class(&other), class);
        other.attributes.insert("kernel.name".to_owned(), "other".to_owned());
        assert_ne!(computed_class(&other), class);
    }
}
