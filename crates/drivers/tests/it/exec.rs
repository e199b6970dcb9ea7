//! Isolated tasks: what they see, what they may use, and that nothing of them stays.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use drivers::{Driver, Exec, ExecOptions, RecoveredState};
use serde_json::json;

use crate::place::{LIMIT, Place, SIGTERM, exit_of, is_alive, until};

/// `None` where the machine cannot isolate tasks.
fn place_and_driver(options: ExecOptions) -> Option<(Place, Exec)> {
    let driver = Exec::new(options);
    let print = driver.fingerprint();
    if !print.healthy {
        eprintln!("skipped: {}", print.description);
        return None;
    }
    Some((Place::new()?, driver))
}

/// What is mounted below the test's directory, as the host sees it.
fn mounts(place: &Place) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let here = place.path().to_str().unwrap();
    all.lines().filter(|line| line.contains(here)).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_task_sees_its_directories_at_the_documented_places() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let script = "pwd; id -un; echo $$; touch /alloc/a /local/l r && ls -d /alloc /local /dev/null \
                  && (: >/usr/x) 2>/dev/null || echo read-only";
    let (result, output) = place.run_with(&driver, place.isolated(script)).await;
    assert_eq!(output, "/\nnobody\n1\n/alloc\n/dev/null\n/local\nread-only\n");
    assert!(result.is_success(), "{result:?}");
    for made in ["shared/a", "own/local/l", "own/r"] {
        assert!(place.path().join(made).exists(), "{made}");
    }
    assert!(!place.cgroup().exists());
    assert_eq!(mounts(&place), [""; 0]);
}

#[tokio::test]
async fn a_user_brings_its_name_and_home() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let mut plan = place.isolated("echo $USER $LOGNAME $HOME; id -u; cd /tmp && pwd");
    fs::create_dir(plan.task_dir.join("tmp")).unwrap();
    plan.user = Some("root".to_owned());
    let (_, output) = place.run_with(&driver, plan).await;
    assert_eq!(output, "root root /root\n0\n/tmp\n");
}

#[tokio::test]
async fn the_program_and_the_directory_are_those_of_the_root() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let mut plan = place.isolated("");
    fs::write(plan.task_dir.join("local/own"), "#!/bin/sh\necho $0; pwd\n").unwrap();
    plan.config = json!({"command": "own", "work_dir": "/local"}).as_object().unwrap().clone();
    let (_, output) = place.run_with(&driver, plan).await;
    assert_eq!(output, "/local/own\n/local\n");
}

#[tokio::test]
async fn what_cannot_start_says_why_and_leaves_nothing() {
    let chroot_env = |source: &str| {
        let paths = [(source, "/x"), ("/bin", "/bin"), ("/lib", "/lib"), ("/lib64", "/lib64")];
        let paths = paths.map(|(source, target)| (source.to_owned(), target.to_owned()));
        ExecOptions { chroot_env: Some(BTreeMap::from(paths)), ..ExecOptions::default() }
    };
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let fails = async |driver: &Exec, config: serde_json::Value| {
        let mut plan = place.isolated("");
        plan.config = config.as_object().unwrap().clone();
        let error = driver.start(plan).await.err().unwrap();
        assert!(!place.state_dir().exists() && !place.cgroup().exists(), "{error}");
        (error.recoverable, error.message)
    };
    let prefix = "failed to launch command with executor: rpc error: code = Unknown desc =";
    let task_dir = place.path().join("own");
    assert_eq!(
        fails(&driver, json!({"command": "/no/such"})).await,
        (false, format!("{prefix} file /no/such not found under path {}", task_dir.display()))
    );
    let (recoverable, message) =
        fails(&driver, json!({"command": "/bin/sh", "work_dir": "/no"})).await;
    assert!(recoverable && message.contains("working directory"), "{message}");
    let (_, message) =
        fails(&driver, json!({"command": "/bin/sh", "cap_add": ["sys_admin"]})).await;
    assert_eq!(message, "driver does not allow the following capabilities: sys_admin");
    let missing = Exec::new(chroot_env("/no/source"));
    let (_, message) = fails(&missing, json!({"command": "/bin/sh"})).await;
    assert!(message.contains("chroot source /no/source"), "{message}");
    assert_eq!(mounts(&place), [""; 0]);
}

#[tokio::test]
async fn a_task_beyond_its_memory_is_killed_and_told_so() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let hungry = "head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null; exit $?";
    let (result, _) = place.run_with(&driver, place.isolated(hungry)).await;
    assert!(result.oom_killed && result.exit_code == 137, "{result:?}");
    let (result, _) = place.run_with(&driver, place.isolated("kill -9 $$; exit 9")).await;
    assert!(!result.oom_killed, "{result:?}");
}

/// Writes the host's pid of a process that has left session, group and parent behind.
const ESCAPES: &str = "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & \
                       trap '' TERM; echo up; sleep 1000 & wait; sleep 1000";

/// All processes of the task, as the host numbers them.
async fn pids(place: &Place) -> Vec<u32> {
    place.log_lines(1).await;
    until("processes", || place.cgroup().pids().unwrap().len() >= 5).await;
    place.cgroup().pids().unwrap()
}

#[tokio::test]
async fn every_process_ends_with_the_task() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    for mode in ["private", "host"] {
        let mut plan = place.isolated(ESCAPES);
        plan.config.insert("pid_mode".to_owned(), json!(mode));
        let started = driver.start(plan).await.unwrap();
        let pids = pids(&place).await;
        let result = started.task.stop(SIGTERM, Duration::from_millis(50)).await.unwrap();
        assert_eq!((result.exit_code, result.signal), (137, 9), "{mode}");
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{mode}");
        started.task.destroy().await.unwrap();
        assert!(!place.cgroup().exists() && !place.state_dir().exists());
        fs::remove_file(place.path().join("logs/task.stdout.0")).unwrap();
    }
}

#[tokio::test]
async fn a_lost_supervisor_takes_the_task_with_it() {
    let Some((place, driver)) = place_and_driver(ExecOptions::default()) else { return };
    let started = driver.start(place.isolated(ESCAPES)).await.unwrap();
    let pids = pids(&place).await;
    let supervisor = started.handle.state["supervisor_pid"].as_i64().unwrap() as i32;
    let supervisor = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
    let result = exit_of(&*started.task).await;
    assert!(result.lost, "{result:?}");
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    let found = driver.recover(&started.handle).await.unwrap();
    assert!(matches!(found.state, RecoveredState::Lost(_)), "{:?}", found.state);
    found.task.destroy().await.unwrap();
    assert!(!place.cgroup().exists() && !place.state_dir().exists());
    assert_eq!(mounts(&place), [""; 0]);
}

#[tokio::test]
async fn the_directories_of_other_allocations_are_out_of_sight() {
    let Some((place, _)) = place_and_driver(ExecOptions::default()) else { return };
    let parent = place.path().parent().unwrap().to_str().unwrap().to_owned();
    let paths = [
        (parent.as_str(), "/above"),
        ("/usr", "/usr"),
        ("/bin", "/bin"),
        ("/lib", "/lib"),
        ("/lib64", "/lib64"),
    ];
    let paths = paths.map(|(source, target)| (source.to_owned(), target.to_owned()));
    let driver = Exec::new(ExecOptions {
        chroot_env: Some(BTreeMap::from(paths)),
        alloc_root: place.path().to_owned(),
        ..ExecOptions::default()
    });
    let name = place.path().file_name().unwrap().to_str().unwrap();
    let script = format!("ls -d /above/{name}; ls -A /above/{name}; echo end");
    let started = driver.start(place.isolated(&script)).await.unwrap();
    tokio::time::timeout(LIMIT, started.task.wait()).await.unwrap();
    started.task.destroy().await.unwrap();
    assert_eq!(place.log("task.stdout.0"), format!("/above/{name}\nend\n"));
}
