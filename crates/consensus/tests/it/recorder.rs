//! A state machine that remembers everything it applied, and a way to kill a server.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use consensus::{Config, Entry, SnapshotSource, StateMachine};

/// All applied data in order, shared with the test.
pub(crate) type Applied = Arc<Mutex<Vec<Bytes>>>;

pub(crate) struct Recorder(Applied);

pub(crate) fn recorder() -> (Recorder, Applied) {
    let applied = Applied::default();
    (Recorder(applied.clone()), applied)
}

impl Recorder {
    pub(crate) fn onto(applied: Applied) -> Recorder {
        Recorder(applied)
    }
}

impl StateMachine for Recorder {
    /// Answers each entry with how many were applied before it.
    fn apply(&mut self, entries: &[Entry]) -> Vec<Bytes> {
        let mut applied = self.0.lock().unwrap();
        entries
            .iter()
            .map(|entry| {
                applied.push(entry.data.clone());
                Bytes::from((applied.len() - 1).to_string())
            })
            .collect()
    }

    fn snapshot(&self) -> Box<dyn SnapshotSource + Send> {
        Box::new(Captured(self.0.lock().unwrap().clone()))
    }

    fn restore(&mut self, reader: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let (mut rest, mut applied) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let (len, tail) = rest.split_at(4);
            let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
            applied.push(Bytes::copy_from_slice(&tail[..len]));
            rest = &tail[len..];
        }
        *self.0.lock().unwrap() = applied;
        Ok(())
    }
}

struct Captured(Vec<Bytes>);

impl SnapshotSource for Captured {
    fn write_to(self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        for data in self.0 {
            out.write_all(&(data.len() as u32).to_le_bytes())?;
            out.write_all(&data)?;
        }
        Ok(())
    }
}

pub(crate) fn config(dir: &Path) -> Config {
    Config { segment_bytes: 64 * 1024, ..Config::new(1, Some(dir.into())) }
}

/// Copies the files as they stand: what a kill at this moment leaves behind.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
