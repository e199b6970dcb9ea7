//! Bodies that arrive piece by piece: logs, files, and the frames the file API wraps them in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{Error, Fields, Result};

/// The largest frame that is held while its end has not arrived.
pub const FRAME_BYTES_MAX: usize = 4 << 20;

/// The task that drives one connection; ends with its owner.
#[derive(Debug)]
pub(crate) struct Connection(pub(crate) JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A body being received.
#[derive(Debug)]
pub struct Body {
    pub(crate) incoming: Incoming,
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) _connection: Connection,
}

impl Body {
    /// The next piece, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        while let Some(frame) = self.incoming.frame().await {
            let frame = frame.map_err(|source| Error::Broken {
                method: self.method.clone(),
                url: self.url.clone(),
                source,
            })?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Everything that is left, up to `limit` bytes.
    pub async fn read_all(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            if all.len() + piece.len() > limit {
                return Err(Error::TooLarge { url: self.url.clone(), limit });
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// Reads the body as frames of a file.
    pub fn frames(self) -> Frames {
        Frames { body: self, pending: Vec::new() }
    }
}

/// A file that arrives as JSON frames, each with a piece of it.
#[derive(Debug)]
pub struct Frames {
    body: Body,
    pending: Vec<u8>,
}

impl Frames {
    /// The next piece of the file, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(data) = take_frame(&mut self.pending)? {
                if data.is_empty() {
                    continue; // a heartbeat
                }
                return Ok(Some(data));
            }
            match self.body.next().await? {
                Some(piece) => self.pending.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
    }
}

/// Takes one whole frame from the front; `None` when its end has not arrived.
fn take_frame(pending: &mut Vec<u8>) -> Result<Option<Vec<u8>>> {
    let mut frames = serde_json::Deserializer::from_slice(pending).into_iter::<Value>();
    match frames.next() {
        Some(Ok(frame)) => {
            let used = frames.byte_offset();
            pending.drain(..used);
            let data = STANDARD.decode(frame.text("Data"));
            Ok(Some(data.map_err(|error| Error::Frame(error.to_string()))?))
        }
        Some(Err(error)) if error.is_eof() && pending.len() <= FRAME_BYTES_MAX => Ok(None),
        Some(Err(error)) => Err(Error::Frame(error.to_string())),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_may_be_cut_anywhere_by_the_network() {
        let whole = br#"{"Data":"aGk=","File":"f","Offset":2}{}{"Data":"IQ=="}"#;
        for cut in 0..whole.len() {
            let (mut pending, mut text) = (whole[..cut].to_vec(), Vec::new());
            while let Some(data) = take_frame(&mut pending).unwrap() {
                text.extend(data);
            }
            pending.extend_from_slice(&whole[cut..]);
            while let Some(data) = take_frame(&mut pending).unwrap() {
                text.extend(data);
            }
            assert_eq!(text, b"hi!", "cut at {cut}");
        }
    }

    #[test]
    fn a_frame_that_is_not_json_is_an_error() {
        assert!(take_frame(&mut b"stat x: no such file".to_vec()).is_err());
    }
}
