//! Logs: level, form and place, changeable while the agent runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// A handle to change what is logged and to open the file anew.
pub(crate) struct Logging {
    level: Box<dyn Fn(LevelFilter) -> Result<(), String> + Send + Sync>,
    output: Output,
}

/// The level of this name.
///
/// # Errors
/// The name is none.
pub(crate) fn level(name: &str) -> Result<LevelFilter, String> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "TRACE" => LevelFilter::TRACE,
        "DEBUG" => LevelFilter::DEBUG,
        "INFO" => LevelFilter::INFO,
        "WARN" | "WARNING" => LevelFilter::WARN,
        "ERROR" | "ERR" => LevelFilter::ERROR,
        "OFF" => LevelFilter::OFF,
        other => {
            return Err(format!(
                "unknown log level {other:?}: use TRACE, DEBUG, INFO, WARN, ERROR or OFF"
            ));
        }
    })
}

/// What passes at a level. The consensus engine narrates each of its steps; only its warnings are
/// of use to operators, unless they ask for everything.
fn targets(level: LevelFilter) -> Targets {
    let engine = if level == LevelFilter::TRACE { level } else { level.min(LevelFilter::WARN) };
    Targets::new().with_default(level).with_target("openraft", engine)
}

/// Starts logging.
///
/// # Errors
/// The log file cannot be opened.
pub(crate) fn start(
    level: LevelFilter,
    json: bool,
    file: Option<&Path>,
    rotation: Rotation,
) -> io::Result<Logging> {
    let output = Output::open(file, rotation)?;
    let (filter, handle) = reload::Layer::new(targets(level));
    let registry = tracing_subscriber::registry().with(filter);
    let format = tracing_subscriber::fmt::layer().with_writer(output.clone()).with_ansi(false);
    if json {
        registry.with(format.json().flatten_event(true)).init();
    } else {
        registry.with(format).init();
    }
    Ok(Logging {
        level: Box::new(move |level| {
            handle.modify(|current| *current = targets(level)).map_err(|e| e.to_string())
        }),
        output,
    })
}

impl Logging {
    /// Changes the level from now on.
    pub(crate) fn set_level(&self, level: LevelFilter) -> Result<(), String> {
        (self.level)(level)
    }

    /// Opens the log file anew, after somebody moved it away.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        self.output.reopen()
    }
}

/// When a log file gives way to a new one. Without a limit it grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rotation {
    pub bytes: Option<u64>,
    pub age: Option<Duration>,
    /// How many older files are kept beside the current one.
    pub max_files: Option<u64>,
}

/// Where lines go: a file, or the standard error.
#[derive(Clone)]
struct Output {
    file: Option<Arc<Mutex<LogFile>>>,
}

struct LogFile {
    path: PathBuf,
    file: File,
    written: u64,
    opened: SystemTime,
    rotation: Rotation,
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let written = file.metadata()?.len();
    Ok((file, written))
}

impl LogFile {
    fn new(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let (file, written) = open(path)?;
        Ok(Self { path: path.to_path_buf(), file, written, opened: SystemTime::now(), rotation })
    }

    fn reopen(&mut self) -> io::Result<()> {
        (self.file, self.written) = open(&self.path)?;
        self.opened = SystemTime::now();
        Ok(())
    }

    fn is_due(&self) -> bool {
        let too_large = self.rotation.bytes.is_some_and(|limit| self.written >= limit);
        let too_old =
            self.rotation.age.is_some_and(|age| self.opened.elapsed().is_ok_and(|e| e >= age));
        self.written > 0 && (too_large || too_old)
    }

    /// Moves the file aside under a name with the time, and removes the oldest beyond the limit.
    fn rotate(&mut self) -> io::Result<()> {
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = |stem: &str| match self.path.extension().and_then(|e| e.to_str()) {
            Some(extension) => format!("{stem}-{stamp}.{extension}"),
            None => format!("{stem}-{stamp}"),
        };
        let stem = self.path.file_stem().and_then(|s| s.to_str()).unwrap_or("muster").to_owned();
        std::fs::rename(&self.path, self.path.with_file_name(name(&stem)))?;
        self.reopen()?;
        let (Some(limit), Some(dir)) = (self.rotation.max_files, self.path.parent()) else {
            return Ok(());
        };
        let prefix = format!("{stem}-");
        let mut older: Vec<PathBuf> = std::fs::read_dir(dir)?
            .filter_map(|entry| entry.ok().map(|e| e.path()))
            .filter(|p| {
                p.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&prefix))
            })
            .collect();
        older.sort();
        let excess = older.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        older.iter().take(excess).try_for_each(std::fs::remove_file)
    }
}

impl Output {
    fn open(path: Option<&Path>, rotation: Rotation) -> io::Result<Self> {
        let file =
            path.map(|p| LogFile::new(p, rotation).map(|f| Arc::new(Mutex::new(f)))).transpose()?;
        Ok(Self { file })
    }

    fn reopen(&self) -> io::Result<()> {
        match &self.file {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).reopen(),
            None => Ok(()),
        }
    }
}

impl<'a> MakeWriter<'a> for Output {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &self.file else { return io::stderr().write(bytes) };
        let mut log = file.lock().unwrap_or_else(PoisonError::into_inner);
        if log.is_due() {
            // A file that cannot be moved aside goes on growing; losing lines would be worse.
            let _ = log.rotate();
        }
        let count = log.file.write(bytes)?;
        log.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &self.file {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).file.flush(),
            None => io::stderr().flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_file_gives_way_and_only_so_many_older_ones_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agent.log");
        let rotation = Rotation { bytes: Some(10), max_files: Some(2), ..Rotation::default() };
        let mut output = Output::open(Some(&path), rotation).expect("opens");
        for n in 0..6 {
            // As the subscriber does: each line in one piece.
            output.write_all(format!("line number {n}\n").as_bytes()).expect("written");
        }
        let count = std::fs::read_dir(dir.path()).expect("reads").count();
        assert_eq!(count, 3);
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "line number 5\n");
    }
}
