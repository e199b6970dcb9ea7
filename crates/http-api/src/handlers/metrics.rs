//! `/v1/metrics`: the figures that exist, in the two forms scrapers read.

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use serde_json::json;

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

/// The gauges of this agent, by name.
fn gauges(request: &Request) -> Vec<(&'static str, f64)> {
    let mut gauges = Vec::new();
    if let Some(server) = &request.api.inner.server {
        let broker = server.broker_figures();
        let snapshot = server.snapshot();
        gauges.extend([
            ("nomad.nomad.broker.total_ready", broker.ready as f64),
            ("nomad.nomad.broker.total_unacked", broker.leased as f64),
            ("nomad.nomad.broker.total_pending", broker.held_back as f64),
            ("nomad.nomad.broker.total_waiting", broker.delayed as f64),
            ("nomad.nomad.blocked_evals.total_blocked", broker.blocked as f64),
            ("nomad.nomad.state.allocations", snapshot.alloc_count() as f64),
            ("nomad.raft.appliedIndex", server.log_stats().last_applied as f64),
        ]);
    }
    if let Some(client) = &request.api.inner.client {
        gauges.push(("nomad.client.allocations.known", client.stats().num_allocations as f64));
    }
    gauges
}

/// The figures as JSON, or as Prometheus text with `format=prometheus`.
pub(crate) async fn read(request: Request) -> Result<Answer, Failure> {
    let gauges = gauges(&request);
    if request.query.get("format") == Some("prometheus") {
        let text: String = gauges
            .iter()
            .map(|(name, value)| {
                let name = name.replace(['.', '-'], "_");
                format!("# TYPE {name} gauge\n{name} {value}\n")
            })
            .collect();
        let response = Response::builder()
            .header(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")
            .body(Body::from(text))
            .map_err(|e| Failure::internal(e.to_string()))?;
        return Ok(Answer::Raw(response));
    }
    let host = &request.facts().name;
    let rows: Vec<_> = gauges
        .iter()
        .map(|(name, value)| json!({ "Name": name, "Value": value, "Labels": { "host": host } }))
        .collect();
    Answer::json(
        &json!({ "Timestamp": "", "Gauges": rows, "Points": [], "Counters": [], "Samples": [] }),
    )
}
