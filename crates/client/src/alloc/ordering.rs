//! Which task may start, and which must end, by the lifecycle of the group. Pure.
//!
//! ```text
//! prestart ─ done ─┐                                      ┌─► poststop
//! prestart sidecar ┴─► main ── running ──► poststart      │
//!                       └── all dead: sidecars end ───────┘
//! ```

use model::alloc::{ClientStatus, TaskPhase};
use model::job::LifecycleHook;

/// What the order needs to know of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TaskView<'a> {
    pub(crate) name: &'a str,
    pub(crate) hook: LifecycleHook,
    pub(crate) sidecar: bool,
    pub(crate) leader: bool,
    pub(crate) state: TaskPhase,
    pub(crate) failed: bool,
    /// A process of it has run at some time.
    pub(crate) has_started: bool,
}

impl TaskView<'_> {
    fn is_dead(&self) -> bool {
        self.state == TaskPhase::Dead
    }

    fn is_poststop(&self) -> bool {
        self.hook == LifecycleHook::Poststop
    }
}

/// Whether it is this task's turn.
pub(crate) fn may_start(tasks: &[TaskView<'_>], task: &TaskView<'_>) -> bool {
    let prestart_is_done = || {
        tasks.iter().filter(|other| other.hook == LifecycleHook::Prestart).all(|other| {
            if other.sidecar { other.has_started } else { other.is_dead() && !other.failed }
        })
    };
    let main_has_started = || {
        let mut main = tasks.iter().filter(|other| other.hook == LifecycleHook::Main);
        main.all(|other| other.has_started)
    };
    match task.hook {
        LifecycleHook::Prestart => true,
        LifecycleHook::Main => prestart_is_done(),
        LifecycleHook::Poststart => prestart_is_done() && main_has_started(),
        LifecycleHook::Poststop => {
            tasks.iter().filter(|other| !other.is_poststop()).all(TaskView::is_dead)
        }
    }
}

/// Why the rest of the allocation has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doom<'a> {
    Failed(&'a str),
    LeaderDead,
    MainDead,
}

/// Whether the state of some task means the end of others that still live.
pub(crate) fn doom<'a>(tasks: &[TaskView<'a>]) -> Option<Doom<'a>> {
    let mut live = tasks.iter().filter(|task| !task.is_poststop() && !task.is_dead()).peekable();
    live.peek()?;
    if let Some(failed) = tasks.iter().find(|task| task.is_dead() && task.failed) {
        return Some(Doom::Failed(failed.name));
    }
    if tasks.iter().any(|task| task.leader && task.is_dead()) {
        return Some(Doom::LeaderDead);
    }
    let mut main = tasks.iter().filter(|task| task.hook == LifecycleHook::Main).peekable();
    let main_is_dead = main.peek().is_some() && main.all(TaskView::is_dead);
    (main_is_dead && live.all(|task| task.sidecar)).then_some(Doom::MainDead)
}

/// How many steps the end of an allocation has.
pub(crate) const KILL_STEPS: usize = 3;

/// In which step of the end a task is told: the leader, then the others, then what serves them.
/// Poststop tasks run after the end and are not told.
pub(crate) fn kill_step(task: &TaskView<'_>) -> Option<usize> {
    match (task.leader, task.sidecar, task.hook) {
        (_, _, LifecycleHook::Poststop) => None,
        (true, ..) => Some(0),
        (_, false, _) => Some(1),
        (_, true, _) => Some(2),
    }
}

/// What the servers are told of the whole. It counts as ended, and frees what it holds, when the
/// last task has ended.
pub(crate) fn status(tasks: &[TaskView<'_>]) -> (ClientStatus, &'static str) {
    let any = |state| tasks.iter().any(|task| task.state == state);
    let has_begun = tasks.iter().any(|task| task.has_started);
    if any(TaskPhase::Running) || (has_begun && any(TaskPhase::Pending)) {
        (ClientStatus::Running, "Tasks are running")
    } else if any(TaskPhase::Pending) {
        (ClientStatus::Pending, "No tasks have started")
    } else if tasks.iter().any(|task| task.failed) {
        (ClientStatus::Failed, "Failed tasks")
    } else {
        (ClientStatus::Complete, "All tasks have completed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name:hook[:sidecar|:leader]=state`, state one of pending, running, done, failed.
    fn tasks(text: &str) -> Vec<TaskView<'_>> {
        text.split_whitespace()
            .map(|word| {
                let (what, state) = word.split_once('=').unwrap();
                let mut parts = what.split(':');
                let name = parts.next().unwrap();
                let hook = match parts.next() {
                    Some("pre") => LifecycleHook::Prestart,
                    Some("start") => LifecycleHook::Poststart,
                    Some("stop") => LifecycleHook::Poststop,
                    _ => LifecycleHook::Main,
                };
                let extra = parts.next();
                TaskView {
                    name,
                    hook,
                    sidecar: extra == Some("sidecar"),
                    leader: extra == Some("leader"),
                    state: match state {
                        "pending" => TaskPhase::Pending,
                        "running" => TaskPhase::Running,
                        _ => TaskPhase::Dead,
                    },
                    failed: state == "failed",
                    has_started: state != "pending",
                }
            })
            .collect()
    }

    fn check_start(text: &str, expected: &str) {
        let tasks = tasks(text);
        let may = tasks
            .iter()
            .filter(|task| task.state == TaskPhase::Pending && may_start(&tasks, task))
            .map(|task| task.name);
        assert_eq!(may.collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn tasks_start_in_the_order_of_their_hooks() {
        check_start("i:pre=pending s:pre:sidecar=pending m:main=pending p:stop=pending", "i s");
        check_start("i:pre=running s:pre:sidecar=running m:main=pending", "");
        check_start("i:pre=done s:pre:sidecar=pending m:main=pending", "s");
        check_start("i:pre=done s:pre:sidecar=running m:main=pending q:start=pending", "m");
        check_start("i:pre=failed m:main=pending", "");
        check_start("m:main=running n:main=pending q:start=pending", "n");
        check_start("m:main=running n:main=done q:start=pending z:stop=pending", "q");
        check_start("m:main=done s:pre:sidecar=running z:stop=pending", "");
        check_start("m:main=done s:pre:sidecar=done z:stop=pending", "z");
    }

    #[test]
    fn a_dead_task_takes_others_with_it() {
        let doomed = |text| doom(&tasks(text));
        assert_eq!(doomed("a:main=failed b:main=running"), Some(Doom::Failed("a")));
        assert_eq!(doomed("a:main=done b:main=running"), None);
        assert_eq!(doomed("a:main:leader=done b:main=running"), Some(Doom::LeaderDead));
        assert_eq!(
            doomed("a:main=done s:pre:sidecar=running z:stop=pending"),
            Some(Doom::MainDead)
        );
        assert_eq!(doomed("a:main=done q:start=running"), None);
        assert_eq!(doomed("a:main=failed z:stop=pending"), None);
    }

    #[test]
    fn the_whole_has_ended_when_its_last_task_has() {
        let of = |text| status(&tasks(text)).1;
        assert_eq!(of("a:main=pending"), "No tasks have started");
        assert_eq!(of("i:pre=done a:main=pending"), "Tasks are running");
        assert_eq!(of("a:main=failed b:main=running"), "Tasks are running");
        assert_eq!(of("a:main=failed b:main=done"), "Failed tasks");
        assert_eq!(of("a:main=done z:stop=pending"), "Tasks are running");
        assert_eq!(of("a:main=done z:stop=done"), "All tasks have completed");
    }
}
