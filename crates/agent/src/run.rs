//! Wiring: starts the roles an agent has, connects them, and ends them in order.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use client::{Client, Servers};
use http_api::{AgentFacts, Api};
use server::{NodeService, Server};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;

/// A running agent.
pub(crate) struct Agent {
    server: Option<Server>,
    client: Option<Client>,
    /// Ends the doors: HTTP and RPC accept nothing more.
    doors: CancellationToken,
    /// Removed when a `-dev` agent ends.
    temporary: Option<PathBuf>,
}

impl Agent {
    /// Starts everything; what was started is ended again when a later part fails.
    pub(crate) async fn start(settings: &Settings) -> anyhow::Result<Self> {
        let mut agent = Self {
            server: None,
            client: None,
            doors: CancellationToken::new(),
            temporary: settings.temporary_dir.clone(),
        };
        match agent.start_parts(settings).await {
            Ok(()) => Ok(agent),
            Err(error) => {
                agent.stop(false).await;
                Err(error)
            }
        }
    }

    async fn start_parts(&mut self, settings: &Settings) -> anyhow::Result<()> {
        let http = bind(&settings.http_bind, "HTTP").await?;
        let http_address = http.local_addr()?.to_string();
        let mut service = None;
        let mut rpc_address = settings.rpc_advertise.clone();
        if let Some(config) = &settings.server {
            let listener = bind(&settings.rpc_bind, "RPC").await?;
            if rpc_address.is_empty() {
                rpc_address = listener.local_addr()?.to_string();
            }
            let config = server::Config { rpc_address: rpc_address.clone(), ..config.clone() };
            let server = Server::start(config).await.context("the server did not start")?;
            let nodes = NodeService::new(server.clone());
            let accept = rpc::serve(listener, Arc::new(nodes.clone()));
            let doors = self.doors.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = accept => {}
                    () = doors.cancelled() => {}
                }
            });
            self.server = Some(server);
            service = Some(nodes);
        }
        if self.temporary.is_some() {
            tokio::task::spawn_blocking(end_abandoned).await?;
        }
        if let Some(config) = &settings.client {
            let servers = match &service {
                Some(nodes) => {
                    let nodes = nodes.clone();
                    Servers::Local(Arc::new(move |ours| {
                        rpc::in_memory(ours, Arc::new(nodes.clone())).0
                    }))
                }
                None => Servers::Dial(settings.servers.clone()),
            };
            let config = client::Config {
                http_address: advertised(settings, &http_address),
                ..config.clone()
            };
            self.client =
                Some(Client::start(config, servers).await.context("the client did not start")?);
        }
        let facts = facts(settings, &http_address, &rpc_address);
        let api = Api::new(facts, self.server.clone(), self.client.clone());
        let tunnel_api = api.clone();
        let tunnel = move |stream: rpc::Stream| -> futures_util::future::BoxFuture<'static, ()> {
            Box::pin(http_api::serve_stream(stream, tunnel_api.clone()))
        };
        let tunnel = Arc::new(tunnel);
        if let Some(nodes) = &service {
            nodes.serve_http_with(tunnel.clone());
        }
        if let Some(client) = &self.client {
            client.serve_http_with(tunnel);
        }
        tokio::spawn(http_api::serve(http, api, self.doors.clone()));
        tracing::info!(http = %http_address, rpc = %rpc_address, "agent started");
        Ok(())
    }

    /// Ends the agent. Tasks live on unless `kill_tasks` is set.
    pub(crate) async fn stop(self, kill_tasks: bool) {
        if let Some(client) = &self.client {
            client.shutdown(kill_tasks).await;
        }
        self.doors.cancel();
        if let Some(server) = &self.server {
            server.shutdown().await;
        }
        if let Some(dir) = &self.temporary
            && let Err(error) = std::fs::remove_dir_all(dir)
        {
            tracing::warn!(dir = %dir.display(), %error, "the temporary data directory was not removed");
        }
    }
}

async fn bind(address: &str, what: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen for {what} on {address}; another agent may be using the port (see `ports` and `bind_addr`)")
    })
}

/// The address under which others reach the HTTP API.
fn advertised(settings: &Settings, bound: &str) -> String {
    if settings.http_advertise.is_empty() {
        bound.to_owned()
    } else {
        settings.http_advertise.clone()
    }
}

fn facts(settings: &Settings, http: &str, rpc: &str) -> AgentFacts {
    let port =
        |address: &str| address.rsplit_once(':').and_then(|(_, p)| p.parse().ok()).unwrap_or(0);
    AgentFacts {
        name: settings.name.clone(),
        region: settings.region.clone(),
        datacenter: settings.datacenter.clone(),
        bind_address: settings.bind_addr.clone(),
        http_address: format!("http://{}", advertised(settings, http)),
        rpc_address: rpc.to_owned(),
        rpc_port: port(rpc),
        serf_port: settings.serf_port,
        http_port: port(http),
        dev_mode: settings.dev,
        nomad_version: crate::NOMAD_VERSION.to_owned(),
        muster_version: crate::MUSTER_VERSION.to_owned(),
        config: settings.shown.clone(),
        debug: settings.debug,
    }
}

/// Ends what development agents left that were killed.
fn end_abandoned() {
    for dir in crate::settings::abandoned_dirs() {
        let shown = dir.display();
        match client::end_abandoned(&dir) {
            Ok(true) => tracing::warn!(dir = %shown, "ended what a killed development agent left"),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(dir = %shown, %error, "a killed development agent's remains stay")
            }
        }
    }
}
