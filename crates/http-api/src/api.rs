//! What the handlers answer from: the roles of this agent and the facts about it.

use std::sync::Arc;

use client::Client;
use serde_json::Value;
use server::Server;

/// Facts about the agent that only its composition root knows.
#[derive(Debug, Clone, Default)]
pub struct AgentFacts {
    pub name: String,
    pub region: String,
    pub datacenter: String,
    pub bind_address: String,
    /// `http://127.0.0.1:4646`.
    pub http_address: String,
    pub rpc_address: String,
    pub rpc_port: u16,
    pub serf_port: u16,
    pub http_port: u16,
    pub dev_mode: bool,
    /// The level of API compatibility: what `nomad.version` says.
    pub nomad_version: String,
    pub muster_version: String,
    /// The `config` part of `/v1/agent/self`.
    pub config: Value,
    pub debug: bool,
}

/// A shared handle to everything the handlers need.
#[derive(Clone)]
pub struct Api {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub facts: AgentFacts,
    pub server: Option<Server>,
    pub client: Option<Client>,
}

impl Api {
    /// The API of an agent with these roles.
    pub fn new(facts: AgentFacts, server: Option<Server>, client: Option<Client>) -> Self {
        Self { inner: Arc::new(Inner { facts, server, client }) }
    }

    /// The router of the table.
    pub fn router(&self) -> axum::Router {
        crate::routes::router(self)
    }
}
