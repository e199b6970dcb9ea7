//! Frames: a little-endian length and a msgpack body.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The largest message; a longer length ends the stream.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// Writes one message.
pub(crate) async fn write<T: Serialize>(
    out: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> io::Result<()> {
    let mut frame = vec![0; 4];
    rmp_serde::encode::write_named(&mut frame, message).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other(format!(
            "a message of {length} bytes is over the limit of {FRAME_BYTES_MAX}"
        )));
    }
    frame[..4]
        .copy_from_slice(&u32::try_from(length).expect("the limit is below 4 GiB").to_le_bytes());
    out.write_all(&frame).await?;
    out.flush().await
}

/// Reads one message.
pub(crate) async fn read<T: DeserializeOwned>(
    input: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut length = [0; 4];
    input.read_exact(&mut length).await?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message of {length} bytes is over the limit of {FRAME_BYTES_MAX}"),
        ));
    }
    // Grown as bytes arrive: a hostile length costs nothing by itself.
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    rmp_serde::from_slice(&body).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}
