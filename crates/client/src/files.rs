//! Reading in an allocation's directory, which its tasks can write to and are not trusted with:
//! every path is opened beneath a descriptor of the directory.

mod beneath;
mod follow;
mod info;
mod logs;
mod watcher;

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use model::wire::{Base64, is_default};
use serde::{Deserialize, Serialize};

pub(crate) use beneath::failure as failed;
pub(crate) use beneath::{AllocRoot, Opened};
pub(crate) use follow::{Follow, follow, read_at};
pub use info::FileInfo;
pub(crate) use info::{list, stat};
pub(crate) use logs::{Logs, read_logs};

/// Bytes read from a file at once, and in one frame.
pub const CHUNK_BYTES_MAX: usize = 64 << 10;

/// The content of a file.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
/// The content of files with their names.
pub type FrameStream = Pin<Box<dyn Stream<Item = io::Result<Frame>> + Send>>;

/// Which output of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    Stdout,
    Stderr,
}

impl LogKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A piece of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Frame {
    #[serde(skip_serializing_if = "is_nothing")]
    pub data: Base64,
    #[serde(skip_serializing_if = "is_default")]
    pub file: String,
    /// Where the piece ends in the file.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: i64,
    #[serde(skip_serializing_if = "is_default")]
    pub file_event: String,
}

fn is_nothing(data: &Base64) -> bool {
    data.0.is_empty()
}
