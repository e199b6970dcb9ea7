//! The loop that owns one allocation: it takes what happened, lets the machines decide, does what
//! they say, and tells what changed. Hop 14 of `job run`.
//!
//! One asynchronous task for each live allocation; its tasks' operations are futures polled by it.
//! When it ends, everything the allocation held has been given back, or was let go on purpose.

mod advance;
mod requests;
mod tell;

use std::sync::Arc;

pub(crate) use requests::{Answer, Command, TaskFigures};

use drivers::{RunningTask, TaskHandle, TaskStats};
use futures_util::StreamExt;
use futures_util::future::AbortHandle;
use futures_util::stream::FuturesUnordered;
use model::alloc::Alloc;
use model::job::{Task, TaskGroup};
use tokio::sync::{RwLock, mpsc, watch};

use crate::alloc::health;
use crate::alloc::operations::{self as op, Done, Held, KillPlan, Operation, Target};
use crate::alloc::ordering::TaskView;
use crate::alloc::record::{Final, Progress, TaskRecord, View};
use crate::clock::{self, moment};
use crate::shared::Shared;
use crate::signals;
use crate::task::events;
use crate::task::machine::{Action, Event, Machine};
use crate::task::restart::Policy;

/// One task with what it holds.
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) running: Option<Arc<dyn RunningTask>>,
    handle: Option<TaskHandle>,
    plan: Option<Box<drivers::LaunchPlan>>,
    abort: Option<AbortHandle>,
    starts: u64,
    /// Time and figures of the last look.
    last_cpu: Arc<parking_lot::Mutex<Option<(i64, TaskStats)>>>,
}

/// Why the allocation ends, and how far that has come.
struct Ending {
    cause: Option<model::alloc::TaskEvent>,
    step: usize,
    told: bool,
}

/// How a runner's life ended.
pub(crate) enum Ended {
    /// All tasks have ended and all is given back.
    Final(Final),
    /// The same, and the servers do not want to hear of it any more.
    Removed,
    /// The agent leaves; the tasks go on.
    LetGo,
}

/// The previous allocation of the slot on this node.
pub(crate) struct Previous {
    pub(crate) view: watch::Receiver<Arc<View>>,
    /// Where its data is, if it is to be taken along.
    pub(crate) sticky_from: Option<crate::alloc::directory::AllocDir>,
}

/// What a runner starts with.
pub(crate) struct Start {
    pub(crate) shared: Arc<Shared>,
    pub(crate) alloc: Arc<Alloc>,
    pub(crate) progress: Option<Progress>,
    pub(crate) previous: Option<Previous>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) view: watch::Sender<Arc<View>>,
}

pub(crate) struct Runner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) alloc: Arc<Alloc>,
    pub(crate) slots: Vec<Slot>,
    commands: mpsc::Receiver<Command>,
    view: watch::Sender<Arc<View>>,
    pub(crate) operations: FuturesUnordered<Operation>,
    health: Option<health::Watch>,
    verdict: Option<health::Verdict>,
    ending: Option<Ending>,
    /// The previous allocation has ended, and tasks may start.
    begun: bool,
    shutdown_delay: Delay,
    removed: bool,
    /// Held for reading while directories of a task are made.
    preparing: Arc<RwLock<()>>,
    /// Requests that came while tasks of an earlier agent were still looked for.
    deferred: Vec<Command>,
    /// The agent leaves and takes its tasks with it.
    leaving: bool,
    pub(crate) changed: bool,
}

/// The group's delay between the wish to end and the first signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delay {
    NotBegun,
    Runs,
    Over,
}

/// The group of an allocation; a runner is only made for one that has it.
pub(crate) fn group_of(alloc: &Alloc) -> &TaskGroup {
    alloc.spec.group(&alloc.group).expect("a runner is made for a group that exists")
}

impl Runner {
    pub(crate) fn new(start: Start) -> Self {
        let Start { shared, alloc, progress, previous, commands, view } = start;
        let group = group_of(&alloc);
        let kind = alloc.spec.job_type();
        let slot = |task: &Task| {
            let mut machine = Machine::new(Policy::of(kind, group, task), task.kill_timeout());
            let record = progress.as_ref().and_then(|progress| progress.tasks.get(&task.name));
            let mut slot_handle = None;
            let mut starts = 0;
            if let Some(TaskRecord { phase, state, tracker, handle, starts: count }) = record {
                machine.phase = *phase;
                machine.state = state.clone();
                machine.tracker = *tracker;
                slot_handle = handle.clone();
                starts = *count;
            } else {
                machine.note(events::received(clock::now()));
            }
            Slot {
                name: task.name.clone(),
                machine,
                running: None,
                handle: slot_handle,
                plan: None,
                abort: None,
                starts,
                last_cpu: Arc::default(),
            }
        };
        let slots = group.tasks.iter().map(slot).collect();
        let verdict = progress.as_ref().and_then(|progress| progress.health);
        let health = health::Watch::of(&alloc, group, verdict, clock::now());
        let begun = progress.as_ref().is_some_and(|progress| progress.begun);
        let mut runner = Self {
            shared,
            slots,
            commands,
            view,
            operations: FuturesUnordered::new(),
            health,
            verdict,
            ending: None,
            begun: begun || previous.is_none(),
            shutdown_delay: Delay::NotBegun,
            removed: false,
            preparing: Arc::default(),
            deferred: Vec::new(),
            leaving: false,
            changed: true,
            alloc,
        };
        if let Some(previous) = previous.filter(|_| !runner.begun) {
            runner.wait_for_previous(previous);
        }
        if progress.is_some() {
            runner.resume();
        }
        runner
    }

    /// Runs to the end of the allocation, or of the agent.
    pub(crate) async fn run(mut self) -> Ended {
        loop {
            self.advance();
            self.observe_health();
            if self.slots.iter().all(|slot| slot.machine.is_finished()) {
                return self.conclude().await;
            }
            self.tell();
            let look_again = self.health.as_ref().and_then(health::Watch::look_again);
            tokio::select! {
                Some((task, done)) = self.operations.next(), if !self.operations.is_empty() => {
                    self.happened(task, done);
                    if !self.deferred.is_empty() && !self.is_looking_for_tasks() {
                        std::mem::take(&mut self.deferred).into_iter().for_each(|c| self.obey(c));
                    }
                }
                command = self.commands.recv() => match command {
                    None | Some(Command::LetGo) => return Ended::LetGo,
                    Some(command) => self.obey(command),
                },
                () = sleep_until(look_again) => {}
            }
        }
    }

    async fn conclude(self) -> Ended {
        let directory = self.shared.alloc_dir(&self.alloc);
        // A preparation that was given up may still be at it.
        let _prepared = self.preparing.write().await;
        // Secrets go with the tasks, not when the directory is collected some day.
        if let Err(error) = op::blocking(move || directory.remove_secrets()).await {
            tracing::warn!(alloc_id = %self.alloc.id, %error, "secrets were not taken away");
        }
        if self.removed {
            return Ended::Removed;
        }
        let view = self.current_view();
        let report = view.update(self.alloc.id, self.shared.node_id);
        let record = Final { view: view.clone(), finished_at: clock::now() };
        self.shared.store.put_final(self.alloc.id, &record, report);
        self.view.send_replace(Arc::new(view));
        Ended::Final(record)
    }

    fn wait_for_previous(&mut self, previous: Previous) {
        let Previous { mut view, sticky_from } = previous;
        let shared = self.shared.clone();
        let alloc = self.alloc.clone();
        self.operations.push(Box::pin(async move {
            // A sender that is gone belongs to an allocation that was forgotten.
            let _ = view.wait_for(|view| view.status.is_terminal()).await;
            if let Some(from) = sticky_from {
                let to = shared.alloc_dir(&alloc);
                let moved = op::blocking(move || {
                    crate::alloc::sticky::move_data(&from, &to, group_of(&alloc))
                });
                if let Err(error) = moved.await {
                    tracing::error!(%error, "the data of the previous allocation stays behind");
                }
            }
            (None, Done::PreviousGone)
        }));
    }

    /// Goes on where an earlier agent stopped.
    fn resume(&mut self) {
        for task in 0..self.slots.len() {
            let actions = self.slots[task].machine.resume();
            self.act(task, actions);
            let machine = &self.slots[task].machine;
            if machine.has_process() || machine.is_starting() {
                let target = self.target(task);
                match self.slots[task].handle.clone() {
                    Some(handle) => self.operations.push(op::recovered(target, handle)),
                    None if self.slots[task].machine.is_starting() => {
                        self.slots[task].machine.begin_again();
                    }
                    None => self.not_recovered(task, "its handle is missing"),
                }
            }
        }
    }

    fn target(&self, task: usize) -> Target {
        Target { shared: self.shared.clone(), alloc: self.alloc.clone(), task }
    }

    pub(crate) fn task_spec(&self, task: usize) -> Option<&Task> {
        group_of(&self.alloc).task(&self.slots[task].name)
    }

    /// Whether a process that an earlier agent started has not been found again yet.
    fn is_looking_for_tasks(&self) -> bool {
        let looked_for = |slot: &Slot| {
            let started_by_another = slot.machine.is_starting() && slot.abort.is_none();
            (slot.machine.has_process() || started_by_another) && slot.running.is_none()
        };
        self.slots.iter().any(looked_for)
    }

    fn happened(&mut self, task: Option<usize>, done: Done) {
        let Some(task) = task else {
            match done {
                Done::PreviousGone => self.begun = true,
                Done::ShutdownDelayOver => self.shutdown_delay = Delay::Over,
                _ => {}
            }
            self.changed = true;
            return;
        };
        let slot = &mut self.slots[task];
        match done {
            Done::Prepared(Ok(plan)) => {
                slot.plan = Some(plan);
                self.step(task, Event::Prepared);
            }
            Done::Prepared(Err(event)) => self.step(task, Event::Unprepared { event }),
            Done::Started(Ok(started)) => {
                slot.handle = Some(started.handle);
                slot.running = Some(started.task);
                self.step(task, Event::Started);
            }
            Done::Started(Err(error)) => {
                let recoverable = error.recoverable;
                self.step(task, Event::NotStarted { recoverable, message: error.message });
            }
            Done::Exited(exit) => self.step(task, Event::Exited(exit)),
            Done::Recovered(found) => {
                slot.running = Some(found.task);
                let event = match found.state {
                    // The watch that follows tells an end that has come already.
                    _ if slot.machine.is_starting() => Event::Started,
                    drivers::RecoveredState::Running => Event::Restored,
                    drivers::RecoveredState::AlreadyExited(exit)
                    | drivers::RecoveredState::Lost(exit) => Event::Exited(exit),
                };
                self.step(task, event);
            }
            Done::NotRecovered(reason) => self.not_recovered(task, &reason),
            Done::NeverStarted => {
                slot.handle = None;
                slot.machine.begin_again();
                self.changed = true;
            }
            Done::TimerFired => self.step(task, Event::TimerFired),
            Done::CleanedUp => {
                slot.handle = None;
                slot.running = None;
                self.step(task, Event::CleanedUp);
            }
            Done::PreviousGone | Done::ShutdownDelayOver | Done::Nothing => {}
        }
    }

    fn not_recovered(&mut self, task: usize, reason: &str) {
        let slot = &mut self.slots[task];
        slot.handle = None;
        slot.machine.note(events::failed_restoring(clock::now(), reason));
        let lost = drivers::ExitResult { lost: true, ..drivers::ExitResult::default() };
        self.step(task, Event::Exited(lost));
    }

    pub(crate) fn step(&mut self, task: usize, event: Event) {
        // A preparation that begins need not be kept: it begins again. What it leads to is kept
        // before the start is made.
        self.changed |= event != Event::Gate;
        let actions = self.slots[task].machine.step(event, moment());
        self.act(task, actions);
    }

    fn act(&mut self, task: usize, actions: Vec<Action>) {
        for action in actions {
            let target = self.target(task);
            let kill = self.kill_plan(task);
            let slot = &mut self.slots[task];
            match action {
                Action::Prepare => {
                    slot.starts += 1;
                    let (operation, abort) =
                        op::prepared(target, slot.starts, self.preparing.clone());
                    slot.abort = Some(abort);
                    self.operations.push(operation);
                }
                Action::StartDriver => {
                    let plan = slot.plan.take().expect("a start follows its preparation");
                    let driver = group_of(&self.alloc).task(&slot.name).map(|t| t.driver.as_str());
                    let driver = driver.and_then(|name| self.shared.drivers.get(name));
                    slot.handle = driver.and_then(|driver| driver.intend(&plan));
                    let (operation, abort) = op::started(target, *plan);
                    slot.abort = Some(abort);
                    self.operations.push(operation);
                }
                Action::Watch => {
                    if let Some(running) = slot.running.clone() {
                        self.operations.push(op::exited(task, running));
                    }
                }
                Action::Kill => {
                    if let Some(running) = slot.running.clone() {
                        self.operations.push(op::killed(task, running, kill));
                    }
                }
                Action::Abort => {
                    slot.plan = None;
                    if let Some(abort) = slot.abort.take() {
                        abort.abort();
                    }
                }
                Action::WaitUntil(until) => self.operations.push(op::timer(task, until)),
                Action::Cleanup => {
                    let held = match (slot.running.clone(), slot.handle.clone()) {
                        (Some(running), _) => Held::Task(running),
                        (None, Some(handle)) => Held::Handle(handle),
                        (None, None) => Held::Nothing,
                    };
                    self.operations.push(op::cleaned_up(target, held));
                }
            }
        }
    }

    fn kill_plan(&self, task: usize) -> KillPlan {
        let spec = self.task_spec(task);
        let asked = spec.map_or(0, Task::kill_timeout);
        let in_hurry = self.leaving || self.alloc.transition.no_shutdown_delay == Some(true);
        let delay = spec.map_or(0, |spec| spec.shutdown_delay);
        let name = spec.map_or("", |spec| spec.kill_signal.as_str());
        KillPlan {
            delay: clock::duration(if in_hurry { 0 } else { delay }),
            signal: signals::number(name).unwrap_or(signals::DEFAULT_KILL),
            timeout: clock::duration(asked).min(self.shared.config.max_kill_timeout),
        }
    }

    fn views(&self) -> Vec<TaskView<'_>> {
        let tasks = group_of(&self.alloc).tasks.iter();
        self.slots.iter().zip(tasks).map(|(slot, task)| view_of(slot, task)).collect()
    }
}

fn view_of<'a>(slot: &'a Slot, task: &Task) -> TaskView<'a> {
    TaskView {
        name: &slot.name,
        hook: task.hook(),
        sidecar: task.is_sidecar(),
        leader: task.leader,
        state: slot.machine.state.state,
        failed: slot.machine.state.failed,
        has_started: !slot.machine.state.started_at.is_zero(),
    }
}

/// Until then, or for ever.
async fn sleep_until(when: Option<i64>) {
    match when {
        Some(when) => tokio::time::sleep(clock::until(when)).await,
        None => std::future::pending().await,
    }
}
