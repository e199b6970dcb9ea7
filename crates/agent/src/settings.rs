//! From configuration files and flags to what each role is started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use specs::agent::{Addresses, AgentConfig};

/// The ports of an agent that names none.
const HTTP_PORT: u16 = 4646;
const RPC_PORT: u16 = 4647;
const SERF_PORT: u16 = 4648;

/// Everything an agent is started with.
pub(crate) struct Settings {
    pub name: String,
    pub region: String,
    pub datacenter: String,
    pub bind_addr: String,
    pub http_bind: String,
    pub rpc_bind: String,
    /// Empty: what was bound.
    pub http_advertise: String,
    pub rpc_advertise: String,
    pub serf_port: u16,
    pub dev: bool,
    pub debug: bool,
    pub server: Option<server::Config>,
    pub client: Option<client::Config>,
    /// Servers of an agent that is only a client.
    pub servers: Vec<String>,
    pub temporary_dir: Option<PathBuf>,
    /// The `config` part of `/v1/agent/self`.
    pub shown: Value,
    /// Settings that changed on reload but need a restart are found by comparing these.
    pub raw: AgentConfig,
}

/// What the command line adds to the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct FromFlags {
    pub dev: bool,
    pub config: AgentConfig,
    pub files: Vec<PathBuf>,
}

/// Reads the files in order; of a directory, its `.hcl` and `.json` files by name.
pub(crate) fn read_files(paths: &[PathBuf]) -> anyhow::Result<(AgentConfig, Vec<String>)> {
    let (mut merged, mut warnings) = (AgentConfig::default(), Vec::new());
    for path in expand(paths)? {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        match specs::agent::parse(&shown, &text) {
            Ok((config, found)) => {
                merged.merge(config);
                warnings.extend(found.iter().map(ToString::to_string));
            }
            Err(problems) => {
                let lines: Vec<String> = problems.iter().map(|p| format!("  {p}")).collect();
                bail!("the configuration cannot be used:\n{}", lines.join("\n"));
            }
        }
    }
    Ok((merged, warnings))
}

fn expand(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let context = || format!("cannot read the configuration at {}", path.display());
        if !std::fs::metadata(path).with_context(context)?.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
            .with_context(context)?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "hcl" || e == "json") && !p.is_dir())
            .collect();
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

/// The host part given, or the bind address; a port given in an address wins.
fn address(given: Option<&str>, host: &str, port: u16) -> String {
    match given.filter(|g| !g.is_empty()) {
        Some(text) if text.starts_with('[') && text.contains("]:") => text.to_owned(),
        Some(text) if text.matches(':').count() == 1 => text.to_owned(),
        Some(text) if text.contains(':') => format!("[{text}]:{port}"),
        Some(text) => format!("{text}:{port}"),
        None if host.contains(':') => format!("[{host}]:{port}"),
        None => format!("{host}:{port}"),
    }
}

/// The address of a server that an agent's file names without a port.
fn server_address(text: &str) -> String {
    address(Some(text), text, RPC_PORT)
}

impl Settings {
    /// Works out what to start.
    pub(crate) fn new(flags: &FromFlags, files: AgentConfig) -> anyhow::Result<Self> {
        let mut config = if flags.dev { dev_defaults() } else { AgentConfig::default() };
        config.merge(files);
        config.merge(flags.config.clone());
        let dev = flags.dev;
        let runs_server = config.server.enabled.unwrap_or(false);
        let runs_client = config.client.enabled.unwrap_or(false);
        if !runs_server && !runs_client {
            bail!(
                "the agent has no role: enable `server`, `client` or both, or start it with -dev"
            );
        }
        let temporary_dir = (dev && config.data_dir.is_none()).then(temporary_dir);
        let data_dir = match (&config.data_dir, &temporary_dir) {
            (Some(dir), _) => {
                let path = PathBuf::from(dir);
                if !path.is_absolute() {
                    bail!("data_dir {dir:?} is not an absolute path");
                }
                path
            }
            (None, Some(dir)) => dir.clone(),
            (None, None) => {
                bail!("data_dir is not set: name an absolute path where the agent keeps its state")
            }
        };
        std::fs::create_dir_all(&data_dir)
            .with_context(|| format!("cannot create the data directory {}", data_dir.display()))?;
        let bind_addr = config.bind_addr.clone().unwrap_or_else(|| "0.0.0.0".to_owned());
        let name = match config.name.clone().filter(|n| !n.is_empty()) {
            Some(name) => name,
            None => host_name(),
        };
        let region = config.region.clone().unwrap_or_else(|| "global".to_owned());
        let datacenter = config.datacenter.clone().unwrap_or_else(|| "dc1".to_owned());
        let http_port = config.ports.http.unwrap_or(HTTP_PORT);
        let rpc_port = config.ports.rpc.unwrap_or(RPC_PORT);
        let serf_port = config.ports.serf.unwrap_or(SERF_PORT);
        let advertise = |given: &Option<String>, port: u16| match (given, bind_addr.as_str()) {
            (Some(text), _) => address(Some(text), &bind_addr, port),
            // The system chooses the port; it is known once it is bound.
            _ if port == 0 => String::new(),
            // An address that means "all" cannot be told to others.
            (None, "0.0.0.0" | "::") => format!("127.0.0.1:{port}"),
            (None, host) => address(None, host, port),
        };
        let mut settings = Self {
            http_bind: address(config.addresses.http.as_deref(), &bind_addr, http_port),
            rpc_bind: address(config.addresses.rpc.as_deref(), &bind_addr, rpc_port),
            http_advertise: advertise(&config.advertise.http, http_port),
            rpc_advertise: advertise(&config.advertise.rpc, rpc_port),
            serf_port,
            dev,
            debug: config.enable_debug.unwrap_or(dev),
            server: None,
            client: None,
            servers: config.client.servers.iter().map(|s| server_address(s)).collect(),
            temporary_dir,
            shown: Value::Null,
            name,
            region,
            datacenter,
            bind_addr: bind_addr.clone(),
            raw: config.clone(),
        };
        if runs_server {
            settings.server = Some(server_config(&config, &settings, &data_dir));
        }
        if runs_client {
            if !runs_server && settings.servers.is_empty() {
                bail!("the client knows no server: set `servers` in its `client` block");
            }
            settings.client = Some(client_config(&config, &settings, &data_dir)?);
        }
        settings.shown = shown(&config, &settings, flags, &data_dir);
        Ok(settings)
    }
}

/// What `-dev` stands for.
fn dev_defaults() -> AgentConfig {
    let mut config = AgentConfig {
        bind_addr: Some("127.0.0.1".to_owned()),
        log_level: Some("DEBUG".to_owned()),
        ..AgentConfig::default()
    };
    config.server.enabled = Some(true);
    config.client.enabled = Some(true);
    config.client.network_interface = Some("lo".to_owned());
    config.raw_exec.enabled = Some(true);
    config
}

/// Begins the name of a development agent's directory.
const TEMPORARY: &str = "muster-dev-";

/// A directory of this process's own; its name says whose it is when it is found later.
fn temporary_dir() -> PathBuf {
    let (own, unique) = (std::process::id(), uuid::Uuid::new_v4().simple());
    std::env::temp_dir().join(format!("{TEMPORARY}{own}-{unique}"))
}

/// Directories of development agents whose processes are gone.
pub(crate) fn abandoned_dirs() -> Vec<PathBuf> {
    let is_gone = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let pid = name.to_str()?.strip_prefix(TEMPORARY)?.split('-').next()?;
        let pid: u32 = pid.parse().ok()?;
        // A number that is in use again hides the directory until it is free.
        (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    };
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    entries.filter(|entry| is_gone(entry).is_some()).map(|entry| entry.path()).collect()
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

fn server_config(config: &AgentConfig, settings: &Settings, data_dir: &Path) -> server::Config {
    let base = server::Config::default();
    let given = &config.server;
    let gc = server::GcConfig {
        interval: given.job_gc_interval.unwrap_or(base.gc.interval),
        eval_threshold: given.eval_gc_threshold.unwrap_or(base.gc.eval_threshold),
        batch_eval_threshold: given.batch_eval_gc_threshold.unwrap_or(base.gc.batch_eval_threshold),
        job_threshold: given.job_gc_threshold.unwrap_or(base.gc.job_threshold),
        deployment_threshold: given.deployment_gc_threshold.unwrap_or(base.gc.deployment_threshold),
        node_threshold: given.node_gc_threshold.unwrap_or(base.gc.node_threshold),
    };
    let dir = given.data_dir.as_ref().map_or_else(|| data_dir.join("server"), PathBuf::from);
    server::Config {
        region: settings.region.clone(),
        datacenter: settings.datacenter.clone(),
        name: settings.name.clone(),
        // A development server is forgotten with its process, so its log needs no disk.
        data_dir: (settings.temporary_dir.is_none()).then_some(dir),
        bootstrap: true,
        rpc_address: settings.rpc_advertise.clone(),
        heartbeat_grace: given.heartbeat_grace.unwrap_or(base.heartbeat_grace),
        min_heartbeat_ttl: given.min_heartbeat_ttl.unwrap_or(base.min_heartbeat_ttl),
        max_heartbeats_per_second: given
            .max_heartbeats_per_second
            .unwrap_or(base.max_heartbeats_per_second),
        failover_heartbeat_ttl: given.failover_heartbeat_ttl.unwrap_or(base.failover_heartbeat_ttl),
        gc,
    }
}

fn client_config(
    config: &AgentConfig,
    settings: &Settings,
    data_dir: &Path,
) -> anyhow::Result<client::Config> {
    let given = &config.client;
    let dir = |set: &Option<String>, name: &str| {
        set.as_ref().map_or_else(|| data_dir.join(name), PathBuf::from)
    };
    let signed = |n: Option<u64>| n.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let ports: Vec<String> = given
        .reserved
        .reserved_ports
        .iter()
        .flatten()
        .map(|(low, high)| if low == high { low.to_string() } else { format!("{low}-{high}") })
        .collect();
    let base = client::Config::default();
    Ok(client::Config {
        name: settings.name.clone(),
        datacenter: settings.datacenter.clone(),
        region: settings.region.clone(),
        node_class: given.node_class.clone().unwrap_or_default(),
        node_pool: given.node_pool.clone().unwrap_or_else(|| "default".to_owned()),
        meta: given.meta.clone(),
        state_dir: dir(&given.state_dir, "client"),
        alloc_dir: dir(&given.alloc_dir, "alloc"),
        http_address: settings.http_advertise.clone(),
        network_interface: given.network_interface.clone(),
        cpu_total_compute: signed(given.cpu_total_compute),
        memory_total_mb: signed(given.memory_total_mb),
        disk_total_mb: signed(given.disk_total_mb),
        reserved_cpu: signed(given.reserved.cpu).unwrap_or(0),
        reserved_memory_mb: signed(given.reserved.memory).unwrap_or(0),
        reserved_disk_mb: signed(given.reserved.disk).unwrap_or(0),
        reserved_ports: ports.join(","),
        min_dynamic_port: given.min_dynamic_port.map_or(base.min_dynamic_port, i64::from),
        max_dynamic_port: given.max_dynamic_port.map_or(base.max_dynamic_port, i64::from),
        max_kill_timeout: given.max_kill_timeout.unwrap_or(base.max_kill_timeout),
        driver_allowlist: given.driver_allowlist.clone().unwrap_or_default(),
        driver_denylist: given.driver_denylist.clone().unwrap_or_default(),
        exec: exec_options(config)?,
        raw_exec_enabled: config.raw_exec.enabled.unwrap_or(settings.dev),
        // The mock driver runs nothing; it is there for trying things out.
        mock_enabled: settings.dev,
        host_volumes: given
            .host_volumes
            .iter()
            .map(|(name, volume)| (name.clone(), (volume.path.clone(), volume.read_only)))
            .collect(),
        dev_mode: settings.temporary_dir.is_some(),
        nomad_version: crate::NOMAD_VERSION.to_owned(),
        muster_version: crate::MUSTER_VERSION.to_owned(),
        gc_max_allocs: given
            .gc_max_allocs
            .map_or(base.gc_max_allocs, |n| usize::try_from(n).unwrap_or(usize::MAX)),
        gc_interval: given.gc_interval.unwrap_or(base.gc_interval),
        ..base
    })
}

fn exec_options(config: &AgentConfig) -> anyhow::Result<client::ExecOptions> {
    let given = &config.exec;
    let texts = client::ExecTexts {
        default_pid_mode: given.default_pid_mode.as_deref(),
        default_ipc_mode: given.default_ipc_mode.as_deref(),
        allow_caps: given.allow_caps.as_deref(),
        denied_host_uids: given.denied_host_uids.as_deref().unwrap_or_default(),
        denied_host_gids: given.denied_host_gids.as_deref().unwrap_or_default(),
    };
    let read = client::ExecOptions::read(&texts);
    let options = read.map_err(|problem| anyhow::anyhow!("plugin \"exec\": {problem}"))?;
    let chroot_env = Some(config.client.chroot_env.clone()).filter(|paths| !paths.is_empty());
    Ok(client::ExecOptions { chroot_env, ..options })
}

fn addresses(given: &Addresses) -> Value {
    json!({
        "HTTP": given.http.clone().unwrap_or_default(),
        "RPC": given.rpc.clone().unwrap_or_default(),
        "Serf": given.serf.clone().unwrap_or_default(),
    })
}

/// The configuration as the API shows it; what holds no secret and is true of this agent.
fn shown(config: &AgentConfig, settings: &Settings, flags: &FromFlags, data_dir: &Path) -> Value {
    let port = |address: &str| address.rsplit_once(':').and_then(|(_, p)| p.parse::<u16>().ok());
    let client = &config.client;
    let options: BTreeMap<&str, String> = [
        ("driver.allowlist", client.driver_allowlist.as_ref().map(|l| l.join(","))),
        ("driver.denylist", client.driver_denylist.as_ref().map(|l| l.join(","))),
    ]
    .into_iter()
    .filter_map(|(key, value)| value.map(|v| (key, v)))
    .collect();
    json!({
        "Region": settings.region, "Datacenter": settings.datacenter, "NodeName": settings.name,
        "DataDir": data_dir, "BindAddr": settings.bind_addr, "DevMode": settings.dev,
        "EnableDebug": settings.debug, "LogLevel": config.log_level.clone().unwrap_or_else(|| "INFO".to_owned()),
        "LogJson": config.log_json.unwrap_or(false), "LogFile": config.log_file.clone().unwrap_or_default(),
        "LeaveOnInt": config.leave_on_interrupt.unwrap_or(false),
        "LeaveOnTerm": config.leave_on_terminate.unwrap_or(false),
        "Files": flags.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>(),
        "Ports": { "HTTP": port(&settings.http_bind), "RPC": port(&settings.rpc_bind), "Serf": settings.serf_port },
        "Addresses": addresses(&config.addresses),
        "AdvertiseAddrs": { "HTTP": settings.http_advertise, "RPC": settings.rpc_advertise, "Serf": format!("{}:{}", settings.bind_addr, settings.serf_port) },
        "Server": { "Enabled": settings.server.is_some(), "BootstrapExpect": 1, "DataDir": config.server.data_dir.clone().unwrap_or_default() },
        "Client": {
            "Enabled": settings.client.is_some(), "NodeClass": client.node_class.clone().unwrap_or_default(),
            "NodePool": client.node_pool.clone().unwrap_or_else(|| "default".to_owned()),
            "Meta": client.meta, "Options": options, "Servers": client.servers,
            "NetworkInterface": client.network_interface.clone().unwrap_or_default(),
            "StateDir": client.state_dir.clone().unwrap_or_default(), "AllocDir": client.alloc_dir.clone().unwrap_or_default(),
        },
        "ACL": { "Enabled": false }, "DisableUpdateCheck": true, "UI": { "Enabled": false },
        "Version": { "Version": crate::NOMAD_VERSION, "VersionPrerelease": "", "VersionMetadata": "", "Revision": "", "Muster": crate::MUSTER_VERSION },
    })
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn ports_are_added_where_an_address_names_none() {
        assert_eq!(address(None, "127.0.0.1", 1), "127.0.0.1:1");
        assert_eq!(address(Some("10.0.0.1"), "x", 1), "10.0.0.1:1");
        assert_eq!(address(Some("10.0.0.1:7"), "x", 1), "10.0.0.1:7");
        assert_eq!(address(Some("::1"), "x", 1), "[::1]:1");
        assert_eq!(address(Some("[::1]:7"), "x", 1), "[::1]:7");
        assert_eq!(address(None, "::", 1), "[::]:1");
    }
}
