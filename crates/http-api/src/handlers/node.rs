//! `/v1/nodes` and `/v1/node/:id`.

use model::api::allocation;
use model::ids::NodeId;
use model::node::Node;
use serde::Deserialize;
use serde_json::{Value, json};
use server::Table;

use super::ids::{Prefix, whole};
use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::page;
use crate::request::Request;

const TABLES: &[Table] = &[Table::Nodes];

/// The list of nodes.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let query = &request.query;
    let prefix = query.text("prefix").map(|p| Prefix::parse(p, Some("node"))).transpose()?;
    let (resources, os) = (query.flag("resources")?, query.flag("os")?);
    page::list(&request, TABLES, |snapshot| {
        Ok(snapshot
            .nodes()
            .filter(|n| prefix.is_none_or(|p| p.holds(n.id.0)))
            .map(|n| (n.id.to_string(), stub(n, resources, os)))
            .collect())
    })
    .await
}

fn stub(node: &Node, resources: bool, os: bool) -> Value {
    let mut row = json!({
        "Address": node.http_addr.rsplit_once(':').map_or("", |(host, _)| host),
        "ID": node.id,
        "Datacenter": node.datacenter,
        "Name": node.name,
        "NodeClass": node.node_class,
        "NodePool": node.node_pool,
        "Version": node.attributes.get("nomad.version"),
        "Drain": node.drain,
        "SchedulingEligibility": node.scheduling_eligibility,
        "Status": node.status,
        "StatusDescription": node.status_description,
        "Drivers": node.drivers,
        "HostVolumes": node.host_volumes,
        "LastDrain": node.last_drain,
        "CreateIndex": node.create_index,
        "ModifyIndex": node.modify_index,
    });
    if resources {
        row["NodeResources"] = json!(node.node_resources);
        row["ReservedResources"] = json!(node.reserved_resources);
    }
    if os {
        row["Attributes"] = json!({ "os.name": node.attributes.get("os.name") });
    }
    row
}

/// One node. Its secret is never shown.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let id: NodeId = whole(request.part("node"), "node")?;
    blocking::read(&request, TABLES, |snapshot| {
        let node = snapshot.node(&id).ok_or_else(|| Failure::not_found("node not found"))?;
        Ok(Found { value: view(node), index: node.modify_index })
    })
    .await
}

fn view(node: &Node) -> Value {
    let mut value = json!(node);
    value["SecretID"] = json!("");
    // The older, flat forms that some clients still read.
    value["Resources"] = json!({
        "CPU": node.node_resources.cpu.cpu_shares, "MemoryMB": node.node_resources.memory.memory_mb,
        "DiskMB": node.node_resources.disk.disk_mb, "IOPS": 0, "Devices": null,
        "Networks": node.node_resources.networks,
    });
    value["Reserved"] = json!({
        "CPU": node.reserved_resources.cpu.cpu_shares, "MemoryMB": node.reserved_resources.memory.memory_mb,
        "DiskMB": node.reserved_resources.disk.disk_mb, "IOPS": 0, "Devices": null, "Networks": null,
    });
    value
}

/// The allocations of a node, whole.
pub(crate) async fn allocations(request: Request) -> Result<Answer, Failure> {
    let id: NodeId = whole(request.part("node"), "node")?;
    let tables = &[Table::Allocs];
    blocking::read(&request, tables, |snapshot| {
        let allocs: Vec<_> = snapshot.allocs_of_node(&id).collect();
        let index = allocs
            .iter()
            .map(|a| a.modify_index)
            .max()
            .unwrap_or_else(|| snapshot.tables_index(tables));
        let views: Vec<_> = allocs.iter().map(|a| allocation(a)).collect();
        let value = serde_json::value::to_raw_value(&views)
            .map_err(|e| Failure::internal(e.to_string()))?;
        Ok(Found { value, index })
    })
    .await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct EligibilityBody {
    eligibility: String,
}

/// Opens or closes a node for new work.
pub(crate) async fn eligibility(request: Request) -> Result<Answer, Failure> {
    let body: EligibilityBody = request.body()?;
    let eligible = match body.eligibility.as_str() {
        model::node::ELIGIBLE => true,
        model::node::INELIGIBLE => false,
        other => {
            return Err(Failure::internal(format!("invalid scheduling eligibility {other:?}")));
        }
    };
    let id: NodeId = whole(request.part("node"), "node")?;
    let (evals, index) = request.server()?.set_node_eligibility(id, eligible).await?;
    Answer::json(&json!({
        "EvalIDs": (!evals.is_empty()).then_some(evals), "EvalCreateIndex": if eligible { index } else { 0 },
        "NodeModifyIndex": 0, "Index": index,
    }))
}

/// Makes an evaluation for each job on a node.
pub(crate) async fn evaluate(request: Request) -> Result<Answer, Failure> {
    let id: NodeId = whole(request.part("node"), "node")?;
    let server = request.server()?;
    let (evals, index) = server.evaluate_node(id).await?;
    let facts = request.facts();
    let created = if evals.is_empty() { 0 } else { index };
    Answer::json(&json!({
        "EvalIDs": (!evals.is_empty()).then_some(evals), "EvalCreateIndex": created, "NodeModifyIndex": 0,
        "HeartbeatTTL": 0, "Features": 0, "LeaderRPCAddr": facts.rpc_address,
        "NumNodes": server.snapshot().nodes().count(),
        "Servers": [{ "RPCAdvertiseAddr": facts.rpc_address, "RPCMajorVersion": 1, "RPCMinorVersion": 1, "Datacenter": facts.datacenter }],
        "Index": index, "LastContact": 0, "KnownLeader": false,
    }))
}
