//! Accepting connections: plain HTTP/1.1, with a limit, until the agent stops.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::api::Api;
use crate::normalise::normalise;

/// How many connections are served at a time; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 4096;
/// How long a client may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves an API until `stop`.
pub async fn serve(listener: TcpListener, api: Api, stop: CancellationToken) {
    let router = api.router();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let socket = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // Out of descriptors, for one: others may close theirs.
                    tracing::warn!(%error, "accepting an HTTP connection failed");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = stop.cancelled() => return,
        };
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "an HTTP connection ended before it began");
            continue;
        }
        let (router, stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = connection(socket, router) => {}
                () = stop.cancelled() => {}
            }
            drop(place);
        });
    }
}

/// Serves one connection, whatever it runs over, to its end.
pub async fn serve_stream(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, api: Api) {
    connection(stream, api.router()).await;
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: axum::Router,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        async move { router.call(normal(request.map(Body::new))).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "an HTTP connection broke off");
    }
}

/// Escapes the slashes of job ids before the router sees the path.
fn normal(mut request: Request<Body>) -> Request<Body> {
    let Some(path) = normalise(request.uri().path()) else { return request };
    let with_query = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    if let Ok(uri) = with_query.parse::<Uri>() {
        *request.uri_mut() = uri;
    }
    request
}
