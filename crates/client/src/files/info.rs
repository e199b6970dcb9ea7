//! What is said of a file.

use std::fs::Metadata;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};

use model::wire::Time;
use serde::{Deserialize, Serialize};

use super::Opened;

/// Entries of one directory that are listed; a task can make any number.
const ENTRIES_MAX: usize = 100_000;
/// The kind of a content is guessed from its beginning.
const SNIFF_BYTES: usize = 512;
const BINARY: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file or directory, as the API shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FileInfo {
    pub name: String,
    pub is_dir: bool,
    pub size: i64,
    /// As Go writes it: `-rw-r--r--`.
    pub file_mode: String,
    pub mod_time: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

impl FileInfo {
    fn of(name: String, metadata: &Metadata) -> Self {
        let nanos = metadata.mtime().saturating_mul(1_000_000_000) + metadata.mtime_nsec();
        Self {
            name,
            is_dir: metadata.is_dir(),
            size: i64::try_from(metadata.len()).unwrap_or(i64::MAX),
            file_mode: mode(metadata),
            mod_time: Time(nanos),
            content_type: None,
        }
    }
}

/// One file, with the kind of its content. `content` is the same file opened for reading, if that
/// is possible and allowed.
pub(crate) fn stat(opened: &Opened, content: Option<&Opened>) -> io::Result<FileInfo> {
    let metadata = opened.file.metadata()?;
    let name = opened.shown.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut info = FileInfo::of(name, &metadata);
    let sniffed = match content {
        Some(content) => {
            let mut start = [0; SNIFF_BYTES];
            let length = content.file.read_at(&mut start, 0)?;
            content_type(&info.name, &start[..length])
        }
        None => BINARY,
    };
    info.content_type = Some(sniffed.to_owned());
    Ok(info)
}

/// The entries of a directory, by name. Links are shown as links.
pub(crate) fn list(opened: &Opened) -> io::Result<Vec<FileInfo>> {
    // Read through the descriptor: the path may lead elsewhere by now.
    let path = format!("/proc/self/fd/{}", opened.file.as_raw_fd());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)?.take(ENTRIES_MAX) {
        let entry = entry?;
        // An entry that is gone by now is left out.
        if let Ok(metadata) = entry.metadata() {
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(FileInfo::of(name, &metadata));
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn mode(metadata: &Metadata) -> String {
    let kind = metadata.file_type();
    let bits = metadata.permissions().mode();
    let mut text = String::new();
    for (letter, applies) in [
        ('d', kind.is_dir()),
        ('L', kind.is_symlink()),
        ('D', kind.is_block_device() || kind.is_char_device()),
        ('p', kind.is_fifo()),
        ('S', kind.is_socket()),
        ('u', bits & 0o4000 != 0),
        ('g', bits & 0o2000 != 0),
        ('c', kind.is_char_device()),
        ('t', bits & 0o1000 != 0),
    ] {
        if applies {
            text.push(letter);
        }
    }
    if text.is_empty() {
        text.push('-');
    }
    for (shift, letter) in (0..9).rev().zip("rwxrwxrwx".chars()) {
        text.push(if bits >> shift & 1 == 1 { letter } else { '-' });
    }
    text
}

fn content_type(name: &str, start: &[u8]) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some("html" | "htm") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("xml") => "text/xml; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("pdf") => "application/pdf",
        Some("txt") => TEXT,
        _ if start.starts_with(b"\x1f\x8b\x08") => "application/x-gzip",
        _ if start.starts_with(b"PK\x03\x04") => "application/zip",
        _ if start.iter().any(is_binary) => BINARY,
        _ => TEXT,
    }
}

fn is_binary(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_content_are_guessed_by_name_and_by_beginning() {
        assert_eq!(content_type("a.json", b"{}"), "application/json");
        assert_eq!(content_type("log.0", b"plain\n"), TEXT);
        assert_eq!(content_type("log.0", b"\x00\x01"), BINARY);
        assert_eq!(content_type("empty", b""), TEXT);
    }

    #[test]
    fn modes_are_written_as_go_does() {
        let place = tempfile::tempdir().unwrap();
        let set = |path: &std::path::Path, bits| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
            mode(&std::fs::symlink_metadata(path).unwrap())
        };
        assert_eq!(set(place.path(), 0o1777), "dtrwxrwxrwx");
        let file = place.path().join("f");
        std::fs::write(&file, "").unwrap();
        assert_eq!(set(&file, 0o644), "-rw-r--r--");
        assert_eq!(set(&file, 0o4755), "urwxr-xr-x");
    }
}
