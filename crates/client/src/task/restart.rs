//! The restart policy: what follows the end of a task. Pure; time and chance come in.

use serde::{Deserialize, Serialize};

use model::job::{JobType, Task, TaskGroup};
use model::wire::Nanos;

use crate::clock::Moment;
use crate::task::events::go_duration;

/// The delay grows by up to this share, so that tasks that failed together do not start together.
const JITTER_SHARE: f64 = 0.25;
const SECOND: Nanos = 1_000_000_000;

/// The policy of one task, with everything filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    pub(crate) attempts: u64,
    pub(crate) interval: Nanos,
    pub(crate) delay: Nanos,
    pub(crate) mode: Mode,
    /// A good end is the end: batch jobs, and lifecycle tasks that do not stay.
    pub(crate) runs_to_completion: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Out of attempts: the task has failed.
    Fail,
    /// Out of attempts: wait for the next interval.
    Delay,
}

impl Policy {
    pub(crate) fn of(kind: JobType, group: &TaskGroup, task: &Task) -> Self {
        let batch = kind.runs_to_completion();
        let policy = task.restart_policy.as_ref().or(group.restart_policy.as_ref());
        let number = |value: Option<i64>, default: u64| {
            value.map_or(default, |value| u64::try_from(value).unwrap_or(0))
        };
        let (attempts, interval) = if batch { (3, 24 * 3600) } else { (2, 30 * 60) };
        let is_main = task.hook() == model::job::LifecycleHook::Main;
        Self {
            attempts: number(policy.and_then(|p| p.attempts), attempts),
            interval: policy.and_then(|p| p.interval).unwrap_or(interval * SECOND),
            delay: policy.and_then(|p| p.delay).unwrap_or(15 * SECOND),
            mode: match policy.and_then(|p| p.mode.as_deref()) {
                Some("delay") => Mode::Delay,
                _ => Mode::Fail,
            },
            runs_to_completion: if is_main { batch } else { !task.is_sidecar() },
        }
    }
}

/// Attempts used in the current interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracker {
    pub(crate) used: u64,
    pub(crate) interval_start: Nanos,
}

/// How the task came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    /// It could not be started, and trying again will not help.
    Unrecoverable,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// It has done its work.
    Done,
    Restart {
        delay: Nanos,
        reason: String,
    },
    GiveUp {
        reason: String,
    },
}

/// Decides and counts.
pub(crate) fn decide(
    policy: &Policy,
    tracker: &mut Tracker,
    outcome: Outcome,
    at: Moment,
) -> Decision {
    if outcome == Outcome::Succeeded && policy.runs_to_completion {
        return Decision::Done;
    }
    if policy.attempts == 0 && policy.mode == Mode::Fail {
        return Decision::GiveUp { reason: "Policy allows no restarts".to_owned() };
    }
    if outcome == Outcome::Unrecoverable {
        return Decision::GiveUp { reason: "Error was unrecoverable".to_owned() };
    }
    let interval_end = tracker.interval_start.saturating_add(policy.interval);
    if tracker.used == 0 || at.now >= interval_end {
        *tracker = Tracker { used: 0, interval_start: at.now };
    }
    tracker.used += 1;
    if tracker.used <= policy.attempts {
        let jitter = policy.delay as f64 * JITTER_SHARE * at.chance;
        let delay = policy.delay.saturating_add(jitter as Nanos);
        return Decision::Restart { delay, reason: "Restart within policy".to_owned() };
    }
    match policy.mode {
        Mode::Delay => {
            let left = tracker.interval_start.saturating_add(policy.interval) - at.now;
            let reason = "Exceeded allowed attempts, applying a delay".to_owned();
            Decision::Restart { delay: left.max(policy.delay), reason }
        }
        Mode::Fail => {
            let interval = go_duration(policy.interval);
            let reason = format!(
                "Exceeded allowed attempts {} in interval {interval} and mode is \"fail\"",
                policy.attempts
            );
            Decision::GiveUp { reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(attempts: u64, mode: Mode) -> Policy {
        let delay = 10 * SECOND;
        Policy { attempts, interval: 100 * SECOND, delay, mode, runs_to_completion: false }
    }

    fn at(second: Nanos) -> Moment {
        Moment { now: (1000 + second) * SECOND, chance: 0.5 }
    }

    fn delays(policy: &Policy, seconds: &[Nanos]) -> Vec<String> {
        let mut tracker = Tracker::default();
        let mut step = |second| match decide(policy, &mut tracker, Outcome::Failed, at(second)) {
            Decision::Done => "done".to_owned(),
            Decision::Restart { delay, .. } => go_duration(delay),
            Decision::GiveUp { reason } => reason,
        };
        seconds.iter().map(|second| step(*second)).collect()
    }

    #[test]
    fn attempts_are_counted_within_the_interval() {
        let spent = "Exceeded allowed attempts 2 in interval 1m40s and mode is \"fail\"";
        assert_eq!(delays(&policy(2, Mode::Fail), &[0, 1, 2]), ["11.25s", "11.25s", spent]);
        let late = delays(&policy(2, Mode::Fail), &[0, 1, 100, 101, 102]);
        assert_eq!(late, ["11.25s", "11.25s", "11.25s", "11.25s", spent]);
    }

    #[test]
    fn delay_mode_waits_for_the_next_interval() {
        assert_eq!(delays(&policy(1, Mode::Delay), &[0, 30, 100]), ["11.25s", "1m10s", "11.25s"]);
    }

    #[test]
    fn success_ends_what_runs_to_completion_and_restarts_the_rest() {
        let mut tracker = Tracker::default();
        let mut policy = policy(1, Mode::Fail);
        let restarted = decide(&policy, &mut tracker, Outcome::Succeeded, at(0));
        assert!(matches!(restarted, Decision::Restart { .. }));
        policy.runs_to_completion = true;
        assert_eq!(decide(&policy, &mut tracker, Outcome::Succeeded, at(0)), Decision::Done);
    }

    #[test]
    fn a_hopeless_start_is_not_tried_again() {
        let reason = |attempts| {
            let policy = policy(attempts, Mode::Fail);
            decide(&policy, &mut Tracker::default(), Outcome::Unrecoverable, at(0))
        };
        let give_up = |reason: &str| Decision::GiveUp { reason: reason.to_owned() };
        assert_eq!(reason(1), give_up("Error was unrecoverable"));
        assert_eq!(reason(0), give_up("Policy allows no restarts"));
    }
}
