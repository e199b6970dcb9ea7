//! The exit record: what is left of a task when nobody was listening as it ended.
//!
//! Written in one call while the supervisor still holds its socket, and read only once the
//! supervisor is gone, so nobody sees half of it; a supervisor killed in the middle leaves a record
//! that does not decode, which counts as none.
//! Not synced to disk: it must survive the end of agent and supervisor, not a loss of power, after
//! which the boot id differs and the task is known to be gone anyway. Syncing would cost a batch
//! node its throughput, as would writing beside and renaming.

use std::fs;
use std::io;
use std::path::Path;

use crate::EXIT_FILE;
use crate::wire::{Malformed, Reader, Writer};

/// First byte of the file; another layout gets another number.
const FORMAT: u8 = 1;

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExitRecord {
    /// The program's own exit code; 0 when a signal ended it.
    pub exit_code: i32,
    /// The signal that ended it, 0 for none.
    pub signal: i32,
    pub oom_killed: bool,
    pub finished_at_unix_nanos: u64,
    /// Bytes of output that could not be written to the log files.
    pub dropped_log_bytes: u64,
}

impl ExitRecord {
    /// Puts the record in place; `directory` is the task's state directory.
    pub fn store(&self, directory: &Path) -> io::Result<()> {
        let mut writer = Writer::default();
        writer.u8(FORMAT);
        self.encode(&mut writer);
        fs::write(directory.join(EXIT_FILE), &writer.bytes)
    }

    /// `None` when the task has left no record.
    pub fn load(directory: &Path) -> io::Result<Option<Self>> {
        let bytes = match fs::read(directory.join(EXIT_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut reader = Reader::new(&bytes);
        let decoded = match reader.u8() {
            Ok(FORMAT) => Self::decode(&mut reader),
            _ => Err(Malformed),
        };
        decoded.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.i32(self.exit_code);
        writer.i32(self.signal);
        writer.u8(u8::from(self.oom_killed));
        writer.u64(self.finished_at_unix_nanos);
        writer.u64(self.dropped_log_bytes);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            exit_code: reader.i32()?,
            signal: reader.i32()?,
            oom_killed: reader.u8()? != 0,
            finished_at_unix_nanos: reader.u64()?,
            dropped_log_bytes: reader.u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_written_and_a_torn_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(ExitRecord::load(directory.path()).unwrap(), None);
        let record = ExitRecord { exit_code: 3, finished_at_unix_nanos: 9, ..Default::default() };
        record.store(directory.path()).unwrap();
        assert_eq!(ExitRecord::load(directory.path()).unwrap(), Some(record));
        fs::write(directory.path().join(EXIT_FILE), [FORMAT, 3]).unwrap();
        assert!(ExitRecord::load(directory.path()).is_err());
    }
}
