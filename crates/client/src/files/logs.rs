//! A task's output, over its rotated files in their order, and on to those that come.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use futures_util::stream::unfold;
use model::alloc::TaskPhase;
use model::wire::Base64;
use rustix::fs::{Mode, OFlags, openat};
use tokio::sync::watch;

use super::follow::read_at;
use super::watcher::Watcher;
use super::{CHUNK_BYTES_MAX, Frame, FrameStream};
use crate::alloc::operations::blocking;
use crate::alloc::record::View;

/// What to read.
pub(crate) struct Logs {
    /// The folder of the log files.
    pub(crate) directory: File,
    pub(crate) task: String,
    /// `<task>.stdout` or `<task>.stderr`.
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) from_end: bool,
    pub(crate) follow: bool,
    /// Tells when the task is dead; none if it is.
    pub(crate) view: Option<watch::Receiver<Arc<View>>>,
}

/// Reads to the end of what there is, or to the end of the task.
pub(crate) fn read_logs(what: Logs) -> FrameStream {
    let reading = Reading {
        watcher: what.follow.then(|| Watcher::of(&what.directory)),
        what,
        current: None,
        begun: false,
        over: false,
    };
    Box::pin(unfold(reading, |mut reading| async move {
        match reading.next().await {
            Ok(Some(frame)) => Some((Ok(frame), reading)),
            Ok(None) => None,
            Err(_) if reading.over => None,
            Err(error) => {
                reading.over = true;
                Some((Err(error), reading))
            }
        }
    }))
}

struct Reading {
    what: Logs,
    watcher: Option<Watcher>,
    current: Option<Current>,
    begun: bool,
    over: bool,
}

struct Current {
    number: u64,
    file: Arc<File>,
    offset: u64,
}

impl Reading {
    async fn next(&mut self) -> io::Result<Option<Frame>> {
        if self.over {
            return Ok(None);
        }
        loop {
            // Looked at before the files are: what a dead task wrote is all there.
            let is_dead = self.is_dead();
            if !self.begun {
                self.begin().await?;
            }
            if let Some(frame) = self.read().await? {
                return Ok(Some(frame));
            }
            if self.turn_over().await? {
                continue;
            }
            if !self.what.follow || is_dead {
                return Ok(None);
            }
            self.wait().await;
        }
    }

    /// Finds the file and the place to begin with.
    async fn begin(&mut self) -> io::Result<()> {
        let files = self.files().await?;
        if files.is_empty() {
            return Ok(());
        }
        self.begun = true;
        let mut sizes = Vec::new();
        for number in files {
            if let Some(file) = self.open(number) {
                let size = file.metadata()?.len();
                sizes.push((number, size));
            }
        }
        let total: u64 = sizes.iter().map(|(_, size)| size).sum();
        let mut skip = match self.what.from_end {
            true => total.saturating_sub(self.what.offset),
            false => self.what.offset.min(total),
        };
        for (position, (number, size)) in sizes.iter().enumerate() {
            if skip < *size || position + 1 == sizes.len() {
                // One that is gone by now is passed over by the search for the next.
                let opened = self.open(*number);
                self.current = opened.map(|file| Current {
                    number: *number,
                    file: Arc::new(file),
                    offset: skip,
                });
                return Ok(());
            }
            skip -= size;
        }
        Ok(())
    }

    async fn read(&mut self) -> io::Result<Option<Frame>> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let data = read_at(&current.file, current.offset, CHUNK_BYTES_MAX).await?;
        if data.is_empty() {
            return Ok(None);
        }
        current.offset += data.len() as u64;
        Ok(Some(Frame {
            data: Base64(data),
            file: format!("alloc/logs/{}.{}", self.what.name, current.number),
            offset: i64::try_from(current.offset).unwrap_or(i64::MAX),
            file_event: String::new(),
        }))
    }

    /// Goes to the next file if there is one and the current one is read. It is full then, but it
    /// may have been filled after the last read of it.
    async fn turn_over(&mut self) -> io::Result<bool> {
        let Some(current) = &self.current else {
            return Ok(false);
        };
        let (number, offset) = (current.number, current.offset);
        let next = self.files().await?.into_iter().find(|other| *other > number);
        let Some(next) = next else { return Ok(false) };
        if current.file.metadata()?.len() > offset {
            return Ok(true);
        }
        let Some(file) = self.open(next) else { return Ok(false) };
        self.current = Some(Current { number: next, file: Arc::new(file), offset: 0 });
        Ok(true)
    }

    fn is_dead(&self) -> bool {
        let Some(view) = &self.what.view else { return true };
        is_dead(&view.borrow(), &self.what.task)
    }

    async fn wait(&mut self) {
        let Some(watcher) = &self.watcher else { return };
        let Some(view) = &mut self.what.view else { return };
        let task = &self.what.task;
        tokio::select! {
            () = watcher.changed() => {}
            // A sender that is gone belongs to an agent that leaves.
            _ = view.wait_for(|view| is_dead(view, task)) => {}
        }
    }

    /// Numbers of the files that are there, in order.
    async fn files(&self) -> io::Result<Vec<u64>> {
        let path = format!("/proc/self/fd/{}", self.what.directory.as_raw_fd());
        let name = self.what.name.clone();
        blocking(move || {
            let mut numbers = Vec::new();
            for entry in std::fs::read_dir(path)? {
                let file_name = entry?.file_name();
                let number = file_name.to_str().and_then(|text| {
                    let digits = text.strip_prefix(&name)?.strip_prefix('.')?;
                    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
                });
                numbers.extend(number.and_then(|digits| digits.parse::<u64>().ok()));
            }
            numbers.sort_unstable();
            Ok(numbers)
        })
        .await
    }

    /// The task may have put anything in the place of a log file; only files are read.
    fn open(&self, number: u64) -> Option<File> {
        let name = format!("{}.{number}", self.what.name);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&self.what.directory, name, flags, Mode::empty()).ok()?);
        file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
    }
}

fn is_dead(view: &View, task: &str) -> bool {
    view.tasks.get(task).is_none_or(|state| state.state == TaskPhase::Dead)
        && (view.status.is_terminal() || !view.tasks.is_empty())
}
