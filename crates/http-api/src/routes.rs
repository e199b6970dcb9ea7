//! The route table: one line each, and the router made from it.
//!
//! A path's `{job}` may hold slashes (see `normalise`). What stands in the original's API and is
//! not here is answered by name where a client would look for it (`gaps`).

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use axum::Router;
use axum::extract::RawPathParams;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::answer::Answer;
use crate::api::Api;
use crate::error::Failure;
use crate::handlers::{
    agent, allocations, client_allocation, client_fs, deployments, evaluations, gaps, job, jobs,
    metrics, node, operator, search, status, system,
};
use crate::request::{BODY_BYTES_MAX, Query, Request};

type Handled = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;
type Handler = fn(Request) -> Handled;

/// Who answers a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// A server; a client agent hands the request on.
    Server,
    /// The node that the request is about; others hand it on.
    Node,
    /// This agent itself.
    Agent,
}

pub(crate) struct Route {
    pub methods: &'static [Method],
    pub path: &'static str,
    pub at: Where,
    handler: Handler,
}

const READ: &[Method] = &[Method::GET];
const WRITE: &[Method] = &[Method::PUT, Method::POST];
const PUT: &[Method] = &[Method::PUT];
const DELETE: &[Method] = &[Method::DELETE];
const ANY: &[Method] = &[Method::GET, Method::PUT, Method::POST, Method::DELETE];

macro_rules! routes {
    ($($methods:ident $path:literal $at:ident $module:ident :: $handler:ident),* $(,)?) => {
        &[$(Route {
            methods: $methods,
            path: $path,
            at: Where::$at,
            handler: |request| Box::pin($module::$handler(request)),
        }),*]
    };
}

/// Every route.
pub(crate) const ROUTES: &[Route] = routes![
    // jobs
    READ "/v1/jobs" Server jobs::list,
    WRITE "/v1/jobs" Server jobs::register,
    WRITE "/v1/jobs/parse" Agent jobs::parse,
    WRITE "/v1/validate/job" Server jobs::validate,
    READ "/v1/job/{job}" Server job::read,
    WRITE "/v1/job/{job}" Server job::register,
    DELETE "/v1/job/{job}" Server job::deregister,
    READ "/v1/job/{job}/allocations" Server job::allocations,
    READ "/v1/job/{job}/evaluations" Server job::evaluations,
    READ "/v1/job/{job}/deployments" Server job::deployments,
    READ "/v1/job/{job}/deployment" Server job::deployment,
    READ "/v1/job/{job}/summary" Server job::summary,
    READ "/v1/job/{job}/versions" Server job::versions,
    READ "/v1/job/{job}/submission" Server job::submission,
    READ "/v1/job/{job}/scale" Server job::scale_status,
    WRITE "/v1/job/{job}/scale" Server job::scale,
    WRITE "/v1/job/{job}/plan" Server job::plan,
    WRITE "/v1/job/{job}/evaluate" Server job::evaluate,
    WRITE "/v1/job/{job}/revert" Server job::revert,
    WRITE "/v1/job/{job}/stable" Server job::stable,
    WRITE "/v1/job/{job}/dispatch" Server job::dispatch,
    WRITE "/v1/job/{job}/periodic/force" Server job::periodic_force,
    // allocations
    READ "/v1/allocations" Server allocations::list,
    READ "/v1/allocation/{alloc}" Server allocations::read,
    WRITE "/v1/allocation/{alloc}/stop" Server allocations::stop,
    READ "/v1/client/fs/ls/{alloc}" Node client_fs::list,
    READ "/v1/client/fs/stat/{alloc}" Node client_fs::stat,
    READ "/v1/client/fs/cat/{alloc}" Node client_fs::cat,
    READ "/v1/client/fs/readat/{alloc}" Node client_fs::read_at,
    READ "/v1/client/fs/stream/{alloc}" Node client_fs::stream,
    READ "/v1/client/fs/logs/{alloc}" Node client_fs::logs,
    READ "/v1/client/fs/ls/" Agent client_fs::without_alloc,
    READ "/v1/client/allocation/{alloc}/stats" Node client_allocation::stats,
    ANY "/v1/client/allocation/{alloc}/restart" Node client_allocation::restart,
    WRITE "/v1/client/allocation/{alloc}/signal" Node client_allocation::signal,
    ANY "/v1/client/allocation/{alloc}/gc" Node client_allocation::collect,
    READ "/v1/client/stats" Node client_allocation::host_stats,
    ANY "/v1/client/gc" Node client_allocation::collect_all,
    // evaluations and deployments
    READ "/v1/evaluations" Server evaluations::list,
    READ "/v1/evaluations/count" Server evaluations::count,
    READ "/v1/evaluation/{eval}" Server evaluations::read,
    READ "/v1/evaluation/{eval}/allocations" Server evaluations::allocations,
    READ "/v1/deployments" Server deployments::list,
    READ "/v1/deployment/{deployment}" Server deployments::read,
    READ "/v1/deployment/allocations/{deployment}" Server deployments::allocations,
    WRITE "/v1/deployment/promote/{deployment}" Server deployments::promote,
    WRITE "/v1/deployment/fail/{deployment}" Server deployments::fail,
    WRITE "/v1/deployment/pause/{deployment}" Server deployments::pause,
    WRITE "/v1/deployment/allocation-health/{deployment}" Server deployments::health,
    WRITE "/v1/deployment/unblock/{deployment}" Server deployments::unblock,
    // nodes
    READ "/v1/nodes" Server node::list,
    READ "/v1/node/{node}" Server node::read,
    READ "/v1/node/{node}/allocations" Server node::allocations,
    WRITE "/v1/node/{node}/eligibility" Server node::eligibility,
    WRITE "/v1/node/{node}/evaluate" Server node::evaluate,
    WRITE "/v1/node/{node}/drain" Server gaps::drain,
    WRITE "/v1/node/{node}/purge" Server gaps::purge_node,
    // agent, status, system
    READ "/v1/agent/self" Agent agent::itself,
    READ "/v1/agent/members" Agent agent::members,
    READ "/v1/agent/servers" Agent agent::servers,
    WRITE "/v1/agent/servers" Agent agent::set_servers,
    WRITE "/v1/agent/join" Agent agent::join,
    WRITE "/v1/agent/force-leave" Agent agent::force_leave,
    READ "/v1/agent/health" Agent agent::health,
    READ "/v1/status/leader" Server status::leader,
    READ "/v1/status/peers" Server status::peers,
    READ "/v1/regions" Server status::regions,
    READ "/v1/namespaces" Server status::namespaces,
    READ "/v1/namespace/{namespace}" Server status::namespace,
    PUT "/v1/system/gc" Server system::collect,
    PUT "/v1/system/reconcile/summaries" Server system::reconcile_summaries,
    WRITE "/v1/search" Server search::prefix,
    READ "/v1/operator/scheduler/configuration" Server operator::scheduler,
    WRITE "/v1/operator/scheduler/configuration" Server operator::set_scheduler,
    READ "/v1/operator/raft/configuration" Server operator::raft,
    READ "/v1/operator/loops" Server operator::loops,
    READ "/v1/metrics" Agent metrics::read,
    // what is answered by name until it is there
    ANY "/v1/acl/{*rest}" Server gaps::acl,
    ANY "/v1/quotas" Server gaps::enterprise,
    ANY "/v1/quota/{*rest}" Server gaps::enterprise,
    ANY "/v1/sentinel/{*rest}" Server gaps::enterprise,
    ANY "/v1/recommendations" Server gaps::enterprise,
    READ "/v1/volumes" Server gaps::no_volumes,
    READ "/v1/volume/csi/{*rest}" Server gaps::no_volume,
    DELETE "/v1/volume/csi/{*rest}" Server gaps::no_volume_to_delete,
    READ "/v1/plugin/csi/{*rest}" Server gaps::no_plugin,
    READ "/v1/scaling/policy/{*rest}" Server gaps::no_policy,
    READ "/v1/operator/license" Server gaps::no_license,
    READ "/v1/plugins" Server gaps::no_plugins,
    READ "/v1/scaling/policies" Server gaps::no_policies,
    ANY "/v1/event/stream" Server gaps::events,
    ANY "/v1/client/allocation/{alloc}/exec" Agent gaps::exec,
    ANY "/v1/client/allocation/{alloc}/snapshot" Agent gaps::alloc_snapshot,
    ANY "/v1/operator/snapshot" Server gaps::snapshot,
    ANY "/v1/vars" Server gaps::variables,
    ANY "/v1/services" Server gaps::services,
];

/// The router of the table.
pub(crate) fn router(api: &Api) -> Router {
    let mut by_path: BTreeMap<&'static str, MethodRouter> = BTreeMap::new();
    for route in ROUTES {
        for method in route.methods {
            let slot = by_path.remove(route.path).unwrap_or_default();
            let filter =
                MethodFilter::try_from(method.clone()).expect("the table has common methods");
            let api = api.clone();
            let handle = move |params: RawPathParams, request: axum::extract::Request| {
                serve_route(route, api.clone(), params, request)
            };
            let slot = if *method == Method::GET {
                // HEAD has never been answered; the router would add it by itself.
                slot.on(filter, handle).on(MethodFilter::HEAD, refuse_method)
            } else {
                slot.on(filter, handle)
            };
            by_path.insert(route.path, slot);
        }
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        router = router.route(path, methods);
    }
    router
        .route("/", on(MethodFilter::GET, || async { to_ui() }))
        .fallback(unknown)
        .method_not_allowed_fallback(refuse_method)
}

async fn refuse_method() -> Response {
    Failure::method().into_response()
}

async fn unknown(uri: Uri) -> Response {
    match uri.path() {
        "/v1/job/" => Failure::not_found("job not found").into_response(),
        path if path.starts_with("/v1/node/") => {
            Failure::internal("node lookup failed: index error: UUID must be 36 characters")
                .into_response()
        }
        path if path.starts_with("/v1/allocation/")
            || path.starts_with("/v1/client/allocation/") =>
        {
            Failure::not_found("resource not found").into_response()
        }
        _ => Failure::not_found("").into_response(),
    }
}

fn to_ui() -> Response {
    let location = HeaderValue::from_static("/ui/");
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response()
}

async fn serve_route(
    route: &'static Route,
    api: Api,
    params: RawPathParams,
    request: axum::extract::Request,
) -> Response {
    let path: BTreeMap<String, String> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if let Some(response) = wrong_region(&api, &query) {
        return response;
    }
    let request = match crate::forward::hand_on(route, &api, &path, &query, request).await {
        crate::forward::Handed::Answered(response) => return response,
        crate::forward::Handed::Ours(request) => request,
    };
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, BODY_BYTES_MAX).await {
        Ok(body) => body,
        Err(_) => {
            let text =
                format!("the request body is larger than {BODY_BYTES_MAX} bytes, or it broke off");
            return Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
        }
    };
    let headers = parts.headers;
    let asked = query.clone();
    let handled = (route.handler)(Request { api, path, query, body }).await;
    match handled {
        Ok(answer) => answer.into_response(&asked, &headers),
        Err(failure) => failure.into_response(),
    }
}

fn wrong_region(api: &Api, query: &Query) -> Option<Response> {
    let region = query.text("region")?;
    (region != api.inner.facts.region)
        .then(|| Failure::internal("No path to region").into_response())
}
