//! What the agent tells its client.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use drivers::{ExecOptions, ExecTexts};
use futures_util::future::BoxFuture;

/// Settings of a node. The agent has read and checked them.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's name; empty for the host's.
    pub name: String,
    pub datacenter: String,
    pub region: String,
    pub node_class: String,
    pub node_pool: String,
    pub meta: BTreeMap<String, String>,
    /// Identity, records of allocations, sockets of supervisors. Locked while the client lives.
    pub state_dir: PathBuf,
    /// One directory for each allocation.
    pub alloc_dir: PathBuf,
    /// Where this agent's HTTP API can be reached, `host:port`.
    pub http_address: String,
    /// None means the interface of the default route, or the loopback in dev mode.
    pub network_interface: Option<String>,
    pub cpu_total_compute: Option<i64>,
    pub memory_total_mb: Option<i64>,
    pub disk_total_mb: Option<i64>,
    pub reserved_cpu: i64,
    pub reserved_memory_mb: i64,
    pub reserved_disk_mb: i64,
    pub reserved_ports: String,
    pub min_dynamic_port: i64,
    pub max_dynamic_port: i64,
    /// A task gets no more time to end than this.
    pub max_kill_timeout: Duration,
    /// Empty allows all drivers.
    pub driver_allowlist: Vec<String>,
    pub driver_denylist: Vec<String>,
    /// The allocations' directory is filled in by the client.
    pub exec: ExecOptions,
    pub raw_exec_enabled: bool,
    pub mock_enabled: bool,
    /// Patterns of variables that `raw_exec` takes from every task.
    pub denied_envvars: Vec<String>,
    /// Variables of the agent that no task inherits.
    pub env_denylist: Vec<String>,
    /// Directories of the host by name, and whether they are read-only; shown on the node.
    pub host_volumes: BTreeMap<String, (String, bool)>,
    pub dev_mode: bool,
    /// The version of the original whose behaviour is promised.
    pub nomad_version: String,
    pub muster_version: String,
    /// Directories of ended allocations kept beyond this number go, oldest first.
    pub gc_max_allocs: usize,
    /// The longest time between two looks for directories to collect.
    pub gc_interval: Duration,
}

/// Credentials that agents are started with and tasks have no business to see.
const SECRET_VARIABLES: [&str; 12] = [
    "CONSUL_TOKEN",
    "CONSUL_HTTP_TOKEN",
    "CONSUL_HTTP_AUTH",
    "VAULT_TOKEN",
    "NOMAD_LICENSE",
    "NOMAD_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_CLIENT_SECRET",
];

impl Default for Config {
    fn default() -> Self {
        Self {
            name: String::new(),
            datacenter: "dc1".to_owned(),
            region: "global".to_owned(),
            node_class: String::new(),
            node_pool: model::job::DEFAULT_NODE_POOL.to_owned(),
            meta: BTreeMap::new(),
            state_dir: PathBuf::new(),
            alloc_dir: PathBuf::new(),
            http_address: "127.0.0.1:4646".to_owned(),
            network_interface: None,
            cpu_total_compute: None,
            memory_total_mb: None,
            disk_total_mb: None,
            reserved_cpu: 0,
            reserved_memory_mb: 0,
            reserved_disk_mb: 0,
            reserved_ports: String::new(),
            min_dynamic_port: model::node::MIN_DYNAMIC_PORT,
            max_dynamic_port: model::node::MAX_DYNAMIC_PORT,
            max_kill_timeout: Duration::from_secs(30),
            driver_allowlist: Vec::new(),
            driver_denylist: Vec::new(),
            exec: ExecOptions::default(),
            raw_exec_enabled: false,
            mock_enabled: false,
            denied_envvars: Vec::new(),
            env_denylist: SECRET_VARIABLES.map(str::to_owned).to_vec(),
            host_volumes: BTreeMap::new(),
            dev_mode: false,
            nomad_version: "1.11.3".to_owned(),
            muster_version: env!("CARGO_PKG_VERSION").to_owned(),
            gc_max_allocs: 50,
            gc_interval: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// Whether the lists allow a driver.
    pub(crate) fn allows_driver(&self, name: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|entry| entry == name);
        (self.driver_allowlist.is_empty() || listed(&self.driver_allowlist))
            && !listed(&self.driver_denylist)
    }
}

/// Makes a connection to a server in the same process.
pub type LocalServer = Arc<dyn Fn(Arc<dyn rpc::Service>) -> rpc::Peer + Send + Sync>;

/// How servers are reached.
#[derive(Clone)]
pub enum Servers {
    /// By address, `host:port`; any of them will do.
    Dial(Vec<String>),
    /// In this process.
    Local(LocalServer),
}

/// Serves one HTTP connection that a server opened to this node.
pub type HttpTunnel = Arc<dyn Fn(rpc::Stream) -> BoxFuture<'static, ()> + Send + Sync>;
