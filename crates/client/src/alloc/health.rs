//! Whether an allocation of a deployment is healthy. Pure: told of changes and of time.

use model::alloc::{Alloc, TaskPhase};
use model::job::{JobType, TaskGroup};
use model::wire::Nanos;
use serde::{Deserialize, Serialize};

use crate::alloc::ordering::TaskView;
use crate::task::events::go_duration;
use model::job::LifecycleHook;

const SECOND: Nanos = 1_000_000_000;
const MIN_HEALTHY_TIME: Nanos = 10 * SECOND;
const HEALTHY_DEADLINE: Nanos = 300 * SECOND;

/// Found once, then kept: a deployment never takes a verdict back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) healthy: bool,
    pub(crate) at: Nanos,
}

/// Watches the tasks until a verdict is found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watch {
    min_healthy_time: Nanos,
    healthy_deadline: Nanos,
    deadline: Nanos,
    healthy_since: Option<Nanos>,
    restarts: u64,
    verdict: Option<Verdict>,
}

impl Watch {
    /// `None` where nobody waits for the health: no deployment, or an operator who decides.
    pub(crate) fn of(
        alloc: &Alloc,
        group: &TaskGroup,
        known: Option<Verdict>,
        now: Nanos,
    ) -> Option<Self> {
        let (check, min, deadline) = if alloc.deployment_id.is_some() {
            let update = group.update.as_ref().or(alloc.spec.update.as_ref());
            let field =
                |get: fn(&model::job::UpdateStrategy) -> Option<Nanos>| update.and_then(get);
            let check = update.and_then(|update| update.health_check.as_deref());
            (check, field(|u| u.min_healthy_time), field(|u| u.healthy_deadline))
        } else if alloc.spec.job_type() == JobType::Service && alloc.previous.is_some() {
            // The replacement of one that was moved: the drain waits for it.
            let migrate = group.migrate.as_ref().or(alloc.spec.migrate.as_ref());
            let field =
                |get: fn(&model::job::MigrateStrategy) -> Option<Nanos>| migrate.and_then(get);
            let check = migrate.and_then(|migrate| migrate.health_check.as_deref());
            (check, field(|m| m.min_healthy_time), field(|m| m.healthy_deadline))
        } else {
            return None;
        };
        if check == Some("manual") {
            return None;
        }
        let healthy_deadline = deadline.filter(|time| *time > 0).unwrap_or(HEALTHY_DEADLINE);
        Some(Self {
            min_healthy_time: min.unwrap_or(MIN_HEALTHY_TIME),
            healthy_deadline,
            deadline: now.saturating_add(healthy_deadline),
            healthy_since: None,
            restarts: 0,
            verdict: known,
        })
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Looks at the tasks; the reason when they are found unhealthy by this look.
    pub(crate) fn observe(
        &mut self,
        tasks: &[TaskView<'_>],
        restarts: u64,
        now: Nanos,
    ) -> Option<String> {
        if self.verdict.is_some() {
            return None;
        }
        if let Some(failed) = tasks.iter().find(|task| task.failed) {
            self.verdict = Some(Verdict { healthy: false, at: now });
            return Some(format!("Unhealthy because of failed task \"{}\"", failed.name));
        }
        let runs = tasks.iter().all(runs_as_it_should);
        if !runs || restarts != self.restarts {
            self.healthy_since = None;
            self.restarts = restarts;
        }
        if runs {
            let since = *self.healthy_since.get_or_insert(now);
            if now >= since.saturating_add(self.min_healthy_time) {
                self.verdict = Some(Verdict { healthy: true, at: now });
                return None;
            }
        }
        if now >= self.deadline {
            self.verdict = Some(Verdict { healthy: false, at: now });
            return Some(format!(
                "Task not running for min_healthy_time of {} by healthy_deadline of {}",
                go_duration(self.min_healthy_time),
                go_duration(self.healthy_deadline)
            ));
        }
        None
    }

    /// When to look again if nothing changes before.
    pub(crate) fn look_again(&self) -> Option<Nanos> {
        if self.verdict.is_some() {
            return None;
        }
        let healthy = self.healthy_since.map(|since| since.saturating_add(self.min_healthy_time));
        Some(healthy.map_or(self.deadline, |healthy| healthy.min(self.deadline)))
    }
}

fn runs_as_it_should(task: &TaskView<'_>) -> bool {
    let runs = task.state == TaskPhase::Running;
    match (task.hook, task.sidecar) {
        (LifecycleHook::Main, _) | (_, true) => runs,
        (LifecycleHook::Prestart, false) => task.state == TaskPhase::Dead && !task.failed,
        // They come in their time and are no part of the service.
        (LifecycleHook::Poststart | LifecycleHook::Poststop, false) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(min: Nanos, deadline: Nanos) -> Watch {
        Watch {
            min_healthy_time: min * SECOND,
            healthy_deadline: deadline * SECOND,
            deadline: deadline * SECOND,
            healthy_since: None,
            restarts: 0,
            verdict: None,
        }
    }

    fn task(state: TaskPhase, failed: bool) -> TaskView<'static> {
        TaskView {
            name: "web",
            hook: LifecycleHook::Main,
            sidecar: false,
            leader: false,
            state,
            failed,
            has_started: true,
        }
    }

    /// Each look is a second, a state and the restarts so far; the verdict at the end.
    fn check(looks: &[(Nanos, TaskPhase, u64)], expected: Option<(bool, Nanos)>) {
        let mut watch = watch(10, 60);
        for (second, state, restarts) in looks {
            watch.observe(&[task(*state, false)], *restarts, second * SECOND);
        }
        let found = watch.verdict().map(|verdict| (verdict.healthy, verdict.at / SECOND));
        assert_eq!(found, expected, "{looks:?}");
    }

    #[test]
    fn healthy_after_running_for_the_minimum_without_restart() {
        use TaskPhase::{Pending, Running};
        check(&[(0, Running, 0), (9, Running, 0)], None);
        check(&[(0, Running, 0), (10, Running, 0)], Some((true, 10)));
        check(&[(0, Running, 0), (5, Running, 1), (10, Running, 1)], None);
        check(
            &[(0, Running, 0), (5, Pending, 1), (6, Running, 1), (16, Running, 1)],
            Some((true, 16)),
        );
        check(&[(0, Pending, 0), (60, Pending, 0)], Some((false, 60)));
        check(&[(0, Running, 0), (10, Running, 0), (60, Pending, 1)], Some((true, 10)));
    }

    #[test]
    fn unhealthy_at_once_when_a_task_has_failed() {
        let mut watch = watch(10, 60);
        let reason = watch.observe(&[task(TaskPhase::Dead, true)], 0, SECOND);
        assert_eq!(reason.as_deref(), Some("Unhealthy because of failed task \"web\""));
        assert_eq!(watch.look_again(), None);
    }
}
