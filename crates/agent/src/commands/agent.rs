//! `muster agent`: reads configuration, starts the agent, and lives until a signal ends it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use specs::agent::AgentConfig;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;

use crate::logging::{self, Logging};
use crate::report;
use crate::run::Agent;
use crate::settings::{FromFlags, Settings, read_files};

/// Starts an agent: a server, a client, or both.
#[derive(Debug, Parser)]
#[command(name = "agent", disable_version_flag = true)]
struct Flags {
    /// Server and client in one process on this machine; nothing is kept when it ends.
    #[arg(long)]
    dev: bool,
    /// A configuration file or a directory of them (`.hcl`, `.json`); may be given several times, later ones win.
    #[arg(long, value_name = "PATH")]
    config: Vec<PathBuf>,
    /// Where state is kept; an absolute path.
    #[arg(long = "data-dir", value_name = "PATH")]
    data_dir: Option<String>,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// TRACE, DEBUG, INFO, WARN or ERROR.
    #[arg(long = "log-level", value_name = "LEVEL")]
    log_level: Option<String>,
    /// Writes logs as JSON, one object a line.
    #[arg(long = "log-json")]
    log_json: bool,
    /// Writes logs to a file.
    #[arg(long = "log-file", value_name = "PATH")]
    log_file: Option<String>,
    /// The region.
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// The datacenter.
    #[arg(long, value_name = "NAME")]
    dc: Option<String>,
    /// The agent's name; the host's name by default.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Runs a server.
    #[arg(long)]
    server: bool,
    /// Runs a client.
    #[arg(long)]
    client: bool,
    /// How many servers make the cluster; only 1 so far.
    #[arg(long = "bootstrap-expect", value_name = "N")]
    bootstrap_expect: Option<u64>,
    /// Servers of a client, separated by commas.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    servers: Vec<String>,
    /// The class of the node.
    #[arg(long = "node-class", value_name = "CLASS")]
    node_class: Option<String>,
    /// The pool of the node.
    #[arg(long = "node-pool", value_name = "POOL")]
    node_pool: Option<String>,
    /// Metadata of the node, as key=value; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    /// The network interface of the client.
    #[arg(long = "network-interface", value_name = "NAME")]
    network_interface: Option<String>,
    /// Where the client keeps its state.
    #[arg(long = "state-dir", value_name = "PATH")]
    state_dir: Option<String>,
    /// Where the client keeps allocation directories.
    #[arg(long = "alloc-dir", value_name = "PATH")]
    alloc_dir: Option<String>,
}

impl Flags {
    fn into_settings(self) -> Result<FromFlags, String> {
        let mut config = AgentConfig {
            region: self.region,
            datacenter: self.dc,
            name: self.node,
            data_dir: self.data_dir,
            bind_addr: self.bind,
            log_level: self.log_level,
            log_json: self.log_json.then_some(true),
            log_file: self.log_file,
            ..AgentConfig::default()
        };
        if let Some(count) = self.bootstrap_expect.filter(|n| *n != 1) {
            return Err(format!(
                "-bootstrap-expect={count}: clusters of several servers are not supported by Muster yet (docs/gaps.md)"
            ));
        }
        config.server.enabled = self.server.then_some(true);
        config.client.enabled = self.client.then_some(true);
        config.client.servers = self.servers;
        config.client.node_class = self.node_class;
        config.client.node_pool = self.node_pool;
        config.client.network_interface = self.network_interface;
        config.client.state_dir = self.state_dir;
        config.client.alloc_dir = self.alloc_dir;
        for pair in self.meta {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("-meta {pair:?}: expected key=value"))?;
            config.client.meta.insert(key.to_owned(), value.to_owned());
        }
        Ok(FromFlags { dev: self.dev, config, files: self.config })
    }
}

/// Runs the command.
pub(crate) async fn run(args: Vec<OsString>) -> ExitCode {
    // Flags may be written with one dash, as people are used to.
    let flags = match Flags::try_parse_from(two_dashes(args.into_iter().skip(1))) {
        Ok(flags) => flags,
        Err(error) => {
            report(&error.to_string());
            let shown = matches!(error.kind(), clap::error::ErrorKind::DisplayHelp);
            return if shown { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    };
    match start_and_wait(flags).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("==> {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// `-dev` as `--dev`: clap reads a single dash as a row of one-letter flags.
fn two_dashes(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    args.map(|arg| match arg.to_str() {
        Some(text) if text.starts_with('-') && !text.starts_with("--") && text.len() > 2 => {
            OsString::from(format!("-{text}"))
        }
        _ => arg,
    })
    .collect()
}

async fn start_and_wait(flags: Flags) -> anyhow::Result<()> {
    let flags = flags.into_settings().map_err(anyhow::Error::msg)?;
    let (files, warnings) = read_files(&flags.files)?;
    let settings = Settings::new(&flags, files)?;
    let logging = start_logging(&settings)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    // Listened for before anything starts, so that no signal is lost.
    let mut signals = Signals::new()?;
    let agent = tokio::select! {
        agent = Agent::start(&settings) => agent?,
        () = signals.end() => return Ok(()),
    };
    loop {
        match signals.next().await {
            Asked::End => break,
            Asked::Reload => reload(&flags, &settings, &logging),
        }
    }
    tracing::info!("the agent is ending");
    let ending = agent.stop(settings.temporary_dir.is_some() || settings.dev);
    tokio::select! {
        () = ending => {}
        () = signals.end() => tracing::warn!("ended at once by a second signal"),
    }
    Ok(())
}

fn level_of(config: &AgentConfig) -> anyhow::Result<LevelFilter> {
    logging::level(config.log_level.as_deref().unwrap_or("INFO")).map_err(anyhow::Error::msg)
}

fn start_logging(settings: &Settings) -> anyhow::Result<Logging> {
    let config = &settings.raw;
    let rotation = logging::Rotation {
        bytes: config.log_rotate_bytes.filter(|n| *n > 0),
        age: config.log_rotate_duration.filter(|d| !d.is_zero()),
        max_files: config.log_rotate_max_files.filter(|n| *n > 0),
    };
    let file = config.log_file.as_ref().map(PathBuf::from);
    logging::start(level_of(config)?, config.log_json.unwrap_or(false), file.as_deref(), rotation)
        .map_err(|e| {
            anyhow::anyhow!(
                "cannot open the log file {}: {e}",
                config.log_file.clone().unwrap_or_default()
            )
        })
}

/// Takes over what can change while the agent runs, and says what cannot.
fn reload(flags: &FromFlags, settings: &Settings, logging: &Logging) {
    if let Err(error) = logging.reopen() {
        tracing::error!(%error, "the log file was not opened anew");
    }
    let fresh = read_files(&flags.files).and_then(|(files, _)| {
        let mut config = settings.raw.clone();
        config.merge(files);
        config.merge(flags.config.clone());
        Ok((level_of(&config)?, config))
    });
    match fresh {
        Err(error) => tracing::error!("configuration was not reloaded: {error:#}"),
        Ok((level, config)) => {
            if let Err(error) = logging.set_level(level) {
                tracing::error!(%error, "the log level was not changed");
            }
            let same_but_level =
                AgentConfig { log_level: settings.raw.log_level.clone(), ..config };
            if same_but_level == settings.raw {
                tracing::info!(%level, "configuration reloaded");
            } else {
                tracing::warn!(%level, "configuration reloaded: the log level holds at once, other changes need a restart of the agent");
            }
        }
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    reload: Signal,
}

/// What a signal asks for.
enum Asked {
    End,
    Reload,
}

impl Signals {
    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::End,
            _ = self.terminate.recv() => Asked::End,
            _ = self.reload.recv() => Asked::Reload,
        }
    }

    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            reload: signal(SignalKind::hangup())?,
        })
    }

    async fn end(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
