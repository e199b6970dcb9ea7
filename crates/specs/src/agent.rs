//! Agent configuration: files in HCL or JSON to one typed value, file after file.
//!
//! Every setting of the original is known by name. One that Muster does not act on is refused
//! with its place, unless its value only switches off what Muster does not have; a few that cannot
//! do harm are accepted with a warning. Defaults belong to the agent: what no file sets is `None`.

mod client;
mod known;
mod plugins;
mod reader;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use hcl::{ConfigBody, ConfigItem, Diagnostic};
use reader::Reader;

/// The settings of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentConfig {
    pub region: Option<String>,
    pub datacenter: Option<String>,
    pub name: Option<String>,
    pub data_dir: Option<String>,
    pub bind_addr: Option<String>,
    /// One of [`LOG_LEVELS`], in capitals.
    pub log_level: Option<String>,
    pub log_json: Option<bool>,
    pub log_file: Option<String>,
    pub log_rotate_duration: Option<Duration>,
    pub log_rotate_bytes: Option<u64>,
    pub log_rotate_max_files: Option<u64>,
    pub enable_debug: Option<bool>,
    pub leave_on_interrupt: Option<bool>,
    pub leave_on_terminate: Option<bool>,
    pub ports: Ports,
    /// Where to listen, if not at `bind_addr`.
    pub addresses: Addresses,
    /// What others are told; with or without a port.
    pub advertise: Addresses,
    pub server: ServerConfig,
    pub client: ClientConfig,
    pub exec: ExecConfig,
    pub raw_exec: RawExecConfig,
}

/// The levels of `log_level`.
pub const LOG_LEVELS: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/// The `ports` block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ports {
    pub http: Option<u16>,
    pub rpc: Option<u16>,
    pub serf: Option<u16>,
}

/// The `addresses` and `advertise` blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    pub http: Option<String>,
    pub rpc: Option<String>,
    pub serf: Option<String>,
}

/// The `server` block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerConfig {
    pub enabled: Option<bool>,
    /// Only 1 so far.
    pub bootstrap_expect: Option<u64>,
    pub data_dir: Option<String>,
    pub node_gc_threshold: Option<Duration>,
    pub job_gc_interval: Option<Duration>,
    pub job_gc_threshold: Option<Duration>,
    pub eval_gc_threshold: Option<Duration>,
    pub batch_eval_gc_threshold: Option<Duration>,
    pub deployment_gc_threshold: Option<Duration>,
    pub heartbeat_grace: Option<Duration>,
    pub min_heartbeat_ttl: Option<Duration>,
    pub max_heartbeats_per_second: Option<f64>,
    pub failover_heartbeat_ttl: Option<Duration>,
}

/// The `client` block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientConfig {
    pub enabled: Option<bool>,
    pub state_dir: Option<String>,
    pub alloc_dir: Option<String>,
    /// Servers to register with, from `servers` and `server_join.retry_join`.
    pub servers: Vec<String>,
    pub node_class: Option<String>,
    pub node_pool: Option<String>,
    pub meta: BTreeMap<String, String>,
    /// Paths of the host and where tasks of `exec` see them; empty for the usual ones.
    pub chroot_env: BTreeMap<String, String>,
    /// From `options`: only these drivers.
    pub driver_allowlist: Option<Vec<String>>,
    /// From `options`: not these drivers.
    pub driver_denylist: Option<Vec<String>>,
    pub network_interface: Option<String>,
    pub cpu_total_compute: Option<u64>,
    pub memory_total_mb: Option<u64>,
    pub disk_total_mb: Option<u64>,
    pub reserved: ReservedConfig,
    pub min_dynamic_port: Option<u16>,
    pub max_dynamic_port: Option<u16>,
    pub max_kill_timeout: Option<Duration>,
    pub no_host_uuid: Option<bool>,
    pub gc_interval: Option<Duration>,
    pub gc_parallel_destroys: Option<u64>,
    pub gc_disk_usage_threshold: Option<f64>,
    pub gc_inode_usage_threshold: Option<f64>,
    pub gc_max_allocs: Option<u64>,
    /// Offered to jobs once volumes exist.
    pub host_volumes: BTreeMap<String, HostVolume>,
}

/// What the client keeps for the host itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedConfig {
    /// MHz.
    pub cpu: Option<u64>,
    /// MiB.
    pub memory: Option<u64>,
    /// MiB.
    pub disk: Option<u64>,
    /// First and last port of each range.
    pub reserved_ports: Option<Vec<(u16, u16)>>,
}

/// A directory of the host under a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostVolume {
    pub path: String,
    pub read_only: bool,
}

/// The `exec` plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecConfig {
    pub default_pid_mode: Option<String>,
    pub default_ipc_mode: Option<String>,
    pub allow_caps: Option<Vec<String>>,
    pub denied_host_uids: Option<String>,
    pub denied_host_gids: Option<String>,
}

/// The `raw_exec` plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawExecConfig {
    pub enabled: Option<bool>,
}

/// Reads one configuration file. Gives its settings and the warnings, or every problem.
///
/// # Errors
/// The problems with their places.
pub fn parse(file: &str, text: &str) -> Result<(AgentConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    let config = hcl::parse_config(file, text)?;
    let mut reader = Reader::new(&config);
    let mut out = AgentConfig::default();
    for item in &config.root.items {
        read_item(&mut reader, item, &mut out);
    }
    if let (Some(least), Some(most)) = (out.client.min_dynamic_port, out.client.max_dynamic_port)
        && least > most
    {
        reader.fault_at_file("min_dynamic_port is greater than max_dynamic_port");
    }
    reader.finish().map(|warnings| (out, warnings))
}

fn read_item(r: &mut Reader<'_>, item: &ConfigItem, out: &mut AgentConfig) {
    match item.key.as_str() {
        "region" => r.text(item, &mut out.region),
        "datacenter" => r.text(item, &mut out.datacenter),
        "name" => r.text(item, &mut out.name),
        "data_dir" => r.text(item, &mut out.data_dir),
        "bind_addr" => r.address(item, &mut out.bind_addr),
        "log_level" => r.log_level(item, &mut out.log_level),
        "log_json" => r.flag(item, &mut out.log_json),
        "log_file" => r.text(item, &mut out.log_file),
        "log_rotate_duration" => r.duration(item, &mut out.log_rotate_duration),
        "log_rotate_bytes" => r.count(item, &mut out.log_rotate_bytes),
        "log_rotate_max_files" => r.count(item, &mut out.log_rotate_max_files),
        "enable_debug" => r.flag(item, &mut out.enable_debug),
        "leave_on_interrupt" => r.flag(item, &mut out.leave_on_interrupt),
        "leave_on_terminate" => r.flag(item, &mut out.leave_on_terminate),
        "ports" => r.each(item, |r, body| ports(r, body, &mut out.ports)),
        "addresses" => r.each(item, |r, body| addresses(r, body, "addresses", &mut out.addresses)),
        "advertise" => r.each(item, |r, body| addresses(r, body, "advertise", &mut out.advertise)),
        "server" => r.each(item, |r, body| server::read(r, body, &mut out.server)),
        "client" => r.each(item, |r, body| {
            client::read(r, body, &mut out.client, &mut out.raw_exec);
        }),
        "plugin" => plugins::read(r, item, &mut out.exec, &mut out.raw_exec),
        "telemetry" => {
            r.warn(
                item,
                "Muster publishes no telemetry yet (docs/gaps.md); the block has no effect.",
            );
            r.each(item, |r, body| {
                for inner in
                    body.items.iter().filter(|i| !known::TELEMETRY.contains(&i.key.as_str()))
                {
                    r.unknown(inner, known::TELEMETRY);
                }
            });
        }
        _ => r.other("", item),
    }
}

fn ports(r: &mut Reader<'_>, body: &ConfigBody, out: &mut Ports) {
    for item in &body.items {
        match item.key.as_str() {
            "http" => r.port(item, &mut out.http),
            "rpc" => r.port(item, &mut out.rpc),
            "serf" => r.port(item, &mut out.serf),
            _ => r.other("ports", item),
        }
    }
}

fn addresses(r: &mut Reader<'_>, body: &ConfigBody, path: &str, out: &mut Addresses) {
    for item in &body.items {
        match item.key.as_str() {
            "http" => r.address(item, &mut out.http),
            "rpc" => r.address(item, &mut out.rpc),
            "serf" => r.address(item, &mut out.serf),
            _ => r.other(path, item),
        }
    }
}

/// Takes over what a later file sets.
fn take<T>(slot: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *slot = later;
    }
}

macro_rules! take_all {
    ($into:expr, $later:expr; $($field:ident),+ $(,)?) => {
        $(take(&mut $into.$field, $later.$field);)+
    };
}

impl AgentConfig {
    /// Lays the settings of a later file over these. Maps and lists of servers add up.
    pub fn merge(&mut self, later: AgentConfig) {
        take_all!(self, later; region, datacenter, name, data_dir, bind_addr, log_level, log_json,
            log_file, log_rotate_duration, log_rotate_bytes, log_rotate_max_files, enable_debug,
            leave_on_interrupt, leave_on_terminate);
        take_all!(self.ports, later.ports; http, rpc, serf);
        take_all!(self.addresses, later.addresses; http, rpc, serf);
        take_all!(self.advertise, later.advertise; http, rpc, serf);
        take_all!(self.server, later.server; enabled, bootstrap_expect, data_dir,
            node_gc_threshold, job_gc_interval, job_gc_threshold, eval_gc_threshold,
            batch_eval_gc_threshold, deployment_gc_threshold, heartbeat_grace, min_heartbeat_ttl,
            max_heartbeats_per_second, failover_heartbeat_ttl);
        take_all!(self.exec, later.exec; default_pid_mode, default_ipc_mode, allow_caps,
            denied_host_uids, denied_host_gids);
        take_all!(self.raw_exec, later.raw_exec; enabled);
        self.client.merge(later.client);
    }
}

impl ClientConfig {
    fn merge(&mut self, later: ClientConfig) {
        take_all!(self, later; enabled, state_dir, alloc_dir, node_class, node_pool,
            driver_allowlist, driver_denylist, network_interface, cpu_total_compute,
            memory_total_mb, disk_total_mb, min_dynamic_port, max_dynamic_port, max_kill_timeout,
            no_host_uuid, gc_interval, gc_parallel_destroys, gc_disk_usage_threshold,
            gc_inode_usage_threshold, gc_max_allocs);
        take_all!(self.reserved, later.reserved; cpu, memory, disk, reserved_ports);
        for address in later.servers {
            if !self.servers.contains(&address) {
                self.servers.push(address);
            }
        }
        self.meta.extend(later.meta);
        self.chroot_env.extend(later.chroot_env);
        self.host_volumes.extend(later.host_volumes);
    }
}
