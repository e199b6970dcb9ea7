//! `resources` and `network` blocks.

use super::{flag, placement, string_map, text};
use hcl::Fields;
use model::job::*;
use model::wire::List;

/// Highest port number.
const PORT_MAX: i64 = 65_535;

pub(super) fn resources(f: &mut Fields<'_>) -> Resources {
    Resources {
        cpu: f.int("cpu"),
        cores: f.int("cores"),
        memory_mb: f.int("memory"),
        memory_max_mb: f.int("memory_max"),
        disk_mb: f.int("disk"),
        iops: f.int("iops"),
        secrets_mb: f.int("secrets"),
        networks: networks(f),
        devices: f.blocks("device", &["name"], device).into(),
        numa: f.block("numa", &[], |f| Numa {
            affinity: text(f, "affinity"),
            devices: f.string_list("devices").unwrap_or_default().into(),
        }),
    }
}

fn device(f: &mut Fields<'_>) -> RequestedDevice {
    let label = f.label(0);
    RequestedDevice {
        name: f.string("name").unwrap_or(label),
        count: f.int_within("count", 0, i64::MAX).and_then(|count| u64::try_from(count).ok()),
        constraints: placement::constraints(f),
        affinities: placement::affinities(f),
    }
}

pub(super) fn networks(f: &mut Fields<'_>) -> List<NetworkResource> {
    f.blocks("network", &[], network).into()
}

fn network(f: &mut Fields<'_>) -> NetworkResource {
    let mut reserved = f.blocks("reserved_ports", &["label"], port);
    let mut dynamic = Vec::new();
    for item in f.blocks("port", &["label"], port) {
        if item.value > 0 { reserved.push(item) } else { dynamic.push(item) }
    }
    NetworkResource {
        mode: text(f, "mode"),
        device: text(f, "device"),
        cidr: text(f, "cidr"),
        ip: text(f, "ip"),
        dns: f.block("dns", &[], |f| DnsConfig {
            servers: f.string_list("servers").unwrap_or_default().into(),
            searches: f.string_list("searches").unwrap_or_default().into(),
            options: f.string_list("options").unwrap_or_default().into(),
        }),
        reserved_ports: reserved.into(),
        dynamic_ports: dynamic.into(),
        hostname: text(f, "hostname"),
        mbits: f.int("mbits"),
        cni: f.block("cni", &[], |f| CniConfig { args: string_map(f, "args") }),
    }
}

fn port(f: &mut Fields<'_>) -> Port {
    Port {
        label: f.label(0),
        value: f.int_within("static", 0, PORT_MAX).unwrap_or(0),
        to: f.int_within("to", -1, PORT_MAX).unwrap_or(0),
        host_network: text(f, "host_network"),
        ignore_collision: flag(f, "ignore_collision"),
    }
}
