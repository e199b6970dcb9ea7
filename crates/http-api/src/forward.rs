//! Handing a request on: to a server from a client agent, to the node that runs an allocation.
//!
//! The request itself travels, as HTTP/1.1 over a stream of the RPC connection that the client
//! dialled, so that answers stream and no second protocol is needed. A request is handed on once:
//! whoever gets it answers it or says why not.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use model::ids::{AllocId, NodeId};

use crate::api::Api;
use crate::error::Failure;
use crate::request::Query;
use crate::routes::{Route, Where};

/// Marks a request that was handed on already.
const HANDED_ON: HeaderName = HeaderName::from_static("x-muster-handed-on");

/// How long a request of a client agent waits for a server while none is connected: a server that
/// restarts, or an agent that has just begun, should look slow and not broken.
const SERVER_WAIT: Duration = Duration::from_secs(5);

/// What became of a request.
pub(crate) enum Handed {
    Answered(Response),
    /// It is ours to answer.
    Ours(Request),
}

/// Hands a request on if another agent has to answer it.
pub(crate) async fn hand_on(
    route: &Route,
    api: &Api,
    path: &BTreeMap<String, String>,
    query: &Query,
    request: Request,
) -> Handed {
    let peer = match route.at {
        Where::Agent => return Handed::Ours(request),
        Where::Server => match (&api.inner.server, &api.inner.client) {
            (None, Some(_)) => match any_server(api).await {
                Some(peer) => peer,
                None => {
                    return refuse(Failure::internal(
                        "No path to region: no server can be reached; see client.servers",
                    ));
                }
            },
            _ => return Handed::Ours(request),
        },
        Where::Node => match node_of(api, path, query).await {
            Ok(None) => return Handed::Ours(request),
            Ok(Some(peer)) => peer,
            Err(failure) => return refuse(failure),
        },
    };
    if request.headers().contains_key(&HANDED_ON) {
        return refuse(Failure::internal(
            "the request was handed on and is not for this agent either",
        ));
    }
    match tunnel(&peer, request).await {
        Ok(response) => Handed::Answered(response),
        Err(error) => refuse(Failure::internal(format!(
            "handing the request on to {} failed: {error}",
            peer.address
        ))),
    }
}

fn refuse(failure: Failure) -> Handed {
    Handed::Answered(failure.into_response())
}

/// The connection to the node a request is about; `None` when it is this one.
async fn node_of(
    api: &Api,
    path: &BTreeMap<String, String>,
    query: &Query,
) -> Result<Option<server::Peer>, Failure> {
    let client = api.inner.client.as_ref();
    let Some(alloc) = path.get("alloc") else {
        return match query.text("node_id") {
            None if client.is_some() => Ok(None),
            None => Err(Failure::bad("this agent runs no client: name one with node_id")),
            Some(text) => {
                let node: NodeId =
                    text.parse().map_err(|_| Failure::not_found(format!("Unknown node {text}")))?;
                peer_of(api, node)
                    .await
                    .map_err(|()| Failure::not_found(format!("Unknown node {text}")))
            }
        };
    };
    let unknown = || Failure::not_found(format!("Unknown allocation {alloc:?}"));
    let id: AllocId = alloc.parse().map_err(|_| unknown())?;
    if client.is_some_and(|c| c.has_alloc(&id)) {
        return Ok(None);
    }
    match &api.inner.server {
        Some(server) => {
            let node = server.snapshot().alloc(&id).map(|a| a.node_id).ok_or_else(unknown)?;
            peer_of(api, node).await.map_err(|()| {
                Failure::not_found(format!("No path to node {node}: it is not connected"))
            })
        }
        // A client agent asks a server, which knows where the allocation is.
        None => any_server(api).await.map(Some).ok_or_else(unknown),
    }
}

async fn peer_of(api: &Api, node: NodeId) -> Result<Option<server::Peer>, ()> {
    if api.inner.client.as_ref().is_some_and(|c| c.node_id() == node) {
        return Ok(None);
    }
    match &api.inner.server {
        Some(server) => server.node_peer(&node).map(Some).ok_or(()),
        None => any_server(api).await.map(Some).ok_or(()),
    }
}

async fn any_server(api: &Api) -> Option<server::Peer> {
    api.inner.client.as_ref()?.server_peer_within(SERVER_WAIT).await
}

async fn tunnel(peer: &server::Peer, request: Request) -> Result<Response, String> {
    let stream = peer.open_http().await.map_err(|e| e.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    // The connection lives as long as the answer is being read.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "an HTTP tunnel broke off");
        }
    });
    let (mut parts, body) = request.into_parts();
    parts.headers.insert(HANDED_ON, HeaderValue::from_static("1"));
    parts.headers.entry(axum::http::header::HOST).or_insert(HeaderValue::from_static("muster"));
    let request = hyper::Request::from_parts(parts, body);
    let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
    Ok(response.map(Body::new))
}
