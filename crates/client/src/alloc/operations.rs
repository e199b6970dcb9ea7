//! What a runner waits for: each operation is a future that ends with something the runner turns
//! into an event. Dropping one gives up what it was doing.

use std::sync::Arc;
use std::time::Duration;

use drivers::{Recovered, RunningTask, Started, TaskHandle};
use futures_util::future::{AbortHandle, BoxFuture, abortable};
use model::alloc::{Alloc, TaskEvent};
use model::wire::Nanos;
use tokio::sync::RwLock;

use crate::clock;
use crate::shared::Shared;
use crate::task::launch::{Wanted, prepare};
use drivers::LaunchPlan;

/// Between attempts to end or give back what resists.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Attempts to give back what a task held; what then is left goes with the sweep of the next start.
const DESTROY_ATTEMPTS_MAX: u32 = 10;
/// How long the processes of a task without a driver may take to end.
const SWEEP_LIMIT: Duration = Duration::from_secs(10);

/// How an operation ended.
pub(crate) enum Done {
    Prepared(Result<Box<LaunchPlan>, TaskEvent>),
    Started(Result<Started, drivers::StartError>),
    Exited(drivers::ExitResult),
    Recovered(Recovered),
    /// The task cannot be found again; nothing of it runs.
    NotRecovered(String),
    /// The start that an earlier agent intended was never made.
    NeverStarted,
    TimerFired,
    CleanedUp,
    /// The previous allocation of the slot has ended.
    PreviousGone,
    ShutdownDelayOver,
    /// Given up, or nothing follows.
    Nothing,
}

/// A running operation of one task, or of the allocation.
pub(crate) type Operation = BoxFuture<'static, (Option<usize>, Done)>;

/// One task of one allocation.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) shared: Arc<Shared>,
    pub(crate) alloc: Arc<Alloc>,
    pub(crate) task: usize,
}

impl Target {
    fn task_name(&self) -> &str {
        let group = self.alloc.spec.group(&self.alloc.group);
        group.and_then(|group| group.tasks.get(self.task)).map_or("", |task| task.name.as_str())
    }
}

/// Makes directories and the plan of a start. Given up, what is being made is made all the same;
/// `preparing` is held for reading until then, so that whoever removes it can wait.
pub(crate) fn prepared(
    target: Target,
    start: u64,
    preparing: Arc<RwLock<()>>,
) -> (Operation, AbortHandle) {
    let task = target.task;
    let work = async move {
        let shared = target.shared.clone();
        let _turn = shared.turn_to_start().await;
        let held = preparing.read_owned().await;
        let work = move || {
            let _held = held;
            let alloc = &target.alloc;
            let group = alloc.spec.group(&alloc.group).expect("a runner has a group");
            let index = target.task;
            let wanted = Wanted { alloc, group, task: &group.tasks[index], index, start };
            prepare(&target.shared, &wanted).map(Box::new)
        };
        Done::Prepared(blocking(work).await)
    };
    can_be_given_up(task, work)
}

/// Starts the task. Given up, the driver undoes what it began.
pub(crate) fn started(target: Target, plan: LaunchPlan) -> (Operation, AbortHandle) {
    let task = target.task;
    let work = async move {
        let _turn = target.shared.turn_to_start().await;
        let name = target.task_name();
        let driver = group_driver(&target.alloc, name);
        // What is about to be started is known on disk first: an agent that dies from here on
        // finds the task again instead of starting it a second time.
        target.shared.store.durable().await;
        match target.shared.drivers.get(driver) {
            Some(driver) => Done::Started(driver.start(plan).await),
            None => Done::Started(Err(drivers::StartError {
                recoverable: false,
                message: format!("failed to find driver \"{driver}\""),
            })),
        }
    };
    can_be_given_up(task, work)
}

fn group_driver<'a>(alloc: &'a Alloc, task: &str) -> &'a str {
    let task = alloc.spec.group(&alloc.group).and_then(|group| group.task(task));
    task.map_or("", |task| task.driver.as_str())
}

fn can_be_given_up(
    task: usize,
    work: impl Future<Output = Done> + Send + 'static,
) -> (Operation, AbortHandle) {
    let (work, handle) = abortable(work);
    let operation = async move { (Some(task), work.await.unwrap_or(Done::Nothing)) };
    (Box::pin(operation), handle)
}

/// Waits for the end of the process.
pub(crate) fn exited(task: usize, running: Arc<dyn RunningTask>) -> Operation {
    Box::pin(async move { (Some(task), Done::Exited(running.wait().await)) })
}

/// How a task is ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KillPlan {
    pub(crate) delay: Duration,
    pub(crate) signal: i32,
    pub(crate) timeout: Duration,
}

/// Ends the process, however long that takes; its end is seen by [`exited`].
pub(crate) fn killed(task: usize, running: Arc<dyn RunningTask>, plan: KillPlan) -> Operation {
    Box::pin(async move {
        tokio::select! {
            () = tokio::time::sleep(plan.delay) => {}
            _ = running.wait() => return (Some(task), Done::Nothing),
        }
        while let Err(error) = running.stop(plan.signal, plan.timeout).await {
            tracing::error!(task, %error, "the task cannot be ended; trying again");
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        (Some(task), Done::Nothing)
    })
}

/// What a start holds.
pub(crate) enum Held {
    Nothing,
    Task(Arc<dyn RunningTask>),
    /// As recorded by an earlier agent.
    Handle(TaskHandle),
}

/// Gives back what a start holds, once its end is on disk.
pub(crate) fn cleaned_up(target: Target, held: Held) -> Operation {
    Box::pin(async move {
        let running = match held {
            Held::Nothing => None,
            Held::Task(running) => {
                target.shared.store.durable().await;
                Some(running)
            }
            Held::Handle(handle) => match found_again(&target, &handle).await {
                Done::Recovered(found) => Some(found.task),
                _ => None,
            },
        };
        if let Some(running) = running {
            destroy(&target, &*running).await;
        }
        (Some(target.task), Done::CleanedUp)
    })
}

async fn destroy(target: &Target, running: &dyn RunningTask) {
    for attempt in 1..=DESTROY_ATTEMPTS_MAX {
        let Err(error) = running.destroy().await else { return };
        let alloc_id = target.alloc.id;
        let task = target.task_name();
        tracing::warn!(%alloc_id, task, %error, attempt, "giving back what the task held failed");
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Finds a task of an earlier agent.
pub(crate) fn recovered(target: Target, handle: TaskHandle) -> Operation {
    Box::pin(async move { (Some(target.task), found_again(&target, &handle).await) })
}

async fn found_again(target: &Target, handle: &TaskHandle) -> Done {
    loop {
        let Some(driver) = target.shared.drivers.get(&handle.driver) else {
            return ended_without_driver(target, format!("no driver {}", handle.driver)).await;
        };
        match driver.recover(handle).await {
            Ok(found) => return Done::Recovered(found),
            Err(drivers::RecoverError::NotStarted) => return Done::NeverStarted,
            // Something of it may live, so nothing may be started in its place yet.
            Err(drivers::RecoverError::Cleanup(error)) => {
                let alloc_id = target.alloc.id;
                let task = target.task_name();
                tracing::error!(%alloc_id, task, error, "a lost task cannot be ended; trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return ended_without_driver(target, error.to_string()).await,
        }
    }
}

/// Ends a task by its cgroup alone: its driver cannot.
async fn ended_without_driver(target: &Target, reason: String) -> Done {
    let node = target.shared.node_id.to_string();
    let name = drivers::task_cgroup_name(&target.alloc.id.to_string(), target.task_name());
    let end = move || {
        let group = sandbox::Cgroup::named(&sandbox::Hierarchies::detect(), &node, &name);
        group.kill_all(SWEEP_LIMIT).and_then(|()| group.remove())
    };
    if let Err(error) = blocking(end).await {
        tracing::error!(%error, "a task without driver cannot be ended");
    }
    Done::NotRecovered(reason)
}

/// Waits for a moment.
pub(crate) fn timer(task: usize, until: Nanos) -> Operation {
    Box::pin(async move {
        tokio::time::sleep(clock::until(until)).await;
        (Some(task), Done::TimerFired)
    })
}

/// Ends with `done` after a while.
pub(crate) fn after(delay: Duration, done: Done) -> Operation {
    Box::pin(async move {
        tokio::time::sleep(delay).await;
        (None, done)
    })
}

/// Runs what may wait for the kernel away from the asynchronous threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Only the runtime's shutdown cancels such work; this future is about to be dropped.
        Err(_) => std::future::pending().await,
    }
}
