//! Pretends to run a task, as its configuration says: every failure of a driver can be brought
//! about from a job file. Nothing is started; the task is a timer in the agent.
//!
//! After a restart the task goes on by the clock: it counts as running until `run_for` is over,
//! counted from its start.

mod settings;

use std::sync::Arc;
use std::time::Duration;

use ::supervisor::{LogLimits, RotatingLog};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::plan::{LaunchPlan, LogPlan};
use crate::task::{
    Capabilities, DriverNetwork, ExitResult, FilesystemIsolation, Fingerprint, RecoverError,
    Recovered, RecoveredState, RunningTask, StartError, Started, TaskError, TaskHandle, TaskStats,
    unix_nanos_now,
};
use crate::{Driver, config};
use settings::{KEYS, Output, Settings};

const NAME: &str = "mock_driver";
const HANDLE_VERSION: u32 = 1;
/// Orders to one pretended task that wait to be taken.
const ORDERS_MAX: usize = 16;

#[derive(Debug)]
pub struct Mock {
    enabled: bool,
}

impl Mock {
    pub fn new(enabled: bool) -> Self {
        Self { enabled }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MockHandle {
    settings: Settings,
    ends_at_unix_nanos: u64,
}

#[async_trait]
impl Driver for Mock {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            send_signals: true,
            exec: false,
            filesystem_isolation: FilesystemIsolation::None,
            network_modes: &["host", "group"],
        }
    }

    fn check_config(&self, config: &Map<String, Value>) -> Result<(), Vec<String>> {
        config::check(&KEYS, config)?;
        settings::port_map(config).map(|_| ()).map_err(|problem| vec![problem])
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::by_setting(NAME, self.enabled)
    }

    async fn start(&self, plan: LaunchPlan) -> Result<Started, StartError> {
        if !self.enabled {
            return Err(StartError::fatal("the mock driver is disabled on this node"));
        }
        self.check_config(&plan.config)
            .map_err(|problems| StartError::fatal(problems.join("; ")))?;
        let settings = Settings::read(&plan.config);
        sleep(settings.start_block_for).await;
        if let Some(message) = settings.start_error.clone() {
            return Err(StartError { recoverable: settings.start_error_recoverable, message });
        }
        let logs = Logs::open(&plan.logs)
            .map_err(|error| StartError::recoverable(format!("cannot open the logs: {error}")))?;
        let started_at = unix_nanos_now();
        let run_nanos = u64::try_from(settings.run_for.as_nanos()).unwrap_or(u64::MAX);
        let state =
            MockHandle { ends_at_unix_nanos: started_at.saturating_add(run_nanos), settings };
        let value = serde_json::to_value(&state)
            .map_err(|error| StartError::recoverable(format!("cannot record: {error}")))?;
        let network = state.settings.network();
        let handle = TaskHandle {
            driver: NAME.to_owned(),
            version: HANDLE_VERSION,
            started_at_unix_nanos: started_at,
            state: value,
        };
        Ok(Started { handle, task: Arc::new(MockTask::run(state, Some(logs))), network })
    }

    async fn recover(&self, handle: &TaskHandle) -> Result<Recovered, RecoverError> {
        let state: MockHandle = handle.state_of(NAME, HANDLE_VERSION)?;
        let network = state.settings.network();
        let over = state.ends_at_unix_nanos <= unix_nanos_now();
        let result = state.settings.result(state.ends_at_unix_nanos);
        let task = Arc::new(MockTask::run(state, None));
        let state =
            if over { RecoveredState::AlreadyExited(result) } else { RecoveredState::Running };
        Ok(Recovered { task, state, network })
    }
}

/// The log files of a pretended task.
struct Logs {
    stdout: RotatingLog,
    stderr: RotatingLog,
}

impl Logs {
    fn open(plan: &LogPlan) -> std::io::Result<Self> {
        let limits =
            LogLimits { files_max: plan.max_files, file_bytes_max: plan.max_file_size_bytes };
        Ok(Self {
            stdout: RotatingLog::open(&plan.dir, &plan.stdout, limits)?,
            stderr: RotatingLog::open(&plan.dir, &plan.stderr, limits)?,
        })
    }
}

enum Order {
    Stop,
    SetLogs(LogLimits),
}

/// The timer and the way to it. Dropping this stops the timer.
struct MockTask {
    signal_error: Option<String>,
    orders: mpsc::Sender<Order>,
    exit: watch::Receiver<Option<ExitResult>>,
}

impl MockTask {
    fn run(state: MockHandle, logs: Option<Logs>) -> Self {
        let (orders, receiver) = mpsc::channel(ORDERS_MAX);
        let (sender, exit) = watch::channel(None);
        let signal_error = state.settings.signal_error.clone();
        tokio::spawn(async move {
            if let Some(result) = pretend(state, logs, receiver).await {
                sender.send_replace(Some(result));
            }
        });
        Self { signal_error, orders, exit }
    }

    async fn wait_limited(&self, limit: Duration) -> Option<ExitResult> {
        tokio::time::timeout(limit, self.wait()).await.ok()
    }
}

/// `None` when nobody is interested any more.
async fn pretend(
    state: MockHandle,
    mut logs: Option<Logs>,
    mut orders: mpsc::Receiver<Order>,
) -> Option<ExitResult> {
    let left = Duration::from_nanos(state.ends_at_unix_nanos.saturating_sub(unix_nanos_now()));
    let end = Instant::now() + left;
    let mut stdout = Writing::new(&state.settings.stdout);
    let mut stderr = Writing::new(&state.settings.stderr);
    loop {
        tokio::select! {
            // Output that is due is written before the end at the same moment.
            biased;
            () = stdout.due(), if logs.is_some() && stdout.left > 0 => {
                stdout.write(logs.as_mut().map(|logs| &mut logs.stdout));
            }
            () = stderr.due(), if logs.is_some() && stderr.left > 0 => {
                stderr.write(logs.as_mut().map(|logs| &mut logs.stderr));
            }
            order = orders.recv() => match order? {
                Order::Stop => {
                    sleep(state.settings.kill_after).await;
                    return Some(ExitResult {
                        finished_at_unix_nanos: unix_nanos_now(),
                        ..ExitResult::default()
                    });
                }
                Order::SetLogs(limits) => {
                    for log in logs.iter_mut() {
                        log.stdout.set_limits(limits);
                        log.stderr.set_limits(limits);
                    }
                }
            },
            () = sleep_until(end) => {
                return Some(state.settings.result(state.ends_at_unix_nanos));
            }
        }
    }
}

/// How far the output of one stream has come.
struct Writing<'a> {
    output: &'a Output,
    left: u64,
    next: Instant,
}

impl<'a> Writing<'a> {
    fn new(output: &'a Output) -> Self {
        let left = if output.text.is_empty() { 0 } else { output.repeat + 1 };
        Self { output, left, next: Instant::now() }
    }

    async fn due(&self) {
        sleep_until(self.next).await;
    }

    fn write(&mut self, log: Option<&mut RotatingLog>) {
        if let Some(log) = log {
            log.write(self.output.text.as_bytes());
        }
        self.left -= 1;
        self.next += self.output.every;
    }
}

#[async_trait]
impl RunningTask for MockTask {
    async fn wait(&self) -> ExitResult {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await.map(|result| result.clone()) {
            Ok(Some(result)) => result,
            _ => ExitResult {
                err: Some("the agent is shutting down".to_owned()),
                lost: true,
                ..ExitResult::default()
            },
        }
    }

    async fn signal(&self, number: i32) -> Result<(), TaskError> {
        if self.exit.borrow().is_some() {
            return Err(TaskError::Ended);
        }
        tracing::debug!(number, "signal to a pretended task");
        self.signal_error.clone().map_or(Ok(()), |error| Err(TaskError::Refused(error)))
    }

    async fn stop(&self, _signal: i32, timeout: Duration) -> Result<ExitResult, TaskError> {
        // A task that has ended takes no orders, and its result is there at once.
        let _ = self.orders.send(Order::Stop).await;
        match self.wait_limited(timeout).await {
            Some(result) => Ok(result),
            // `kill_after` longer than the timeout pretends a task that is hard to kill.
            None => Ok(self.wait().await),
        }
    }

    async fn stats(&self) -> Result<TaskStats, TaskError> {
        if self.exit.borrow().is_some() { Err(TaskError::Ended) } else { Ok(TaskStats::default()) }
    }

    async fn update_logs(&self, max_files: u32, max_file_size_bytes: u64) -> Result<(), TaskError> {
        let limits = LogLimits { files_max: max_files, file_bytes_max: max_file_size_bytes };
        self.orders.send(Order::SetLogs(limits)).await.map_err(|_| TaskError::Ended)
    }

    async fn destroy(&self) -> Result<(), TaskError> {
        self.stop(9, Duration::ZERO).await.map(|_| ())
    }
}

impl Settings {
    fn result(&self, finished_at_unix_nanos: u64) -> ExitResult {
        ExitResult {
            exit_code: self.exit_code,
            signal: self.exit_signal,
            err: self.exit_err_msg.clone(),
            finished_at_unix_nanos,
            ..ExitResult::default()
        }
    }

    fn network(&self) -> Option<DriverNetwork> {
        let ip = self.driver_ip.clone()?;
        Some(DriverNetwork {
            ip,
            advertise: self.driver_advertise,
            port_map: self.driver_port_map.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
