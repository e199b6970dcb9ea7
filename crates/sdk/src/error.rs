//! What can go wrong between a command and the agent, in words that name the remedy.

use std::io;

/// The answer or the reason there is none.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be understood.
    #[error("address \"{address}\" is not usable: {reason}")]
    Address { address: String, reason: &'static str },
    /// TLS was asked for.
    #[error(
        "address \"{address}\" asks for TLS, which is not there yet (docs/gaps.md); use an http:// or unix:// address"
    )]
    Tls { address: String },
    /// Nobody listens.
    #[error(
        "connection refused: no agent answers at {address} (set another address with -address or NOMAD_ADDR)"
    )]
    Refused { address: String },
    /// The connection failed otherwise.
    #[error(
        "cannot connect to {address}: {source} (set another address with -address or NOMAD_ADDR)"
    )]
    Connect { address: String, source: io::Error },
    /// The connection ended in the middle.
    #[error("{method} {url}: the connection failed: {source}")]
    Broken { method: String, url: String, source: hyper::Error },
    /// A header or the path holds what HTTP cannot carry.
    #[error("the request cannot be written as HTTP: {0}")]
    Request(#[from] hyper::http::Error),
    /// The agent answered with an error.
    #[error("Unexpected response code: {status} ({text})")]
    Status { status: u16, text: String },
    /// The answer is not the JSON that was expected.
    #[error("{url}: the answer is not JSON: {source}")]
    Decode { url: String, source: serde_json::Error },
    /// The answer is larger than the client is willing to hold.
    #[error("{url}: the answer is larger than {limit} bytes")]
    TooLarge { url: String, limit: usize },
    /// A streamed frame is not what the API promises.
    #[error("the stream cannot be read: {0}")]
    Frame(String),
}

impl Error {
    /// The HTTP status, when the agent answered with an error.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// True when the agent says that the thing does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }
}
