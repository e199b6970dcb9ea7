//! What operators ask of allocations and of the node, as the HTTP API offers it.

use model::ids::AllocId;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use super::Client;
use crate::alloc::operations::blocking;
use crate::alloc::runner::{Answer, Command};
use crate::fault::{Fault, NOT_RUNNING};
use crate::garbage;
use crate::roster::Entry;
use crate::stats;

/// The node's part of the agent's statistics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientStats {
    pub node_id: String,
    pub known_servers: Vec<String>,
    /// Since the last heartbeat that was taken; none before the first.
    pub last_heartbeat: Option<std::time::Duration>,
    pub heartbeat_ttl: std::time::Duration,
    pub num_allocations: usize,
}

impl Client {
    /// Restarts running tasks: one by its name, or all; with `all` those that have ended, too.
    ///
    /// # Errors
    /// The allocation or the task is not here, or nothing runs.
    pub async fn restart(
        &self,
        alloc: &AllocId,
        task: Option<&str>,
        all: bool,
    ) -> Result<(), Fault> {
        let named = task.map(str::to_owned);
        let asked = self.ask(alloc, |answer| Command::Restart { task: named, all, answer }).await;
        // One task's failure is told as it is, those of all tasks as a list.
        asked.map_err(|fault| match task.filter(|task| !task.is_empty()) {
            None if fault.message == NOT_RUNNING => Fault::list(&[NOT_RUNNING.to_owned()]),
            _ => fault,
        })
    }

    /// Sends a signal to a running task, or to all.
    ///
    /// # Errors
    /// The allocation or the task is not here, nothing runs, or the signal is unknown.
    pub async fn signal(
        &self,
        alloc: &AllocId,
        task: Option<&str>,
        signal: &str,
    ) -> Result<(), Fault> {
        let (named, signal) = (task.map(str::to_owned), signal.to_owned());
        let asked = self.ask(alloc, |answer| Command::Signal { task: named, signal, answer }).await;
        asked.map_err(|fault| match task.filter(|task| !task.is_empty()) {
            None if fault.message == NOT_RUNNING => {
                let names = self.inner.roster.task_names(alloc);
                let of = |name| format!("Failed to signal task: {name}, err: {NOT_RUNNING}");
                Fault::list(&names.iter().map(of).collect::<Vec<_>>())
            }
            _ => fault,
        })
    }

    /// Figures of the running tasks of an allocation, or of one of them.
    ///
    /// # Errors
    /// The allocation is not here.
    pub async fn alloc_stats(
        &self,
        alloc: &AllocId,
        task: Option<&str>,
    ) -> Result<serde_json::Value, Fault> {
        let task = task.filter(|task| !task.is_empty()).map(str::to_owned);
        let is_live = |entry: &mut Entry| matches!(entry, Entry::Live(_));
        if self.has_alloc(alloc) && self.inner.roster.with(alloc, is_live) != Some(true) {
            return Ok(stats::alloc(&Default::default(), self.core_mhz()));
        }
        let figures = self.ask(alloc, |answer| Command::Stats { task, answer }).await?;
        Ok(stats::alloc(&figures, self.core_mhz()))
    }

    fn core_mhz(&self) -> f64 {
        let frequency = self.inner.shared.facts.get("attr.cpu.frequency");
        frequency.and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    /// Figures of this machine, since the last time they were asked for.
    pub async fn host_stats(&self) -> serde_json::Value {
        let alloc_dir = self.inner.shared.config.alloc_dir.clone();
        let inner = self.inner.clone();
        blocking(move || inner.host.lock().sample(&alloc_dir)).await
    }

    /// Gives up the directory of an ended allocation.
    ///
    /// # Errors
    /// The allocation is not here, or has not ended.
    pub fn gc_alloc(&self, alloc: &AllocId) -> Result<(), Fault> {
        if self.inner.roster.with(alloc, |_| ()).is_none() {
            return Err(Fault::unknown_alloc(alloc));
        }
        garbage::collect(&self.inner.roster, alloc)
    }

    /// Gives up the directories of all ended allocations.
    pub fn gc_all(&self) {
        garbage::collect_all(&self.inner.roster);
    }

    pub fn stats(&self) -> ClientStats {
        let contact = *self.inner.session.contact.borrow();
        ClientStats {
            node_id: self.node_id().to_string(),
            known_servers: self.known_servers(),
            last_heartbeat: contact.last_heartbeat.map(|at| at.elapsed()),
            heartbeat_ttl: contact.heartbeat_ttl,
            num_allocations: self.inner.roster.count(),
        }
    }

    /// Asks the runner of a live allocation.
    async fn ask<T>(
        &self,
        alloc: &AllocId,
        command: impl FnOnce(Answer<T>) -> Command,
    ) -> Result<T, Fault> {
        let commands: Option<Option<mpsc::Sender<Command>>> =
            self.inner.roster.with(alloc, |entry| match entry {
                Entry::Live(live) => Some(live.commands.clone()),
                Entry::Past(_) => None,
            });
        let commands = commands.ok_or_else(|| Fault::unknown_alloc(alloc))?;
        let ended = || Fault::internal(NOT_RUNNING);
        let commands = commands.ok_or_else(ended)?;
        let (answer, answered) = oneshot::channel();
        commands.send(command(answer)).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}
