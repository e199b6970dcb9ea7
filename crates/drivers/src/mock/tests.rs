//! Each failure that a job file can ask for.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::plan::{MemoryMax, TaskResources};

fn plan(directory: &std::path::Path, config: Value) -> LaunchPlan {
    LaunchPlan {
        node_id: "node".to_owned(),
        alloc_id: "alloc".to_owned(),
        task_name: "task".to_owned(),
        config: config.as_object().unwrap().clone(),
        env: BTreeMap::new(),
        user: None,
        task_dir: directory.to_owned(),
        alloc_dir: directory.to_owned(),
        logs: LogPlan {
            dir: directory.to_owned(),
            stdout: "out".to_owned(),
            stderr: "err".to_owned(),
            max_files: 1,
            max_file_size_bytes: 100,
        },
        state_dir: directory.join("state"),
        resources: TaskResources { cpu_shares: 1, memory_mb: 1, memory_max: MemoryMax::Same },
    }
}

async fn start(config: Value) -> Result<(Started, tempfile::TempDir), StartError> {
    let directory = tempfile::tempdir().unwrap();
    Mock::new(true).start(plan(directory.path(), config)).await.map(|started| (started, directory))
}

#[tokio::test]
async fn a_start_fails_as_asked() {
    let error = start(json!({"start_error": "no"})).await.err().unwrap();
    assert_eq!(error, StartError::fatal("no"));
    let config = json!({"start_error": "later", "start_error_recoverable": "true"});
    assert_eq!(start(config).await.err().unwrap(), StartError::recoverable("later"));
    let error = start(json!({"plugin_exit_after": "1s"})).await.err().unwrap();
    assert!(error.message.contains("plugin_exit_after"), "{error}");
    let error = start(json!({"driver_port_map": "http"})).await.err().unwrap();
    assert!(error.message.contains("label:port"), "{error}");
    let directory = tempfile::tempdir().unwrap();
    let disabled = Mock::new(false).start(plan(directory.path(), json!({}))).await.err().unwrap();
    assert!(!disabled.recoverable);
}

#[tokio::test]
async fn a_task_ends_signals_and_announces_as_asked() {
    let config = json!({
        "run_for": "1ms", "exit_code": 2, "exit_signal": 3, "exit_err_msg": "broken",
        "driver_ip": "10.0.0.1", "driver_advertise": true, "driver_port_map": "http:80, admin:81",
    });
    let (started, _directory) = start(config).await.unwrap();
    let network = started.network.unwrap();
    assert_eq!((network.ip.as_str(), network.advertise), ("10.0.0.1", true));
    assert_eq!(network.port_map, BTreeMap::from([("http".into(), 80), ("admin".into(), 81)]));
    let result = started.task.wait().await;
    assert_eq!((result.exit_code, result.signal, result.err.as_deref()), (2, 3, Some("broken")));

    let (started, _directory) =
        start(json!({"run_for": "1h", "signal_error": "deaf"})).await.unwrap();
    assert_eq!(started.task.signal(1).await, Err(TaskError::Refused("deaf".to_owned())));
    assert!(started.task.stop(15, Duration::from_secs(10)).await.unwrap().is_success());
}

#[tokio::test]
async fn output_is_repeated_before_the_end() {
    let config = json!({"run_for": "20ms", "stdout_string": "ab", "stdout_repeat": 2,
        "stderr_string": "c", "stderr_repeat": "1", "stderr_repeat_duration": "1h"});
    let (started, directory) = start(config).await.unwrap();
    started.task.wait().await;
    let log = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!((log("out.0").as_str(), log("err.0").as_str()), ("ababab", "c"));
}

#[tokio::test]
async fn a_recovered_task_goes_on_by_the_clock() {
    let (started, _directory) = start(json!({"run_for": "1h", "exit_code": 4})).await.unwrap();
    let mut handle = started.handle.clone();
    drop(started);
    let found = Mock::new(true).recover(&handle).await.unwrap();
    assert_eq!(found.state, RecoveredState::Running);
    handle.state["ends_at_unix_nanos"] = 5.into();
    let found = Mock::new(true).recover(&handle).await.unwrap();
    let RecoveredState::AlreadyExited(result) = found.state else { panic!("{:?}", found.state) };
    assert_eq!((result.exit_code, result.finished_at_unix_nanos), (4, 5));
}
