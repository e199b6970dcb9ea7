//! Snapshot files: written beside, synced, renamed; each block carries a checksum.
//!
//! ```text
//! 8  "MUSTSNAP"   u32 format   u32 meta length   meta   u32 crc32 of all before
//! blocks: u32 length   u32 crc32 of number and bytes   bytes
//! end:    u32 0   u32 crc32 of number and "end"
//! ```
//! A block's number (counted from 0) is part of its checksum, so a lost, doubled or moved block is
//! seen; a file without its end block is half a snapshot and refused.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::errors::OpenError;
use crate::log::sync_dir;
use crate::raft_types::SnapshotMeta;

const MAGIC: &[u8; 8] = b"MUSTSNAP";
/// Format number in each snapshot.
const FORMAT: u32 = 1;
const BLOCK_BYTES: usize = 64 * 1024;
/// A membership fits a thousand times; more says the length is damaged.
const META_BYTES_MAX: usize = 1024 * 1024;

/// Where the bytes of a snapshot lie.
#[derive(Clone, Debug)]
pub(crate) enum SnapshotData {
    File(PathBuf),
    Memory(Bytes),
}

/// The newest snapshot and the place for the next.
#[derive(Clone)]
pub(crate) struct SnapshotStore {
    /// `None`: snapshots live in memory only.
    dir: Option<PathBuf>,
    current: Arc<Mutex<Option<(SnapshotMeta, SnapshotData)>>>,
}

impl SnapshotStore {
    pub(crate) fn in_memory() -> SnapshotStore {
        SnapshotStore { dir: None, current: Arc::default() }
    }

    /// Opens the directory, drops half-written and superseded files, reads the newest header.
    pub(crate) fn open(dir: PathBuf) -> Result<SnapshotStore, OpenError> {
        std::fs::create_dir_all(&dir).map_err(OpenError::io("create", &dir))?;
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&dir).map_err(OpenError::io("list", &dir))? {
            let path = entry.map_err(OpenError::io("list", &dir))?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("tmp") => {
                    std::fs::remove_file(&path).map_err(OpenError::io("remove", &path))?;
                }
                Some("snap") => found.push(path),
                _ => {}
            }
        }
        found.sort();
        let current = match found.pop() {
            None => None,
            Some(path) => Some((check_whole(&path)?, SnapshotData::File(path))),
        };
        for old in found {
            std::fs::remove_file(&old).map_err(OpenError::io("remove", &old))?;
        }
        Ok(SnapshotStore { dir: Some(dir), current: Arc::new(Mutex::new(current)) })
    }

    pub(crate) fn current(&self) -> Option<(SnapshotMeta, SnapshotData)> {
        self.current.lock().clone()
    }

    /// Writes a snapshot and makes it the current one; durable on return.
    pub(crate) fn write(
        &self,
        meta: &SnapshotMeta,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<SnapshotData> {
        let data = match &self.dir {
            None => {
                let mut bytes = Vec::new();
                encode(&mut bytes, meta, fill)?;
                SnapshotData::Memory(bytes.into())
            }
            Some(dir) => SnapshotData::File(write_file(dir, meta, fill)?),
        };
        self.replace(meta.clone(), data.clone())?;
        Ok(data)
    }

    fn replace(&self, meta: SnapshotMeta, data: SnapshotData) -> io::Result<()> {
        let old = self.current.lock().replace((meta, data.clone()));
        if let (Some((_, SnapshotData::File(old))), SnapshotData::File(new)) = (old, data)
            && old != new
        {
            std::fs::remove_file(old)?;
        }
        Ok(())
    }
}

fn write_file(
    dir: &Path,
    meta: &SnapshotMeta,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let index = meta.last_log_id.map_or(0, |id| id.index);
    let path = dir.join(format!("{index:020}.snap"));
    let temporary = path.with_extension("tmp");
    let written = File::create(&temporary).and_then(|file| {
        let mut buffered = BufWriter::with_capacity(BLOCK_BYTES, file);
        encode(&mut buffered, meta, fill)?;
        buffered.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        sync_dir(dir)
    });
    if written.is_err() {
        // The error that matters is the first one; the next start removes what stays.
        let _ = std::fs::remove_file(&temporary);
    }
    written.map(|()| path)
}

fn encode(
    out: &mut dyn Write,
    meta: &SnapshotMeta,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let meta = rmp_serde::to_vec_named(meta).map_err(io::Error::other)?;
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&FORMAT.to_le_bytes());
    header.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    header.extend_from_slice(&meta);
    let crc = crc32fast::hash(&header);
    header.extend_from_slice(&crc.to_le_bytes());
    out.write_all(&header)?;
    let mut blocks = BlockWriter { out, block: Vec::with_capacity(BLOCK_BYTES), number: 0 };
    fill(&mut blocks)?;
    blocks.finish()
}

fn block_crc(number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

struct BlockWriter<'a> {
    out: &'a mut dyn Write,
    block: Vec<u8>,
    number: u64,
}

impl BlockWriter<'_> {
    fn put(&mut self, len: u32, crc_of: &[u8]) -> io::Result<()> {
        self.out.write_all(&len.to_le_bytes())?;
        self.out.write_all(&block_crc(self.number, crc_of).to_le_bytes())?;
        self.number += 1;
        Ok(())
    }

    fn flush_block(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            let block = std::mem::take(&mut self.block);
            self.put(block.len() as u32, &block)?;
            self.out.write_all(&block)?;
            self.block = block;
            self.block.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush_block()?;
        self.put(0, b"end")
    }
}

impl Write for BlockWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK_BYTES - self.block.len();
        let taken = room.min(bytes.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK_BYTES {
            self.flush_block()?;
        }
        Ok(taken)
    }

    /// Blocks go out when full; cutting one early would only cost space.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the content of a snapshot, checking each block before it is handed out.
pub(crate) struct SnapshotReader {
    source: Box<dyn Read + Send>,
    name: String,
    block: Cursor<Vec<u8>>,
    number: u64,
    offset: u64,
    ended: bool,
}

impl SnapshotReader {
    pub(crate) fn open(data: &SnapshotData) -> io::Result<(SnapshotMeta, SnapshotReader)> {
        let (source, name): (Box<dyn Read + Send>, String) = match data {
            SnapshotData::File(path) => {
                let file = BufReader::with_capacity(BLOCK_BYTES, File::open(path)?);
                (Box::new(file), path.display().to_string())
            }
            SnapshotData::Memory(bytes) => {
                (Box::new(Cursor::new(bytes.clone())), "the snapshot in memory".into())
            }
        };
        let block = Cursor::new(Vec::new());
        let mut reader = SnapshotReader { source, name, block, number: 0, offset: 0, ended: false };
        let meta = reader.read_header()?;
        Ok((meta, reader))
    }

    fn read_header(&mut self) -> io::Result<SnapshotMeta> {
        let mut header = vec![0; 16];
        self.take(&mut header)?;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four"));
        let (format, len) = (number(8), number(12) as usize);
        if &header[..8] != MAGIC || len > META_BYTES_MAX {
            return Err(self.bad("not a snapshot"));
        }
        if format != FORMAT {
            return Err(self.bad(&format!("format {format}, this program knows {FORMAT}")));
        }
        header.resize(16 + len, 0);
        self.take(&mut header[16..])?;
        let mut crc = [0; 4];
        self.take(&mut crc)?;
        if crc32fast::hash(&header) != u32::from_le_bytes(crc) {
            return Err(self.bad("checksum of the header does not match"));
        }
        rmp_serde::from_slice(&header[16..]).map_err(|e| self.bad(&e.to_string()))
    }

    fn next_block(&mut self) -> io::Result<()> {
        let mut head = [0; 8];
        self.take(&mut head)?;
        let len = u32::from_le_bytes(head[..4].try_into().expect("four")) as usize;
        let crc = u32::from_le_bytes(head[4..].try_into().expect("four"));
        if len > BLOCK_BYTES {
            return Err(self.bad("a block is longer than blocks are"));
        }
        let mut block = std::mem::take(&mut self.block).into_inner();
        block.resize(len, 0);
        self.take(&mut block)?;
        let crc_of: &[u8] = if len == 0 { b"end" } else { &block };
        if block_crc(self.number, crc_of) != crc {
            return Err(self.bad("checksum of a block does not match"));
        }
        self.number += 1;
        self.ended = len == 0;
        self.block = Cursor::new(block);
        Ok(())
    }

    fn take(&mut self, into: &mut [u8]) -> io::Result<()> {
        match self.source.read_exact(into) {
            Ok(()) => {
                self.offset += into.len() as u64;
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.bad("the file ends early: half a snapshot"))
            }
            Err(e) => Err(e),
        }
    }

    fn bad(&self, reason: &str) -> io::Error {
        let text = format!("{} is damaged at byte {}: {reason}", self.name, self.offset);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}

impl Read for SnapshotReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended && self.block.position() == self.block.get_ref().len() as u64 {
            self.next_block()?;
        }
        if self.ended { Ok(0) } else { self.block.read(into) }
    }
}

/// Reads a whole snapshot once, so that damage is found before the state machine sees a byte.
fn check_whole(path: &Path) -> Result<SnapshotMeta, OpenError> {
    let check = || {
        let (meta, mut reader) = SnapshotReader::open(&SnapshotData::File(path.into()))?;
        io::copy(&mut reader, &mut io::sink())?;
        Ok((meta, reader.offset))
    };
    let (meta, end) = check().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::InvalidData => OpenError::Snapshot { reason: source.to_string() },
        _ => OpenError::io("read", path)(source),
    })?;
    let size = std::fs::metadata(path).map_err(OpenError::io("read", path))?.len();
    if size != end {
        return Err(OpenError::corrupt(path, end as usize, "bytes follow the end of the snapshot"));
    }
    Ok(meta)
}
