//! The content of one file in frames, and what is added to it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use futures_util::stream::unfold;
use model::wire::Base64;

use super::watcher::Watcher;
use super::{CHUNK_BYTES_MAX, Frame, FrameStream};
use crate::alloc::operations::blocking;

/// What to read.
pub(crate) struct Follow {
    pub(crate) file: File,
    /// The directory the file is in.
    pub(crate) directory: File,
    /// What frames call the file.
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) follow: bool,
}

/// Reads a piece away from the asynchronous threads.
pub(crate) async fn read_at(file: &Arc<File>, offset: u64, most: usize) -> io::Result<Vec<u8>> {
    let file = file.clone();
    blocking(move || {
        let mut buffer = vec![0; most.min(CHUNK_BYTES_MAX)];
        let length = file.read_at(&mut buffer, offset)?;
        buffer.truncate(length);
        Ok(buffer)
    })
    .await
}

/// Reads to the end, or for ever.
pub(crate) fn follow(what: Follow) -> FrameStream {
    let watcher = Watcher::of(&what.directory);
    let reading = Reading {
        file: Arc::new(what.file),
        name: what.name,
        offset: what.offset,
        follow: what.follow,
        watcher,
        over: false,
    };
    Box::pin(unfold(reading, |mut reading| async move {
        let frame = reading.next().await?;
        Some((frame, reading))
    }))
}

struct Reading {
    file: Arc<File>,
    name: String,
    offset: u64,
    follow: bool,
    watcher: Watcher,
    over: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<io::Result<Frame>> {
        while !self.over {
            let data = match read_at(&self.file, self.offset, CHUNK_BYTES_MAX).await {
                Ok(data) => data,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            };
            if !data.is_empty() {
                self.offset += data.len() as u64;
                return Some(Ok(self.frame(data, "")));
            }
            if !self.follow {
                return None;
            }
            match self.file.metadata() {
                Ok(metadata) if metadata.nlink() == 0 => {
                    self.over = true;
                    return Some(Ok(self.frame(Vec::new(), "file deleted")));
                }
                Ok(metadata) if metadata.len() < self.offset => {
                    self.offset = 0;
                    return Some(Ok(self.frame(Vec::new(), "file truncated")));
                }
                Ok(_) => self.watcher.changed().await,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    fn frame(&self, data: Vec<u8>, event: &str) -> Frame {
        Frame {
            data: Base64(data),
            file: self.name.clone(),
            offset: i64::try_from(self.offset).unwrap_or(i64::MAX),
            file_event: event.to_owned(),
        }
    }
}
