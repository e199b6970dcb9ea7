//! Who leads, which regions and namespaces there are.

use serde_json::json;
use server::Table;

use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::request::Request;

/// The RPC address of the leader; empty while there is none.
pub(crate) async fn leader(request: Request) -> Result<Answer, Failure> {
    let address =
        if request.server()?.knows_leader() { request.facts().rpc_address.as_str() } else { "" };
    Answer::json(&address)
}

/// The RPC addresses of the servers.
pub(crate) async fn peers(request: Request) -> Result<Answer, Failure> {
    request.server()?;
    Answer::json(&[&request.facts().rpc_address])
}

/// The regions.
pub(crate) async fn regions(request: Request) -> Result<Answer, Failure> {
    Answer::json(&[&request.facts().region])
}

fn default_namespace() -> serde_json::Value {
    json!({
        "Name": "default", "Description": "Default shared namespace", "Quota": "", "Capabilities": null,
        "Meta": null, "NodePoolConfiguration": null, "Hash": null, "CreateIndex": 1, "ModifyIndex": 1,
    })
}

/// The namespaces: there is the default one.
pub(crate) async fn namespaces(request: Request) -> Result<Answer, Failure> {
    let prefix = request.query.text("prefix").unwrap_or_default().to_owned();
    blocking::read(&request, &[Table::Config], |snapshot| {
        let rows =
            if "default".starts_with(&prefix) { vec![default_namespace()] } else { Vec::new() };
        Ok(Found { value: rows, index: snapshot.table_index(Table::Config) })
    })
    .await
}

/// One namespace.
pub(crate) async fn namespace(request: Request) -> Result<Answer, Failure> {
    let name = request.part("namespace").to_owned();
    blocking::read(&request, &[Table::Config], |snapshot| {
        if name != "default" {
            return Err(Failure::not_found("Namespace not found"));
        }
        Ok(Found { value: default_namespace(), index: snapshot.table_index(Table::Config) })
    })
    .await
}
