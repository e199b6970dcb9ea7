//! When a failed allocation gets a new attempt: a pure reading of its policy and its history.

use model::alloc::Alloc;
use model::job::ReschedulePolicy;
use model::wire::{Nanos, SECOND};

/// An attempt that is due within this time is made at once.
const DUE_SLACK: Nanos = SECOND;

/// What the policy says about a failed allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// A new attempt now, after this delay.
    Now(Nanos),
    /// A new attempt at a time, after this delay.
    At(Nanos, Nanos),
    /// No further attempt.
    Never,
}

/// Whether the policy of its group gives a failed allocation another attempt, now or later.
pub fn has_attempts_left(alloc: &Alloc, now: Nanos) -> bool {
    let policy = alloc.spec.group(&alloc.group).and_then(|g| g.reschedule_policy.as_ref());
    next_attempt(alloc, policy, now) != Attempt::Never
}

/// Reads the policy.
pub(crate) fn next_attempt(
    alloc: &Alloc,
    policy: Option<&ReschedulePolicy>,
    now: Nanos,
) -> Attempt {
    let Some(policy) = policy else { return Attempt::Never };
    let unlimited = policy.unlimited.unwrap_or(false);
    let attempts = usize::try_from(policy.attempts.unwrap_or(0)).unwrap_or(0);
    let interval = policy.interval.unwrap_or(0);
    // A node's clock that is ahead of the servers' must not put the next attempt off.
    let finished_at = alloc.finished_at().min(alloc.modify_time);
    let failed_at = if finished_at > 0 { finished_at } else { alloc.modify_time };
    let events = alloc.reschedule.as_ref().map(|t| t.events.0.as_slice()).unwrap_or_default();
    if !unlimited {
        let recent = {
            let since = failed_at.saturating_sub(interval);
            events.iter().filter(|e| e.reschedule_time > since).count()
        };
        if attempts == 0 || recent >= attempts {
            return Attempt::Never;
        }
    }
    let delay = delay(policy, events.iter().map(|e| e.delay).collect::<Vec<_>>().as_slice());
    let due = failed_at.saturating_add(delay);
    if due <= now.saturating_add(DUE_SLACK) { Attempt::Now(delay) } else { Attempt::At(due, delay) }
}

/// The delay before the next attempt, given those of the earlier ones.
fn delay(policy: &ReschedulePolicy, earlier: &[Nanos]) -> Nanos {
    let base = policy.delay.unwrap_or(0);
    let max = policy.max_delay.unwrap_or(0);
    let next = match (policy.delay_function.as_deref(), earlier) {
        (_, []) => base,
        (Some("exponential"), [.., last]) => last.saturating_mul(2),
        (Some("fibonacci"), [_]) => base,
        (Some("fibonacci"), [.., before, last]) => before.saturating_add(*last),
        _ => return base,
    };
    if max > 0 { next.min(max) } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_as_their_function_says_up_to_the_maximum() {
        let policy = |function: &str| ReschedulePolicy {
            delay: Some(5),
            max_delay: Some(40),
            delay_function: Some(function.to_owned()),
            ..Default::default()
        };
        let series = |function: &str| {
            let mut delays = Vec::new();
            for _ in 0..6 {
                delays.push(delay(&policy(function), &delays.clone()));
            }
            delays
        };
        assert_eq!(series("constant"), [5, 5, 5, 5, 5, 5]);
        assert_eq!(series("exponential"), [5, 10, 20, 40, 40, 40]);
        assert_eq!(series("fibonacci"), [5, 5, 10, 15, 25, 40]);
    }
}
