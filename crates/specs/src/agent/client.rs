//! The `client` block.

use hcl::{ConfigBody, ConfigItem};

use super::reader::Reader;
use super::{ClientConfig, HostVolume, RawExecConfig, ReservedConfig, known, plugins};

pub(super) fn read(
    r: &mut Reader<'_>,
    body: &ConfigBody,
    out: &mut ClientConfig,
    raw_exec: &mut RawExecConfig,
) {
    for item in &body.items {
        match item.key.as_str() {
            "enabled" => r.flag(item, &mut out.enabled),
            "state_dir" => r.text(item, &mut out.state_dir),
            "alloc_dir" => r.text(item, &mut out.alloc_dir),
            "servers" => servers(r, item, out),
            "server_join" => r.each(item, |r, body| server_join(r, body, out)),
            "node_class" => r.text(item, &mut out.node_class),
            "node_pool" => r.text(item, &mut out.node_pool),
            "meta" => out.meta.extend(r.text_map(item)),
            "options" => r.each(item, |r, body| options(r, body, out, raw_exec)),
            "chroot_env" => out.chroot_env.extend(r.text_map(item)),
            "network_interface" => r.address(item, &mut out.network_interface),
            "cpu_total_compute" => r.count(item, &mut out.cpu_total_compute),
            "memory_total_mb" => r.count(item, &mut out.memory_total_mb),
            "disk_total_mb" => r.count(item, &mut out.disk_total_mb),
            "reserved" => r.each(item, |r, body| reserved(r, body, &mut out.reserved)),
            "min_dynamic_port" => r.port(item, &mut out.min_dynamic_port),
            "max_dynamic_port" => r.port(item, &mut out.max_dynamic_port),
            "max_kill_timeout" => r.duration(item, &mut out.max_kill_timeout),
            "no_host_uuid" => r.flag(item, &mut out.no_host_uuid),
            "gc_interval" => r.duration(item, &mut out.gc_interval),
            "gc_parallel_destroys" => r.count(item, &mut out.gc_parallel_destroys),
            "gc_disk_usage_threshold" => r.float(item, &mut out.gc_disk_usage_threshold),
            "gc_inode_usage_threshold" => r.float(item, &mut out.gc_inode_usage_threshold),
            "gc_max_allocs" => r.count(item, &mut out.gc_max_allocs),
            "host_volume" => host_volumes(r, item, out),
            _ => r.other("client", item),
        }
    }
}

/// Adds addresses of servers; those that ask a cloud or a program are refused.
fn servers(r: &mut Reader<'_>, item: &ConfigItem, out: &mut ClientConfig) {
    for address in r.texts(item) {
        if address.starts_with("provider=") || address.starts_with("exec=") {
            r.unsupported(item, "discovery of servers through providers and programs");
        } else if !out.servers.contains(&address) {
            out.servers.push(address);
        }
    }
}

fn server_join(r: &mut Reader<'_>, body: &ConfigBody, out: &mut ClientConfig) {
    for item in &body.items {
        match item.key.as_str() {
            "retry_join" | "start_join" => servers(r, item, out),
            "retry_interval" => {
                r.duration(item, &mut None);
                r.warn(item, "Clients retry for ever at an interval of their own.");
            }
            _ => r.other("client.server_join", item),
        }
    }
}

fn options(
    r: &mut Reader<'_>,
    body: &ConfigBody,
    out: &mut ClientConfig,
    raw_exec: &mut RawExecConfig,
) {
    for item in &body.items {
        match item.key.as_str() {
            "driver.allowlist" => drivers(r, item, &mut out.driver_allowlist),
            "driver.denylist" => drivers(r, item, &mut out.driver_denylist),
            "driver.raw_exec.enable" => r.flag(item, &mut raw_exec.enabled),
            key if known::OPTIONS.contains(&key) => {
                r.unsupported(item, &format!("client option {key:?}"));
            }
            _ => r.unknown(item, known::OPTIONS),
        }
    }
}

fn drivers(r: &mut Reader<'_>, item: &ConfigItem, slot: &mut Option<Vec<String>>) {
    let mut list = None;
    r.text(item, &mut list);
    if let Some(list) = list {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        *slot = Some(names.map(str::to_owned).collect());
    }
}

fn reserved(r: &mut Reader<'_>, body: &ConfigBody, out: &mut ReservedConfig) {
    for item in &body.items {
        match item.key.as_str() {
            "cpu" => r.count(item, &mut out.cpu),
            "memory" => r.count(item, &mut out.memory),
            "disk" => r.count(item, &mut out.disk),
            "reserved_ports" => {
                let mut text = None;
                r.text(item, &mut text);
                match text.as_deref().map(port_ranges) {
                    Some(Some(ranges)) => out.reserved_ports = Some(ranges),
                    Some(None) => r.fault(item, "reserved_ports must be like \"22,80,8500-8600\"."),
                    None => {}
                }
            }
            _ => r.other("client.reserved", item),
        }
    }
}

/// Reads `22,80,8500-8600`.
fn port_ranges(text: &str) -> Option<Vec<(u16, u16)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (range.0 <= range.1).then_some(range)
        })
        .collect()
}

fn host_volumes(r: &mut Reader<'_>, item: &ConfigItem, out: &mut ClientConfig) {
    r.warn(
        item,
        "Jobs cannot mount volumes yet (docs/gaps.md); host_volume has no effect on them.",
    );
    plugins::labelled(r, item, |r, name, body| {
        let (mut path, mut read_only) = (None, None);
        for inner in &body.items {
            match inner.key.as_str() {
                "path" => r.text(inner, &mut path),
                "read_only" => r.flag(inner, &mut read_only),
                _ => r.other("client.host_volume", inner),
            }
        }
        let Some(path) = path else {
            r.fault(item, format!("host_volume {name:?} needs a path."));
            return;
        };
        let volume = HostVolume { path, read_only: read_only.unwrap_or(false) };
        out.host_volumes.insert(name.to_owned(), volume);
    });
}
