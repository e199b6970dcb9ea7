//! The client: one connection for each call, JSON in and out.
//!
//! A command makes a handful of calls, so a pool would buy nothing; a connection of its own lets a
//! blocking query or a stream end by dropping it.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::stream::{Body, Connection};
use crate::{Address, Error, Query, Result};

pub use hyper::Method;

/// How long a connection may take to come up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that is read into memory.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;
/// How much of an error's text is shown.
const ERROR_TEXT_BYTES_MAX: usize = 1 << 20;

/// Calls one agent on behalf of one user.
#[derive(Debug, Clone)]
pub struct Client {
    /// Where the agent listens.
    pub address: Address,
    /// The region to forward to; empty for the agent's own.
    pub region: String,
    /// The namespace of calls that name none; empty for the default.
    pub namespace: String,
    /// The secret of the user's token; empty for none.
    pub token: String,
    /// `user:password` for a proxy in front of the agent; empty for none.
    pub http_auth: String,
}

/// A decoded answer with the index it was read at.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The JSON; null when the body was empty.
    pub value: Value,
    /// The index for the next blocking query.
    pub index: u64,
    /// Where the next page starts; empty on the last.
    pub next_token: String,
}

/// An answer as it came, whatever its status.
#[derive(Debug)]
pub struct RawAnswer {
    /// The HTTP status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl Client {
    /// A client without token, for the agent's own region and the default namespace.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            region: String::new(),
            namespace: String::new(),
            token: String::new(),
            http_auth: String::new(),
        }
    }

    /// Reads `path`.
    pub async fn get(&self, path: &str, query: Query) -> Result<Answer> {
        self.call(Method::GET, path, query, None).await
    }

    /// Writes `body` to `path`.
    pub async fn put(&self, path: &str, query: Query, body: &Value) -> Result<Answer> {
        self.call(Method::PUT, path, query, Some(body)).await
    }

    /// Deletes `path`.
    pub async fn delete(&self, path: &str, query: Query) -> Result<Answer> {
        self.call(Method::DELETE, path, query, None).await
    }

    /// Reads `path` as a stream; an error status is an error here already.
    pub async fn stream(&self, path: &str, query: Query) -> Result<Body> {
        let answer = self.raw(Method::GET, path, query, &[], Bytes::new()).await?;
        Ok(accept(answer).await?.body)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: Query,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let body = body.map(|value| Bytes::from(value.to_string())).unwrap_or_default();
        let mut answer = accept(self.raw(method, path, query, &[], body).await?).await?;
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        let index = header("x-nomad-index").and_then(|text| text.parse().ok()).unwrap_or(0);
        let next_token = header("x-nomad-nexttoken").unwrap_or_default().to_owned();
        let bytes = answer.body.read_all(ANSWER_BYTES_MAX).await?;
        let value = if bytes.iter().all(u8::is_ascii_whitespace) {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .map_err(|source| Error::Decode { url: answer.body.url.clone(), source })?
        };
        Ok(Answer { value, index, next_token })
    }

    /// Sends a request as it is and hands the answer back whatever its status.
    pub async fn raw(
        &self,
        method: Method,
        path: &str,
        query: Query,
        headers: &[(String, String)],
        body: Bytes,
    ) -> Result<RawAnswer> {
        let target = self.target(path, query);
        let url = format!("{}{path}", self.address);
        let mut request = hyper::Request::builder()
            .method(method.clone())
            .uri(&target)
            .header(HOST, self.address.host_header());
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if !self.token.is_empty() {
            request = request.header("x-nomad-token", &self.token);
        }
        if !self.http_auth.is_empty() {
            use base64::Engine;
            let coded = base64::engine::general_purpose::STANDARD.encode(&self.http_auth);
            request = request.header("authorization", format!("Basic {coded}"));
        }
        let mut request = request.body(Full::new(body))?;
        for (name, value) in headers {
            let name =
                hyper::header::HeaderName::try_from(name).map_err(hyper::http::Error::from)?;
            let value = value.parse::<hyper::header::HeaderValue>();
            request.headers_mut().insert(name, value.map_err(hyper::http::Error::from)?);
        }
        let broken =
            |source| Error::Broken { method: method.to_string(), url: url.clone(), source };
        let (mut sender, connection) = self.connect().await?;
        let response = sender.send_request(request).await.map_err(broken)?;
        let (parts, incoming) = response.into_parts();
        let body = Body { incoming, url, method: method.to_string(), _connection: connection };
        Ok(RawAnswer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Path and query as they go over the wire, with the client's region and namespace.
    pub fn target(&self, path: &str, query: Query) -> String {
        let (path, written) = path.split_once('?').unwrap_or((path, ""));
        let mut query = query;
        for (key, value) in [("namespace", &self.namespace), ("region", &self.region)] {
            let already = written.split('&').any(|pair| pair.split('=').next() == Some(key));
            if !query.has(key) && !already {
                query = query.with_some(key, value);
            }
        }
        let parts = [written.to_owned(), query.encode()];
        let query = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{}", self.address.prefix(), query.join("&"))
    }

    async fn connect(&self) -> Result<(http1::SendRequest<Full<Bytes>>, Connection)> {
        match &self.address {
            Address::Tcp { host, port, .. } => {
                let connecting = TcpStream::connect((host.as_str(), *port));
                self.handshake(self.within(connecting).await?).await
            }
            Address::Unix(path) => {
                self.handshake(self.within(UnixStream::connect(path)).await?).await
            }
        }
    }

    async fn within<T>(&self, connecting: impl Future<Output = io::Result<T>>) -> Result<T> {
        let address = self.address.to_string();
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(Error::Refused { address })
            }
            Ok(Err(source)) => Err(Error::Connect { address, source }),
            Err(_) => Err(Error::Connect { address, source: io::ErrorKind::TimedOut.into() }),
        }
    }

    async fn handshake<S>(&self, stream: S) -> Result<(http1::SendRequest<Full<Bytes>>, Connection)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| Error::Connect {
                address: self.address.to_string(),
                source: io::Error::other(error),
            })?;
        // A failure of the connection reaches the caller through the body or the sender.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok((sender, Connection(task)))
    }
}

/// Lets a success through and turns anything else into an error with the agent's text.
async fn accept(mut answer: RawAnswer) -> Result<RawAnswer> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    let bytes = answer.body.read_all(ERROR_TEXT_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Err(Error::Status { status: answer.status, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_and_namespace_go_with_each_call_unless_it_names_its_own() {
        let mut client = Client::new(Address::parse("http://h:1/base").unwrap());
        client.namespace = "prod".into();
        client.region = "eu".into();
        assert_eq!(
            client.target("/v1/jobs", Query::new()),
            "/base/v1/jobs?namespace=prod&region=eu"
        );
        let own = Query::new().with("namespace", "*");
        assert_eq!(
            client.target("/v1/jobs?pretty", own),
            "/base/v1/jobs?pretty&namespace=%2A&region=eu"
        );
        assert_eq!(
            client.target("/v1/jobs?namespace=x", Query::new()),
            "/base/v1/jobs?namespace=x&region=eu"
        );
    }
}
