//! File access and logs of allocations, as the HTTP API offers them.

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::unfold;
use model::ids::AllocId;
use tokio::sync::watch;

use super::Client;
use crate::alloc::directory::AllocDir;
use crate::alloc::operations::blocking;
use crate::alloc::record::View;
use crate::fault::{Fault, FaultKind};
use crate::files::{
    self, AllocRoot, ByteStream, CHUNK_BYTES_MAX, FileInfo, Follow, FrameStream, LogKind, Logs,
};
use crate::roster::Entry;

impl Client {
    /// The entries of a directory.
    ///
    /// # Errors
    /// The allocation is not here, or the path is not a directory beneath it.
    pub async fn fs_list(&self, alloc: &AllocId, path: &str) -> Result<Vec<FileInfo>, Fault> {
        let path = path.to_owned();
        self.in_alloc(alloc, move |root| {
            let opened = root.read(&path, "open")?;
            files::list(&opened).map_err(|error| files::failed("readdirent", &opened.shown, &error))
        })
        .await
    }

    /// One file or directory.
    ///
    /// # Errors
    /// The allocation is not here, or there is nothing of this name beneath it.
    pub async fn fs_stat(&self, alloc: &AllocId, path: &str) -> Result<FileInfo, Fault> {
        must_be_named(path)?;
        let path = path.to_owned();
        self.in_alloc(alloc, move |root| {
            let opened = root.look(&path, "stat")?;
            let content = root.read_content(&path, "stat").ok();
            files::stat(&opened, content.as_ref())
                .map_err(|error| files::failed("stat", &opened.shown, &error))
        })
        .await
    }

    /// The content of a file, from `offset` on and no more than `limit`.
    ///
    /// # Errors
    /// The allocation is not here, or there is no such file beneath it.
    pub async fn fs_read(
        &self,
        alloc: &AllocId,
        path: &str,
        offset: i64,
        limit: Option<i64>,
    ) -> Result<ByteStream, Fault> {
        must_be_named(path)?;
        let offset = not_negative(offset, "offset")?;
        let limit = limit.map(|limit| not_negative(limit, "limit")).transpose()?;
        let path = path.to_owned();
        let opened = self.in_alloc(alloc, move |root| root.read_content(&path, "stat")).await?;
        let state = (Arc::new(opened.file), offset, limit.unwrap_or(u64::MAX));
        Ok(Box::pin(unfold(state, |(file, offset, left)| async move {
            if left == 0 {
                return None;
            }
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES_MAX);
            match files::read_at(&file, offset, most).await {
                Ok(data) if data.is_empty() => None,
                Ok(data) => {
                    let length = data.len() as u64;
                    Some((Ok(Bytes::from(data)), (file, offset + length, left - length)))
                }
                Err(error) => Some((Err(error), (file, offset, 0))),
            }
        })))
    }

    /// The content of a file in frames, and with `follow` what is added to it.
    ///
    /// # Errors
    /// The allocation is not here, or there is no such file beneath it.
    pub async fn fs_follow(
        &self,
        alloc: &AllocId,
        path: &str,
        offset: i64,
        from_end: bool,
        follow: bool,
    ) -> Result<FrameStream, Fault> {
        must_be_named(path)?;
        let offset = not_negative(offset, "offset")?;
        let name = path.to_owned();
        let wanted = path.to_owned();
        let (opened, directory) = self
            .in_alloc(alloc, move |root| {
                let parent = wanted.trim_end_matches('/').rsplit_once('/').map_or("", |(p, _)| p);
                let opened = root
                    .read_content(&wanted, "stat")
                    .map_err(|fault| Fault { kind: FaultKind::Invalid, message: fault.message })?;
                Ok((opened, root.read(parent, "open")?))
            })
            .await?;
        let (file, directory) = (opened.file, directory.file);
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        let offset = if from_end { size.saturating_sub(offset) } else { offset };
        Ok(files::follow(Follow { file, directory, name, offset, follow }))
    }

    /// The output of a task over all its files, and with `follow` until the task is dead.
    ///
    /// # Errors
    /// The allocation is not here, or has no such task.
    pub async fn logs(
        &self,
        alloc: &AllocId,
        task: &str,
        kind: LogKind,
        offset: i64,
        from_end: bool,
        follow: bool,
    ) -> Result<FrameStream, Fault> {
        if task.is_empty() {
            return Err(Fault::invalid("must provide task name"));
        }
        let offset = not_negative(offset, "offset")?;
        let view = self.view_of(alloc)?;
        let is_known = view.borrow().tasks.contains_key(task) || self.has_task(alloc, task);
        if !is_known {
            return Err(Fault::invalid(format!("unknown task name \"{task}\"")));
        }
        let directory = self.logs_directory(alloc, task, follow).await?;
        let name = format!("{task}.{}", kind.as_str());
        let task = task.to_owned();
        let view = Some(view);
        Ok(files::read_logs(Logs { directory, task, name, offset, from_end, follow, view }))
    }

    async fn logs_directory(
        &self,
        alloc: &AllocId,
        task: &str,
        follow: bool,
    ) -> Result<File, Fault> {
        let opened = self.in_alloc(alloc, |root| root.read("alloc/logs", "open")).await;
        match opened {
            Ok(opened) => Ok(opened.file),
            // The directory is made by the first task that starts.
            Err(fault) if fault.kind == FaultKind::Internal && follow => {
                let directory = AllocDir::of(&self.inner.shared.config.alloc_dir, alloc);
                let task = task.to_owned();
                let made = blocking(move || {
                    directory.build(&task)?;
                    let root = AllocRoot::open(&directory.root)?;
                    let opened = root.read("alloc/logs", "open").map_err(std::io::Error::other)?;
                    Ok::<File, std::io::Error>(opened.file)
                });
                made.await.map_err(|error| Fault::internal(error.to_string()))
            }
            Err(_) => Err(Fault {
                kind: FaultKind::NotFound,
                message: format!("task \"{task}\" not started yet. No logs available"),
            }),
        }
    }

    fn has_task(&self, alloc: &AllocId, task: &str) -> bool {
        let has = |entry: &mut Entry| match entry {
            Entry::Live(live) => {
                let group = live.alloc.spec.group(&live.alloc.group);
                group.is_some_and(|group| group.task(task).is_some())
            }
            Entry::Past(_) => false,
        };
        self.inner.roster.with(alloc, has).unwrap_or(false)
    }

    /// Follows what is known of an allocation; an ended one does not change any more.
    fn view_of(&self, alloc: &AllocId) -> Result<watch::Receiver<Arc<View>>, Fault> {
        let view = self.inner.roster.with(alloc, |entry| match entry {
            Entry::Live(live) => Some(live.view.clone()),
            Entry::Past(past) if past.collected => None,
            Entry::Past(past) => Some(watch::Sender::new(past.view.clone()).subscribe()),
        });
        view.flatten().ok_or_else(|| Fault::unknown_alloc(alloc))
    }

    /// Works in the allocation's directory, away from the asynchronous threads.
    async fn in_alloc<T: Send + 'static>(
        &self,
        alloc: &AllocId,
        work: impl FnOnce(&AllocRoot) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        if !self.has_alloc(alloc) {
            return Err(Fault::unknown_alloc(alloc));
        }
        let path = AllocDir::of(&self.inner.shared.config.alloc_dir, alloc).root;
        blocking(move || {
            let root = AllocRoot::open(&path);
            work(&root.map_err(|error| files::failed("open", &path, &error))?)
        })
        .await
    }
}

fn must_be_named(path: &str) -> Result<(), Fault> {
    if path.is_empty() { Err(Fault::invalid("must provide a file name")) } else { Ok(()) }
}

fn not_negative(number: i64, name: &str) -> Result<u64, Fault> {
    u64::try_from(number).map_err(|_| Fault::invalid(format!("{name} must not be negative")))
}
