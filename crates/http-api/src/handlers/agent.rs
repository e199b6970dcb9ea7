//! `/v1/agent/…`: this agent itself.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

/// What the agent is and how it stands.
pub(crate) async fn itself(request: Request) -> Result<Answer, Failure> {
    Answer::json(&json!({
        "config": request.facts().config,
        "member": member(&request),
        "stats": stats(&request),
    }))
}

fn member(request: &Request) -> Value {
    let facts = request.facts();
    if request.api.inner.server.is_none() {
        return json!({
            "Name": "", "Addr": null, "Port": 0, "Tags": null, "Status": "none", "ProtocolMin": 0,
            "ProtocolMax": 0, "ProtocolCur": 0, "DelegateMin": 0, "DelegateMax": 0, "DelegateCur": 0,
        });
    }
    let host =
        facts.rpc_address.rsplit_once(':').map_or(facts.rpc_address.as_str(), |(host, _)| host);
    json!({
        "Name": format!("{}.{}", facts.name, facts.region),
        "Addr": host,
        "Port": facts.serf_port,
        "Tags": {
            "role": "nomad", "region": facts.region, "dc": facts.datacenter, "vsn": "1", "mvn": "1",
            "build": facts.nomad_version, "muster": facts.muster_version, "raft_vsn": "3",
            "id": facts.rpc_address, "rpc_addr": host, "port": facts.rpc_port.to_string(),
            "bootstrap": "1", "expect": "1",
        },
        "Status": "alive",
        "ProtocolMin": 1, "ProtocolMax": 5, "ProtocolCur": 2,
        "DelegateMin": 2, "DelegateMax": 5, "DelegateCur": 4,
    })
}

/// Figures by part, as text: the form operators' scripts read.
fn stats(request: &Request) -> Value {
    let facts = request.facts();
    let mut parts = Map::new();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    parts.insert("runtime".to_owned(), json!({
        "arch": std::env::consts::ARCH, "version": format!("muster {}", facts.muster_version),
        "max_procs": cpus, "cpu_count": cpus, "goroutines": "0", "kernel.name": std::env::consts::OS,
    }));
    if let Some(server) = &request.api.inner.server {
        let log = server.log_stats();
        parts.insert("nomad".to_owned(), json!({
            "server": "true", "leader": server.is_leader().to_string(), "leader_addr": facts.rpc_address,
            "bootstrap": "true", "known_regions": "1",
        }));
        parts.insert("raft".to_owned(), json!({
            "state": if server.is_leader() { "Leader" } else { "Follower" },
            "term": log.term.to_string(),
            "last_log_index": log.last_log_index.to_string(),
            "last_log_term": log.term.to_string(),
            "commit_index": log.last_applied.to_string(),
            "applied_index": log.last_applied.to_string(),
            "fsm_pending": "0",
            "last_snapshot_index": log.snapshot_index.to_string(),
            "last_snapshot_term": log.term.to_string(),
            "last_contact": "0", "num_peers": "0",
            "protocol_version": "3", "protocol_version_min": "3", "protocol_version_max": "3",
            "snapshot_version_min": "1", "snapshot_version_max": "1",
            "latest_configuration": format!("[{{Suffrage:Voter ID:{0} Address:{0}}}]", facts.rpc_address),
            "latest_configuration_index": "0",
        }));
        parts.insert(
            "serf".to_owned(),
            json!({
                "members": "1", "failed": "0", "left": "0", "health_score": "0", "member_time": "1",
                "event_time": "1", "query_time": "1", "intent_queue": "0", "event_queue": "0",
                "query_queue": "0", "encrypted": "false", "coordinate_resets": "0",
            }),
        );
        parts.insert(
            "vault".to_owned(),
            json!({
                "tracked_for_revoked": "0", "token_ttl": "0s", "token_expire_time": "",
            }),
        );
    }
    if let Some(client) = &request.api.inner.client {
        let figures = client.stats();
        parts.insert(
            "client".to_owned(),
            json!({
                "node_id": client.node_id().to_string(),
                "known_servers": figures.known_servers.join(","),
                "num_allocations": figures.num_allocations.to_string(),
                "last_heartbeat": format!("{:?}", figures.last_heartbeat),
                "heartbeat_ttl": format!("{:?}", figures.heartbeat_ttl),
            }),
        );
    }
    Value::Object(parts)
}

/// The servers of the region.
pub(crate) async fn members(request: Request) -> Result<Answer, Failure> {
    let facts = request.facts();
    if request.api.inner.server.is_none() {
        return Err(Failure::gap("listing members through a client agent"));
    }
    Answer::json(&json!({
        "ServerName": facts.name, "ServerRegion": facts.region, "ServerDC": facts.datacenter,
        "Members": [member(&request)],
    }))
}

/// The servers this agent's client knows.
pub(crate) async fn servers(request: Request) -> Result<Answer, Failure> {
    match &request.api.inner.client {
        Some(client) if request.api.inner.server.is_none() => Answer::json(&client.known_servers()),
        Some(_) => Answer::json(&[&request.facts().rpc_address]),
        None => {
            Err(Failure::new(axum::http::StatusCode::NOT_IMPLEMENTED, "client mode is not enabled"))
        }
    }
}

/// Which servers a client uses is set in its configuration.
pub(crate) async fn set_servers(request: Request) -> Result<Answer, Failure> {
    if request.query.text("address").is_none() {
        return Err(Failure::bad("missing server address"));
    }
    Err(Failure::gap("changing a client's servers while it runs (set client.servers)"))
}

/// Servers do not find each other yet: none is joined, and the answer says so.
pub(crate) async fn join(request: Request) -> Result<Answer, Failure> {
    if request.query.text("address").is_none() {
        return Err(Failure::bad("missing address to join"));
    }
    Answer::json(&json!({
        "num_joined": 0,
        "error": "Muster runs one server so far; several are listed in docs/gaps.md",
    }))
}

/// A server that is not a member has left already; the only one cannot be made to leave.
pub(crate) async fn force_leave(request: Request) -> Result<Answer, Failure> {
    let Some(node) = request.query.text("node") else {
        return Err(Failure::bad("missing node to force leave"));
    };
    let facts = request.facts();
    if [facts.name.clone(), format!("{}.{}", facts.name, facts.region)].iter().any(|n| n == node) {
        return Err(Failure::internal("this is the only server; stop the agent instead"));
    }
    Ok(Answer::Status(axum::http::StatusCode::OK))
}

/// Whether the roles of this agent do their work.
pub(crate) async fn health(request: Request) -> Result<Answer, Failure> {
    let kind = request.query.text("type");
    let wanted = |role: &str| kind.is_none() || kind == Some(role);
    let mut roles = Map::new();
    let mut all_well = true;
    if let Some(client) = request.api.inner.client.as_ref().filter(|_| wanted("client")) {
        let ok = client.server_peer().is_some();
        all_well &= ok;
        roles.insert(
            "client".to_owned(),
            json!({ "message": if ok { "ok" } else { "no known servers" }, "ok": ok }),
        );
    }
    if let Some(server) = request.api.inner.server.as_ref().filter(|_| wanted("server")) {
        let ok = server.knows_leader();
        all_well &= ok;
        roles.insert(
            "server".to_owned(),
            json!({ "message": if ok { "ok" } else { "no leader" }, "ok": ok }),
        );
    }
    if all_well {
        return Answer::json(&roles);
    }
    let text = serde_json::to_string(&roles).unwrap_or_default();
    Err(Failure::internal(text))
}
