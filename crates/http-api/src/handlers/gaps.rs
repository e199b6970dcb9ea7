//! What is not there yet, answered by name where a client would look for it, and what is there
//! but empty on purpose.

use axum::http::StatusCode;
use serde_json::json;

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

type Handled = Result<Answer, Failure>;

/// There is no access control yet, and the wire has words for that.
pub(crate) async fn acl(_: Request) -> Handled {
    Err(Failure::bad("ACL support disabled"))
}

/// What the community build of the original does not answer either.
pub(crate) async fn enterprise(_: Request) -> Handled {
    Err(Failure::new(StatusCode::NOT_IMPLEMENTED, "Nomad Enterprise only endpoint"))
}

/// No volume can be registered yet, so there is none.
pub(crate) async fn no_volumes(_: Request) -> Handled {
    Answer::json(&json!([]))
}

/// The same for one of them.
pub(crate) async fn no_volume(_: Request) -> Handled {
    Err(Failure::not_found("volume not found"))
}

/// The same, for who would remove one.
pub(crate) async fn no_volume_to_delete(request: Request) -> Handled {
    Err(Failure::internal(format!("volume not found: {}", request.part("rest"))))
}

/// No plugin runs, so none is found.
pub(crate) async fn no_plugin(_: Request) -> Handled {
    Err(Failure::not_found("plugin not found"))
}

/// There is no policy, so none is found.
pub(crate) async fn no_policy(_: Request) -> Handled {
    Err(Failure::not_found("policy not found"))
}

/// Muster has no licence keys; an answer without content is what the community build gives.
pub(crate) async fn no_license(_: Request) -> Handled {
    Ok(Answer::Status(StatusCode::NO_CONTENT))
}

/// No plugin can run yet, so there is none.
pub(crate) async fn no_plugins(_: Request) -> Handled {
    Answer::json(&json!([]))
}

/// Scaling blocks are refused at registration, so there is no policy.
pub(crate) async fn no_policies(_: Request) -> Handled {
    Answer::json(&json!([]))
}

pub(crate) async fn drain(_: Request) -> Handled {
    Err(Failure::gap("draining nodes"))
}

pub(crate) async fn purge_node(_: Request) -> Handled {
    Err(Failure::gap("purging nodes"))
}

pub(crate) async fn events(_: Request) -> Handled {
    Err(Failure::gap("the event stream"))
}

pub(crate) async fn exec(_: Request) -> Handled {
    Err(Failure::gap("running commands in allocations"))
}

pub(crate) async fn alloc_snapshot(_: Request) -> Handled {
    Err(Failure::gap("snapshots of allocation directories"))
}

pub(crate) async fn snapshot(_: Request) -> Handled {
    Err(Failure::gap("saving and restoring snapshots"))
}

pub(crate) async fn variables(_: Request) -> Handled {
    Err(Failure::gap("variables"))
}

pub(crate) async fn services(_: Request) -> Handled {
    Err(Failure::gap("service discovery"))
}
