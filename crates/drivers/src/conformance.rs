//! What every driver must do, as one suite that is run against each of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sandbox::Hierarchies;
use sandbox::cgroup::NodeClaim;
use serde_json::{Value, json};

use crate::{
    Driver, Exec, ExecOptions, ExitResult, LaunchPlan, LogPlan, MemoryMax, Mock, RawExec,
    RawExecOptions, RecoverError, RecoveredState, TaskError, TaskHandle, TaskResources,
};

const LIMIT: Duration = Duration::from_secs(30);
const SIGTERM: i32 = 15;

/// A driver with the configurations that make it behave in the ways the suite needs.
struct Subject {
    driver: Arc<dyn Driver>,
    exits: fn(i32) -> Value,
    runs: fn() -> Value,
    prints: fn(&str) -> Value,
}

fn raw_exec() -> Option<Subject> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return None;
    }
    Some(Subject {
        driver: Arc::new(RawExec::new(RawExecOptions { enabled: true, ..Default::default() })),
        exits: |code| json!({"command": "/bin/sh", "args": ["-c", format!("exit {code}")]}),
        runs: || json!({"command": "/bin/sleep", "args": ["1000"]}),
        prints: |text| json!({"command": "/bin/echo", "args": ["-n", text]}),
    })
}

fn exec() -> Option<Subject> {
    let driver = Exec::new(ExecOptions::default());
    let print = driver.fingerprint();
    if !print.healthy {
        eprintln!("skipped: {}", print.description);
        return None;
    }
    Some(Subject {
        driver: Arc::new(driver),
        // The first process of a namespace is not ended by signals it does not handle.
        runs: || {
            let script = "trap 'exit 0' TERM; sleep 1000 & wait";
            json!({"command": "/bin/sh", "args": ["-c", script]})
        },
        ..raw_exec()?
    })
}

fn mock() -> Subject {
    Subject {
        driver: Arc::new(Mock::new(true)),
        exits: |code| json!({"exit_code": code}),
        runs: || json!({"run_for": "1000s"}),
        prints: |text| json!({"stdout_string": text}),
    }
}

/// One started task's surroundings, removed at the end.
struct Place {
    directory: tempfile::TempDir,
    node_id: String,
    claim: Option<NodeClaim>,
}

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::tempdir().unwrap();
        for name in ["shared", "task"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        let node_id = format!("conformance-{}-{count}", std::process::id());
        let claim = NodeClaim::acquire(&Hierarchies::detect(), &node_id).ok();
        Self { directory, node_id, claim }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn plan(&self, config: &Value) -> LaunchPlan {
        LaunchPlan {
            node_id: self.node_id.clone(),
            alloc_id: "alloc".to_owned(),
            task_name: "task".to_owned(),
            config: config.as_object().unwrap().clone(),
            env: BTreeMap::new(),
            user: None,
            task_dir: self.path().join("task"),
            alloc_dir: self.path().join("shared"),
            logs: LogPlan {
                dir: self.path().to_owned(),
                stdout: "task.stdout".to_owned(),
                stderr: "task.stderr".to_owned(),
                max_files: 2,
                max_file_size_bytes: 1 << 20,
            },
            state_dir: self.path().join("state"),
            resources: TaskResources {
                cpu_shares: 100,
                memory_mb: 32,
                memory_max: MemoryMax::Same,
            },
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            claim.give_back(true);
        }
    }
}

async fn exit_of(wait: impl Future<Output = ExitResult>) -> ExitResult {
    tokio::time::timeout(LIMIT, wait).await.expect("the task ends in time")
}

async fn conforms(subject: &Subject) {
    reports_the_exit_again_and_again(subject).await;
    writes_output_to_the_log(subject).await;
    stops_a_running_task(subject).await;
    finds_a_running_task_again(subject).await;
    knows_the_exit_of_a_task_that_ended_unwatched(subject).await;
    refuses_what_it_does_not_know(subject).await;
    gives_back_a_running_task(subject).await;
}

async fn reports_the_exit_again_and_again(subject: &Subject) {
    let place = Place::new();
    for code in [0, 7] {
        let started = subject.driver.start(place.plan(&(subject.exits)(code))).await.unwrap();
        let result = exit_of(started.task.wait()).await;
        assert_eq!((result.exit_code, result.signal, &result.err), (code, 0, &None));
        assert_eq!(result.is_success(), code == 0);
        assert!(result.finished_at_unix_nanos > 1_600_000_000_000_000_000);
        assert_eq!(exit_of(started.task.wait()).await, result);
        assert_eq!(started.task.signal(SIGTERM).await, Err(TaskError::Ended));
        assert_eq!(started.task.stop(SIGTERM, LIMIT).await.unwrap(), result);
        started.task.destroy().await.unwrap();
        started.task.destroy().await.unwrap();
        assert!(!place.path().join("state").exists());
    }
}

async fn writes_output_to_the_log(subject: &Subject) {
    let place = Place::new();
    let started = subject.driver.start(place.plan(&(subject.prints)("some text"))).await.unwrap();
    exit_of(started.task.wait()).await;
    started.task.destroy().await.unwrap();
    let log = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!(log("task.stdout.0"), "some text");
    assert_eq!(log("task.stderr.0"), "");
}

async fn stops_a_running_task(subject: &Subject) {
    let place = Place::new();
    let started = subject.driver.start(place.plan(&(subject.runs)())).await.unwrap();
    started.task.stats().await.unwrap();
    started.task.update_logs(1, 10).await.unwrap();
    let stopped = started.task.stop(SIGTERM, LIMIT).await.unwrap();
    assert_eq!(exit_of(started.task.wait()).await, stopped);
    assert_eq!(started.task.stats().await, Err(TaskError::Ended));
    started.task.destroy().await.unwrap();
}

async fn finds_a_running_task_again(subject: &Subject) {
    let place = Place::new();
    let started = subject.driver.start(place.plan(&(subject.runs)())).await.unwrap();
    let stored = serde_json::to_string(&started.handle).unwrap();
    drop(started);
    let handle: TaskHandle = serde_json::from_str(&stored).unwrap();
    for _ in 0..2 {
        let found = subject.driver.recover(&handle).await.unwrap();
        assert_eq!(found.state, RecoveredState::Running);
    }
    let found = subject.driver.recover(&handle).await.unwrap();
    found.task.stop(SIGTERM, LIMIT).await.unwrap();
    found.task.destroy().await.unwrap();
}

async fn knows_the_exit_of_a_task_that_ended_unwatched(subject: &Subject) {
    let place = Place::new();
    let started = subject.driver.start(place.plan(&(subject.exits)(5))).await.unwrap();
    let result = exit_of(started.task.wait()).await;
    let handle = started.handle.clone();
    drop(started);
    let found = subject.driver.recover(&handle).await.unwrap();
    let RecoveredState::AlreadyExited(known) = found.state else { panic!("{:?}", found.state) };
    assert_eq!((known.exit_code, known.signal), (result.exit_code, result.signal));
    assert_eq!(exit_of(found.task.wait()).await.exit_code, 5);
    found.task.destroy().await.unwrap();
}

async fn refuses_what_it_does_not_know(subject: &Subject) {
    let place = Place::new();
    let mut config = (subject.exits)(0);
    config["bogus"] = json!(1);
    let problems = subject.driver.check_config(config.as_object().unwrap()).unwrap_err();
    assert!(problems.iter().any(|problem| problem.contains("\"bogus\"")), "{problems:?}");
    let refused = subject.driver.start(place.plan(&config)).await.err().unwrap();
    assert!(!refused.recoverable && refused.message.contains("bogus"), "{refused:?}");

    let driver = subject.driver.name().to_owned();
    let handle =
        TaskHandle { driver, version: 1, started_at_unix_nanos: 1, state: json!({"odd": 1}) };
    let recover = async |handle: TaskHandle| subject.driver.recover(&handle).await.err().unwrap();
    let malformed = recover(handle.clone()).await;
    assert!(matches!(malformed, RecoverError::Malformed(_)), "{malformed:?}");
    let newer = recover(TaskHandle { version: 99, ..handle.clone() }).await;
    assert!(matches!(newer, RecoverError::OtherVersion { .. }), "{newer:?}");
    let foreign = recover(TaskHandle { driver: "other".to_owned(), ..handle }).await;
    assert!(matches!(foreign, RecoverError::OtherDriver { .. }), "{foreign:?}");
}

async fn gives_back_a_running_task(subject: &Subject) {
    let place = Place::new();
    let started = subject.driver.start(place.plan(&(subject.runs)())).await.unwrap();
    started.task.destroy().await.unwrap();
    exit_of(started.task.wait()).await;
    assert!(!place.path().join("state").exists());
}

#[tokio::test]
async fn raw_exec_conforms() {
    if let Some(subject) = raw_exec() {
        conforms(&subject).await;
    }
}

#[tokio::test]
async fn exec_conforms() {
    if let Some(subject) = exec() {
        conforms(&subject).await;
    }
}

#[tokio::test]
async fn the_mock_conforms() {
    conforms(&mock()).await;
}
