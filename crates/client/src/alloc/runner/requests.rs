//! What others ask of a live allocation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drivers::TaskStats;
use model::alloc::Alloc;
use tokio::sync::oneshot;

use super::{Runner, group_of};
use crate::alloc::health;
use crate::alloc::operations::Done;
use crate::clock;
use crate::fault::{Fault, NOT_RUNNING};
use crate::signals;
use crate::task::events;
use crate::task::launch::log_limits;
use crate::task::machine::{Event, Phase};
use crate::task::restart::Policy;

/// How long a driver may take for the figures of a task.
const STATS_LIMIT: Duration = Duration::from_secs(5);

/// Requests kept while tasks are looked for; further ones hear that nothing runs.
const DEFERRED_MAX: usize = 64;

pub(crate) type Answer<T> = oneshot::Sender<Result<T, Fault>>;

/// Figures of one task: now, and the processor time it has used since the last look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskFigures {
    pub(crate) at: i64,
    pub(crate) stats: TaskStats,
    /// Share of one processor, in percent.
    pub(crate) cpu_percent: f64,
    /// The part of it that was spent in the kernel.
    pub(crate) cpu_system_percent: f64,
}

/// One wish.
pub(crate) enum Command {
    /// The servers changed it.
    Update(Arc<Alloc>),
    /// The servers forgot it: it ends and leaves nothing.
    Remove,
    /// The agent leaves for good: it ends.
    End,
    /// The agent leaves for a while: the tasks go on.
    LetGo,
    Restart {
        task: Option<String>,
        all: bool,
        answer: Answer<()>,
    },
    Signal {
        task: Option<String>,
        signal: String,
        answer: Answer<()>,
    },
    Stats {
        task: Option<String>,
        answer: Answer<BTreeMap<String, TaskFigures>>,
    },
}

impl Runner {
    pub(super) fn obey(&mut self, command: Command) {
        let is_about_tasks = matches!(
            command,
            Command::Restart { .. } | Command::Signal { .. } | Command::Stats { .. }
        );
        if is_about_tasks && self.is_looking_for_tasks() && self.deferred.len() < DEFERRED_MAX {
            self.deferred.push(command);
            return;
        }
        match command {
            Command::Update(alloc) => self.update(alloc),
            Command::Remove => self.removed = true,
            Command::End => self.leaving = true,
            Command::LetGo => {}
            Command::Restart { task, all, answer } => {
                // Whoever asked may have left.
                let _ = answer.send(self.restart(task.as_deref(), all));
            }
            Command::Signal { task, signal, answer } => {
                self.signal(task.as_deref(), &signal, answer)
            }
            Command::Stats { task, answer } => self.stats(task.as_deref(), answer),
        }
    }

    fn update(&mut self, alloc: Arc<Alloc>) {
        let new_deployment = alloc.deployment_id != self.alloc.deployment_id;
        let new_spec = alloc.job_version != self.alloc.job_version;
        let old_logs: Vec<_> = self.slots.iter().map(|slot| self.logs_of(&slot.name)).collect();
        self.alloc = alloc;
        if new_deployment {
            self.verdict = None;
            let group = group_of(&self.alloc);
            self.health = health::Watch::of(&self.alloc, group, None, clock::now());
        }
        if !new_spec {
            return;
        }
        self.changed = true;
        let kind = self.alloc.spec.job_type();
        for (task, old) in old_logs.into_iter().enumerate() {
            let (policy, kill_timeout) = match self.task_spec(task) {
                Some(spec) => (Policy::of(kind, group_of(&self.alloc), spec), spec.kill_timeout()),
                None => continue,
            };
            let logs = self.logs_of(&self.slots[task].name);
            let slot = &mut self.slots[task];
            slot.machine.policy = policy;
            slot.machine.kill_timeout = kill_timeout;
            if logs != old
                && let Some(running) = slot.running.clone()
            {
                self.operations.push(Box::pin(async move {
                    if let Err(error) = running.update_logs(logs.0, logs.1).await {
                        tracing::warn!(%error, "the limits of the log files stay as they were");
                    }
                    (Some(task), Done::Nothing)
                }));
            }
        }
    }

    fn logs_of(&self, task: &str) -> (u32, u64) {
        let spec = group_of(&self.alloc).task(task);
        log_limits(spec.and_then(|spec| spec.log_config.as_ref()))
    }

    fn restart(&mut self, task: Option<&str>, all: bool) -> Result<(), Fault> {
        let phase =
            |phase: Phase, all: bool| phase == Phase::Running || (all && phase == Phase::Finished);
        let not_running = || Fault::internal(NOT_RUNNING);
        if self.ending.is_some() || self.wants_to_end() {
            return Err(not_running());
        }
        let wanted: Vec<usize> = match task.filter(|task| !task.is_empty()) {
            Some(name) => {
                let found = self.slots.iter().position(|slot| slot.name == name);
                vec![found.ok_or_else(|| {
                    Fault::internal(format!("Could not find task runner for task: {name}"))
                })?]
            }
            None => (0..self.slots.len()).collect(),
        };
        let wanted: Vec<usize> =
            wanted.into_iter().filter(|task| phase(self.slots[*task].machine.phase, all)).collect();
        if wanted.is_empty() {
            return Err(not_running());
        }
        for task in wanted {
            self.step(task, Event::RestartAsked);
        }
        Ok(())
    }

    fn wants_to_end(&self) -> bool {
        self.removed || self.leaving || self.alloc.is_server_terminal()
    }

    fn signal(&mut self, task: Option<&str>, signal: &str, answer: Answer<()>) {
        let task = task.filter(|task| !task.is_empty());
        let known = task.is_none_or(|name| self.slots.iter().any(|slot| slot.name == name));
        let wanted = self.slots.iter_mut();
        let wanted = wanted.filter(|slot| task.is_none_or(|name| slot.name == name));
        let mut running = Vec::new();
        for slot in wanted.filter(|slot| slot.machine.phase == Phase::Running) {
            slot.machine.note(events::signaling(clock::now(), signal));
            running.extend(slot.running.clone());
        }
        self.changed |= !running.is_empty();
        let refused = if !known {
            Some(Fault::internal("Task not found"))
        } else if running.is_empty() {
            Some(Fault::internal(NOT_RUNNING))
        } else {
            None
        };
        let number = signals::number(signal)
            .ok_or_else(|| Fault::invalid(format!("unknown signal \"{signal}\"")));
        let number = match (refused, number) {
            (Some(fault), _) | (None, Err(fault)) => {
                let _ = answer.send(Err(fault));
                return;
            }
            (None, Ok(number)) => number,
        };
        self.operations.push(Box::pin(async move {
            let mut result = Ok(());
            for task in running {
                if let Err(error) = task.signal(number).await {
                    result = Err(Fault::internal(error.to_string()));
                }
            }
            let _ = answer.send(result);
            (None, Done::Nothing)
        }));
    }

    fn stats(&mut self, task: Option<&str>, answer: Answer<BTreeMap<String, TaskFigures>>) {
        let wanted = self.slots.iter().filter(|slot| task.is_none_or(|name| slot.name == name));
        let asked: Vec<_> = wanted
            .filter_map(|slot| {
                Some((slot.name.clone(), slot.last_cpu.clone(), slot.running.clone()?))
            })
            .collect();
        self.operations.push(Box::pin(async move {
            let mut figures = BTreeMap::new();
            for (name, last, running) in asked {
                let stats = match tokio::time::timeout(STATS_LIMIT, running.stats()).await {
                    Ok(Ok(stats)) => stats,
                    // It ended just now.
                    Ok(Err(_)) | Err(_) => continue,
                };
                let at = clock::now();
                let before = last.lock().replace((at, stats));
                let percent = |nanos: fn(&TaskStats) -> u64| {
                    before.map_or(0.0, |(then, before)| {
                        let used = nanos(&stats).saturating_sub(nanos(&before)) as f64;
                        100.0 * used / ((at - then).max(1) as f64)
                    })
                };
                let cpu_percent = percent(|stats| stats.cpu_nanos_total);
                let cpu_system_percent = percent(|stats| stats.cpu_system_nanos_total);
                figures.insert(name, TaskFigures { at, stats, cpu_percent, cpu_system_percent });
            }
            let _ = answer.send(Ok(figures));
            (None, Done::Nothing)
        }));
    }
}
