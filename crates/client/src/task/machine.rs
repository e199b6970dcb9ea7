//! The life of one task as a value and a table. Sync and total: each phase answers each event.
//! Hop 14 of `job run`; `alloc/runner.rs` does what is said here and decides nothing.
//!
//! ```text
//!            Gate           Prepared          Started
//! Waiting ────────► Preparing ────────► Starting ────────► Running ──KillAsked──► Stopping
//!    ▲                  │ failed            │ failed          │ Exited               │ Exited
//!    │ TimerFired       ▼                   ▼                 ▼                      ▼
//! Backoff ◄───────────────────────────── Exited ◄──────────────────────────────────────
//!                      CleanedUp            │ CleanedUp
//!                                           ▼
//!                                        Finished
//! ```
//! What a start holds is given back (`Exited`) before the task is called dead or started again.

use serde::{Deserialize, Serialize};

use drivers::ExitResult;
use model::alloc::{TASK_EVENTS_MAX, TaskEvent, TaskPhase, TaskState};
use model::wire::{Nanos, Time};

use crate::clock::Moment;
use crate::task::events;
use crate::task::restart::{Decision, Outcome, Policy, Tracker, decide};

/// Where the task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// For its turn in the allocation.
    Waiting,
    /// Directory, environment and configuration are made.
    Preparing,
    /// The driver starts it.
    Starting,
    Running,
    /// It was told to end.
    Stopping(Why),
    /// It has ended, and what it held is being given back.
    Exited(Next),
    /// It starts again at this time.
    Backoff {
        until: Nanos,
    },
    Finished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Why {
    Kill,
    Restart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Next {
    Finish,
    Backoff { until: Nanos },
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// It is this task's turn.
    Gate,
    Prepared,
    /// It cannot be prepared: the event says why.
    Unprepared {
        event: TaskEvent,
    },
    Started,
    NotStarted {
        recoverable: bool,
        message: String,
    },
    Exited(ExitResult),
    /// It has to end; the cause goes before, where the task still lives.
    KillAsked {
        cause: Option<TaskEvent>,
    },
    RestartAsked,
    TimerFired,
    CleanedUp,
    /// The agent came back and found the process running.
    Restored,
}

/// What to do now, in this order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Prepare,
    StartDriver,
    /// Wait for the end of the process.
    Watch,
    Kill,
    /// Give up a preparation or a start that is under way.
    Abort,
    WaitUntil(Nanos),
    /// Keep the record, then give back what the start holds.
    Cleanup,
}

/// One task's life.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) phase: Phase,
    pub(crate) state: TaskState,
    pub(crate) tracker: Tracker,
    pub(crate) policy: Policy,
    pub(crate) kill_timeout: Nanos,
}

impl Machine {
    pub(crate) fn new(policy: Policy, kill_timeout: Nanos) -> Self {
        Self {
            phase: Phase::Waiting,
            state: TaskState::default(),
            tracker: Tracker::default(),
            policy,
            kill_timeout,
        }
    }

    /// Takes one event; the caller carries the actions out and feeds back what becomes of them.
    /// What does not fit the phase comes from something that was given up, and changes nothing.
    pub(crate) fn step(&mut self, event: Event, at: Moment) -> Vec<Action> {
        match (self.phase, event) {
            (Phase::Waiting, Event::Gate) => {
                self.note_first_setup(at.now);
                self.enter(Phase::Preparing, Action::Prepare)
            }
            (Phase::Preparing, Event::Prepared) => self.enter(Phase::Starting, Action::StartDriver),
            (Phase::Preparing, Event::Unprepared { event }) => {
                self.note(event);
                self.ended(Outcome::Unrecoverable, at)
            }
            (Phase::Starting, Event::NotStarted { recoverable, message }) => {
                self.note(events::driver_failure(at.now, &message));
                let outcome = if recoverable { Outcome::Failed } else { Outcome::Unrecoverable };
                self.ended(outcome, at)
            }
            (Phase::Starting, Event::Started) => {
                self.note(events::started(at.now));
                self.state.state = TaskPhase::Running;
                if self.state.started_at.is_zero() {
                    self.state.started_at = Time(at.now);
                }
                self.state.finished_at = Time(0);
                self.enter(Phase::Running, Action::Watch)
            }
            (Phase::Running | Phase::Stopping(_), Event::Exited(exit)) => self.exited(&exit, at),
            (_, Event::KillAsked { cause }) => self.kill_asked(cause, at),
            (Phase::Running, Event::RestartAsked) => {
                self.note(events::restart_signaled(at.now));
                self.enter(Phase::Stopping(Why::Restart), Action::Kill)
            }
            (Phase::Finished, Event::RestartAsked) => {
                self.note(events::restart_signaled(at.now));
                self.state.failed = false;
                self.tracker = Tracker::default();
                self.restart(0, "", at.now);
                self.state.state = TaskPhase::Pending;
                self.phase = Phase::Waiting;
                Vec::new()
            }
            (Phase::Backoff { until }, Event::TimerFired) if at.now >= until => {
                self.enter(Phase::Preparing, Action::Prepare)
            }
            (Phase::Exited(Next::Backoff { until }), Event::CleanedUp) => {
                self.enter(Phase::Backoff { until }, Action::WaitUntil(until))
            }
            (Phase::Exited(Next::Finish), Event::CleanedUp) => {
                self.finish(at.now);
                Vec::new()
            }
            (Phase::Running, Event::Restored) => vec![Action::Watch],
            (Phase::Stopping(_), Event::Restored) => vec![Action::Watch, Action::Kill],
            _ => Vec::new(),
        }
    }

    /// Adds an event; the oldest go.
    pub(crate) fn note(&mut self, event: TaskEvent) {
        self.state.events.push(event);
        let surplus = self.state.events.len().saturating_sub(TASK_EVENTS_MAX);
        self.state.events.drain(..surplus);
    }

    /// After a restart of the agent: what can go on by itself does; the caller finds the process
    /// again in the phases that have one.
    pub(crate) fn resume(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Preparing => {
                self.begin_again();
                Vec::new()
            }
            Phase::Exited(_) => vec![Action::Cleanup],
            Phase::Backoff { until } => vec![Action::WaitUntil(until)],
            Phase::Waiting
            | Phase::Starting
            | Phase::Running
            | Phase::Stopping(_)
            | Phase::Finished => Vec::new(),
        }
    }

    /// After a restart of the agent: nothing was started, so it begins again.
    pub(crate) fn begin_again(&mut self) {
        self.phase = Phase::Waiting;
    }

    /// Whether a start was begun and neither confirmed nor refused.
    pub(crate) fn is_starting(&self) -> bool {
        self.phase == Phase::Starting
    }

    /// Whether a process may be there.
    pub(crate) fn has_process(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Stopping(_))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn enter(&mut self, phase: Phase, action: Action) -> Vec<Action> {
        self.phase = phase;
        vec![action]
    }

    fn exited(&mut self, exit: &ExitResult, at: Moment) -> Vec<Action> {
        self.note(events::terminated(at.now, exit));
        match self.phase {
            Phase::Stopping(Why::Kill) => {
                self.note(events::killed(at.now));
                self.enter(Phase::Exited(Next::Finish), Action::Cleanup)
            }
            Phase::Stopping(Why::Restart) => {
                self.restart(0, "", at.now);
                self.enter(Phase::Exited(Next::Backoff { until: at.now }), Action::Cleanup)
            }
            _ if exit.is_success() && !exit.lost => self.ended(Outcome::Succeeded, at),
            _ => self.ended(Outcome::Failed, at),
        }
    }

    fn ended(&mut self, outcome: Outcome, at: Moment) -> Vec<Action> {
        let next = match decide(&self.policy, &mut self.tracker, outcome, at) {
            Decision::Done => Next::Finish,
            Decision::Restart { delay, reason } => {
                self.restart(delay, &reason, at.now);
                Next::Backoff { until: at.now.saturating_add(delay) }
            }
            Decision::GiveUp { reason } => {
                self.note(events::not_restarting(at.now, &reason));
                self.state.failed = true;
                Next::Finish
            }
        };
        self.enter(Phase::Exited(next), Action::Cleanup)
    }

    fn restart(&mut self, delay: Nanos, reason: &str, now: Nanos) {
        self.note(events::restarting(now, delay, reason));
        self.state.restarts += 1;
        self.state.last_restart = Time(now);
        self.state.state = TaskPhase::Pending;
    }

    fn kill_asked(&mut self, cause: Option<TaskEvent>, at: Moment) -> Vec<Action> {
        let killing = events::killing(at.now, self.kill_timeout);
        // Asked twice, it is told once.
        if matches!(self.phase, Phase::Stopping(Why::Kill)) {
            return Vec::new();
        }
        let lives = !matches!(self.phase, Phase::Finished | Phase::Exited(Next::Finish));
        if let Some(cause) = cause.filter(|_| lives) {
            self.note(cause);
        }
        self.note(killing);
        match self.phase {
            Phase::Waiting | Phase::Backoff { .. } => {
                self.finish(at.now);
                Vec::new()
            }
            Phase::Preparing | Phase::Starting => {
                self.phase = Phase::Exited(Next::Finish);
                vec![Action::Abort, Action::Cleanup]
            }
            Phase::Running => self.enter(Phase::Stopping(Why::Kill), Action::Kill),
            // The process has its signal already.
            Phase::Stopping(_) => {
                self.phase = Phase::Stopping(Why::Kill);
                Vec::new()
            }
            Phase::Exited(_) => {
                self.phase = Phase::Exited(Next::Finish);
                Vec::new()
            }
            Phase::Finished => Vec::new(),
        }
    }

    fn finish(&mut self, now: Nanos) {
        self.phase = Phase::Finished;
        self.state.state = TaskPhase::Dead;
        self.state.finished_at = Time(now);
    }

    fn note_first_setup(&mut self, now: Nanos) {
        let is_noted = self.state.events.iter().any(|event| event.kind == "Task Setup");
        if self.state.restarts == 0 && !is_noted {
            self.note(events::building_directory(now));
        }
    }
}

#[cfg(test)]
mod tests;
