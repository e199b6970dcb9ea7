//! Where the agent listens: `http://host:port` or `unix:///path`.

use std::fmt;
use std::path::PathBuf;

use crate::{Error, Result};

/// Where an agent listens unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "http://127.0.0.1:4646";
/// The port of HTTP when the address names none.
const HTTP_PORT: u16 = 80;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Host and port, and a path in front of `/v1` for agents behind a proxy.
    Tcp { host: String, port: u16, prefix: String },
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Address {
    /// Reads an address as users write it.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |reason| Error::Address { address: text.to_owned(), reason };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(bad("the path of the socket is missing"));
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if text.starts_with("https://") {
            return Err(Error::Tls { address: text.to_owned() });
        }
        let rest = text
            .strip_prefix("http://")
            .ok_or_else(|| bad("it must begin with http://, https:// or unix://"))?;
        let (authority, prefix) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, String::new()),
        };
        let prefix = prefix.trim_end_matches('/').to_owned();
        let (host, port) =
            split_authority(authority).ok_or_else(|| bad("the port is not valid"))?;
        if host.is_empty() || host.contains(['@', '?', '#', ' ']) {
            return Err(bad("the host is not valid"));
        }
        Ok(Self::Tcp { host: host.to_owned(), port, prefix })
    }

    /// What goes into the `Host` header.
    pub fn host_header(&self) -> String {
        match self {
            Self::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port, .. } => format!("{host}:{port}"),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }

    /// The path in front of `/v1`.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Tcp { prefix, .. } => prefix,
            Self::Unix(_) => "",
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { prefix, .. } => write!(f, "http://{}{prefix}", self.host_header()),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

fn split_authority(authority: &str) -> Option<(&str, u16)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        return match port.strip_prefix(':') {
            Some(port) => Some((host, port.parse().ok()?)),
            None => port.is_empty().then_some((host, HTTP_PORT)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((authority, HTTP_PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_forms_users_write() {
        for (text, shown) in [
            ("http://127.0.0.1:4646", "http://127.0.0.1:4646"),
            ("http://localhost", "http://localhost:80"),
            ("http://[::1]:4646/", "http://[::1]:4646"),
            ("http://proxy:80/nomad/", "http://proxy:80/nomad"),
            ("unix:///run/api.sock", "unix:///run/api.sock"),
            ("unix:/run/api.sock", "unix:///run/api.sock"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn refuses_what_it_cannot_reach_and_says_why() {
        let reason = |text: &str| Address::parse(text).unwrap_err().to_string();
        assert!(reason("https://x:1").contains("TLS"), "{}", reason("https://x:1"));
        assert!(reason("127.0.0.1:4646").contains("must begin with"));
        assert!(reason("http://x:port").contains("port"));
        assert!(reason("unix://").contains("socket"));
    }
}
