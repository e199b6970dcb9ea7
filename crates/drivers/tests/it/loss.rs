//! Agents and supervisors that go away while a task runs.

use drivers::{Driver, RecoveredState, TaskHandle};

use crate::place::{LIMIT, Place, SIGTERM, exit_of, is_alive, until};

fn number(handle: &TaskHandle, name: &str) -> u32 {
    handle.state[name].as_u64().unwrap() as u32
}

#[tokio::test]
async fn a_task_is_found_again_with_all_its_output() {
    let Some(place) = Place::new() else { return };
    let script =
        "echo before; while ! test -e go; do sleep 0.01; done; echo after; exec sleep 1000";
    let started = place.driver.start(place.script(script)).await.unwrap();
    place.log_lines(1).await;
    let handle = started.handle.clone();
    let pid = number(&handle, "task_pid");
    drop(started);
    std::fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(place.log_lines(2).await, ["before", "after"]);
    let found = place.driver.recover(&handle).await.unwrap();
    assert_eq!(found.state, RecoveredState::Running);
    assert!(is_alive(pid));
    found.task.signal(SIGTERM).await.unwrap();
    let result = exit_of(&*found.task).await;
    assert_eq!((result.exit_code, result.signal), (143, 15));
    found.task.destroy().await.unwrap();
    assert!(!place.state_dir().exists());
}

#[tokio::test]
async fn an_exit_while_nobody_listened_is_known_afterwards() {
    let Some(place) = Place::new() else { return };
    let script = "while ! test -e go; do sleep 0.01; done; echo last; exit 9";
    let started = place.driver.start(place.script(script)).await.unwrap();
    let handle = started.handle.clone();
    drop(started);
    std::fs::write(place.path().join("go"), "").unwrap();
    until("the supervisor's end", || !is_alive(number(&handle, "supervisor_pid"))).await;
    let found = place.driver.recover(&handle).await.unwrap();
    let RecoveredState::AlreadyExited(result) = found.state else { panic!("{:?}", found.state) };
    assert_eq!((result.exit_code, result.lost), (9, false));
    assert_eq!(place.log("task.stdout.0"), "last\n");
    assert!(!place.cgroup().exists());
    found.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_lost_supervisor_is_reported_and_nothing_of_its_task_stays() {
    let Some(place) = Place::new() else { return };
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & wait";
    for watched in [true, false] {
        let started = place.driver.start(place.script(script)).await.unwrap();
        let pids: Vec<u32> =
            place.log_lines(1).await.iter().map(|line| line.parse().unwrap()).collect();
        let handle = started.handle.clone();
        let (task, supervisor) = (number(&handle, "task_pid"), number(&handle, "supervisor_pid"));
        let kill = || {
            let pid = rustix::process::Pid::from_raw(supervisor as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        };
        let (task_object, result) = if watched {
            kill();
            let result = exit_of(&*started.task).await;
            (started.task, result)
        } else {
            drop(started);
            kill();
            until("the supervisor's end", || !is_alive(supervisor)).await;
            let found = place.driver.recover(&handle).await.unwrap();
            let RecoveredState::Lost(result) = found.state else { panic!("{:?}", found.state) };
            (found.task, result)
        };
        assert!(result.lost && !result.is_success());
        assert_eq!(result.err.as_deref(), Some("supervisor lost, exit status unknown"));
        assert!(!is_alive(task));
        assert!(pids.iter().all(|pid| !is_alive(*pid)));
        task_object.destroy().await.unwrap();
        assert!(!place.cgroup().exists() && !place.state_dir().exists());
    }
}

#[tokio::test]
async fn a_second_start_in_the_same_place_ends_the_first_copy() {
    let Some(place) = Place::new() else { return };
    let first = place.driver.start(place.script("exec sleep 1000")).await.unwrap();
    let second = place.driver.start(place.script("exec sleep 1000")).await.unwrap();
    assert!(!is_alive(number(&first.handle, "task_pid")));
    assert!(is_alive(number(&second.handle, "task_pid")));
    assert_eq!(exit_of(&*first.task).await.signal, 9);
    second.task.stop(SIGTERM, LIMIT).await.unwrap();
    second.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_handle_of_another_task_does_not_reach_the_one_that_runs() {
    let Some(place) = Place::new() else { return };
    let started = place.driver.start(place.script("exec sleep 1000")).await.unwrap();
    let mut stale = started.handle.clone();
    stale.state["supervisor_start_ticks"] = 1.into();
    stale.state["task_start_ticks"] = 1.into();
    let found = place.driver.recover(&stale).await.unwrap();
    assert!(!matches!(found.state, RecoveredState::Running), "{:?}", found.state);
    assert!(!is_alive(number(&started.handle, "task_pid")), "never two copies");
    found.task.destroy().await.unwrap();
    started.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_state_directory_may_have_a_very_long_path() {
    let Some(place) = Place::new() else { return };
    let mut plan = place.script("exec sleep 1000");
    plan.state_dir = place.path().join("x".repeat(120)).join("y".repeat(120));
    let started = place.driver.start(plan).await.unwrap();
    let handle = started.handle.clone();
    drop(started);
    let found = place.driver.recover(&handle).await.unwrap();
    assert_eq!(found.state, RecoveredState::Running);
    found.task.stop(SIGTERM, LIMIT).await.unwrap();
    found.task.destroy().await.unwrap();
}

/// Where the killed agent keeps its things, as its successor knows too.
const PLACE_VARIABLE: &str = "DRIVERS_TEST_PLACE";

#[tokio::test]
async fn a_killed_agent_leaves_task_log_and_supervisor_to_the_next() {
    let Some(place) = Place::new() else { return };
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "loss::agent_that_is_killed"])
        .env(PLACE_VARIABLE, serde_json::json!([place.path(), place.node_id]).to_string())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    let stored = std::fs::read_to_string(place.path().join("handle")).unwrap();
    let handle: TaskHandle = serde_json::from_str(&stored).unwrap();
    std::fs::write(place.path().join("go"), "").unwrap();
    assert_eq!(place.log_lines(2).await, ["before", "after"]);
    let found = place.driver.recover(&handle).await.unwrap();
    assert_eq!(found.state, RecoveredState::Running);
    assert!(is_alive(number(&handle, "task_pid")));
    let result = found.task.stop(SIGTERM, LIMIT).await.unwrap();
    assert_eq!(result.signal, 15);
    found.task.destroy().await.unwrap();
    until("the supervisor's end", || !is_alive(number(&handle, "supervisor_pid"))).await;
}

#[tokio::test]
#[ignore = "run by a_killed_agent_leaves_task_log_and_supervisor_to_the_next"]
async fn agent_that_is_killed() {
    let Ok(variable) = std::env::var(PLACE_VARIABLE) else { return };
    let (directory, node_id): (std::path::PathBuf, String) =
        serde_json::from_str(&variable).unwrap();
    let Some(place) = Place::new() else { return };
    let script =
        "echo before; while ! test -e go; do sleep 0.01; done; echo after; exec sleep 1000";
    let mut plan = place.script(script);
    plan.node_id = node_id;
    plan.task_dir = directory.clone();
    plan.logs.dir = directory.join("logs");
    plan.state_dir = directory.join("state/task");
    let started = place.driver.start(plan).await.unwrap();
    let handle = serde_json::to_string(&started.handle).unwrap();
    std::fs::write(directory.join("handle"), handle).unwrap();
    // What a kill does not do.
    std::fs::remove_dir_all(place.path()).unwrap();
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    std::future::pending().await
}
