//! Answers: JSON with the headers clients read, pretty when asked, gzip when accepted.

use std::io::Write;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::error::Failure;
use crate::request::Query;

/// Answers below this size are not worth compressing.
const GZIP_BYTES_MIN: usize = 1024;

/// What a handler answers with.
pub(crate) enum Answer {
    /// JSON, made while it is being written.
    Json { body: Vec<u8>, meta: Option<Meta> },
    /// Nothing but a status.
    Status(StatusCode),
    /// Whatever the handler put together itself.
    Raw(Response),
}

/// The headers of a read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meta {
    pub index: u64,
    pub known_leader: bool,
    pub next_token: Option<String>,
}

impl Answer {
    /// A JSON answer without the headers of a read.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_vec(value).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(Self::Json { body, meta: None })
    }

    /// A JSON answer of a read at an index.
    pub(crate) fn read(value: &impl Serialize, meta: Meta) -> Result<Self, Failure> {
        let body = serde_json::to_vec(value).map_err(|e| Failure::internal(e.to_string()))?;
        Ok(Self::Json { body, meta: Some(meta) })
    }

    /// The response for a caller.
    pub(crate) fn into_response(self, query: &Query, headers: &HeaderMap) -> Response {
        match self {
            Self::Json { body, meta } => {
                let body = if query.has("pretty") { pretty(body) } else { body };
                let mut response = compressed(body, headers);
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                if let Some(meta) = meta {
                    add_meta(response.headers_mut(), meta);
                }
                response
            }
            Self::Status(status) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = status;
                response
            }
            Self::Raw(response) => response,
        }
    }
}

fn add_meta(headers: &mut HeaderMap, meta: Meta) {
    let mut put = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put("x-nomad-index", meta.index.to_string());
    put("x-nomad-knownleader", meta.known_leader.to_string());
    put("x-nomad-lastcontact", "0".to_owned());
    if let Some(token) = meta.next_token {
        put("x-nomad-nexttoken", token);
    }
}

/// Four blanks and a line end, as `?pretty` has always been.
fn pretty(body: Vec<u8>) -> Vec<u8> {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(&body) else { return body };
    let mut out = Vec::with_capacity(body.len() * 2);
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
    if value.serialize(&mut writer).is_err() {
        return body;
    }
    out.push(b'\n');
    out
}

fn compressed(body: Vec<u8>, headers: &HeaderMap) -> Response {
    let accepts = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|v| v.split(',').any(|e| e.trim().starts_with("gzip")));
    let mut response = if accepts && body.len() >= GZIP_BYTES_MIN {
        let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
        match encoder.write_all(&body).and_then(|()| encoder.finish()) {
            Ok(small) => {
                let mut response = Response::new(Body::from(Bytes::from(small)));
                response
                    .headers_mut()
                    .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                response
            }
            Err(_) => Response::new(Body::from(body)),
        }
    } else {
        Response::new(Body::from(body))
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}
