//! Moves the allocation on: which tasks start now, and which are told to end.

use model::alloc::DesiredStatus;
use model::job::LifecycleHook;

use super::{Delay, Ending, Runner, group_of};
use crate::alloc::operations::{self as op, Done};
use crate::alloc::ordering::{self, Doom, KILL_STEPS};
use crate::clock;
use crate::task::events;
use crate::task::machine::{Event, Phase};

impl Runner {
    /// Until nothing more follows from what is known.
    pub(super) fn advance(&mut self) {
        loop {
            self.find_ending();
            let told = self.tell_to_end();
            let started = self.open_gates();
            if !told && !started {
                return;
            }
        }
    }

    fn find_ending(&mut self) {
        if self.ending.is_some() {
            return;
        }
        let now = clock::now();
        let views = self.views();
        let cause = if self.wants_end() {
            None
        } else {
            match ordering::doom(&views) {
                Some(Doom::Failed(name)) => Some(events::sibling_failed(now, name)),
                Some(Doom::LeaderDead) => Some(events::leader_dead(now)),
                Some(Doom::MainDead) => Some(events::main_dead(now)),
                None => return,
            }
        };
        if cause.is_none() && !self.shutdown_delay_is_over() {
            return;
        }
        self.ending = Some(Ending { cause, step: 0, told: false });
    }

    fn wants_end(&self) -> bool {
        self.removed || self.leaving || self.alloc.desired != DesiredStatus::Run
    }

    /// Services leave the catalogue before their tasks are told; the group says how long before.
    fn shutdown_delay_is_over(&mut self) -> bool {
        let delay = group_of(&self.alloc).shutdown_delay.unwrap_or(0);
        let in_hurry = self.removed
            || self.leaving
            || delay <= 0
            || self.alloc.transition.no_shutdown_delay == Some(true)
            || !self.slots.iter().any(|slot| slot.machine.has_process());
        if in_hurry {
            return true;
        }
        if self.shutdown_delay == Delay::NotBegun {
            self.shutdown_delay = Delay::Runs;
            self.operations.push(op::after(clock::duration(delay), Done::ShutdownDelayOver));
        }
        self.shutdown_delay == Delay::Over
    }

    /// Tells the tasks of the current step, and goes to the next one when all of them have ended.
    fn tell_to_end(&mut self) -> bool {
        let Some(Ending { cause, step, told }) = &mut self.ending else { return false };
        let (step_now, cause) = (*step, cause.clone());
        if step_now >= KILL_STEPS {
            return self.end_poststop();
        }
        if !std::mem::replace(told, true) {
            for task in self.of_step(step_now) {
                self.step(task, Event::KillAsked { cause: cause.clone() });
            }
            return true;
        }
        let all_ended =
            self.of_step(step_now).iter().all(|task| self.slots[*task].machine.is_finished());
        if all_ended && let Some(ending) = &mut self.ending {
            ending.step += 1;
            ending.told = false;
        }
        all_ended
    }

    fn of_step(&self, step: usize) -> Vec<usize> {
        let views = self.views();
        let tasks = views.iter().enumerate();
        tasks.filter(|(_, view)| ordering::kill_step(view) == Some(step)).map(|(i, _)| i).collect()
    }

    /// Poststop tasks follow what has run; where nothing has, or nobody is interested any more,
    /// they end as well.
    fn end_poststop(&mut self) -> bool {
        let views = self.views();
        let nothing_ran = views.iter().all(|view| !view.has_started);
        if !(nothing_ran || self.removed || self.leaving) {
            return false;
        }
        let tasks = views.iter().enumerate();
        let poststop = tasks.filter(|(_, view)| view.hook == LifecycleHook::Poststop);
        let poststop: Vec<usize> = poststop.map(|(task, _)| task).collect();
        let mut told = false;
        for task in poststop {
            let phase = self.slots[task].machine.phase;
            if !matches!(phase, Phase::Stopping(_) | Phase::Exited(_) | Phase::Finished) {
                self.step(task, Event::KillAsked { cause: None });
                told = true;
            }
        }
        told
    }

    fn open_gates(&mut self) -> bool {
        if !self.begun {
            return false;
        }
        let views = self.views();
        let ends = self.ending.is_some() || self.wants_end();
        let tasks = views.iter().enumerate();
        let open = tasks.filter(|(task, view)| {
            self.slots[*task].machine.phase == Phase::Waiting
                && (!ends || view.hook == LifecycleHook::Poststop)
                && ordering::may_start(&views, view)
        });
        let open: Vec<usize> = open.map(|(task, _)| task).collect();
        for task in &open {
            self.step(*task, Event::Gate);
        }
        !open.is_empty()
    }
}
