//! Tasks as they live and end while an agent is there.

use drivers::{DeniedIds, Driver, IdRanges, RawExecOptions};
use serde_json::json;

use crate::place::{LIMIT, Place, SIGTERM, exit_of, is_alive, until};
use std::time::Duration;

#[tokio::test]
async fn exit_code_and_signal_are_told_as_a_shell_would() {
    let Some(place) = Place::new() else { return };
    let (result, _) = place.run(place.script("exit 3")).await;
    assert_eq!((result.exit_code, result.signal, result.oom_killed), (3, 0, false));
    let (result, _) = place.run(place.script("kill -9 $$; exit 5")).await;
    assert_eq!((result.exit_code, result.signal), (137, 9));
}

#[tokio::test]
async fn the_environment_is_exactly_the_given_one_without_what_is_denied() {
    let options = RawExecOptions {
        enabled: true,
        denied_envvars: vec!["NODE_*".into()],
        ..Default::default()
    };
    let Some(place) = Place::with(options) else { return };
    let mut plan = place.script("tr '\\0' '\\n' < /proc/$$/environ");
    for (name, value) in [("A", "1 2\n3=4"), ("NODE_SECRET", "x"), ("MY_TOKEN", "y")] {
        plan.env.insert(name.to_owned(), value.to_owned());
    }
    plan.config.insert("denied_envvars".to_owned(), json!(["*_TOKEN"]));
    let (_, output) = place.run(plan).await;
    assert_eq!(output, "A=1 2\n3=4\nPATH=/usr/bin:/bin\n");
}

#[tokio::test]
async fn a_task_starts_in_its_directory_or_where_it_says() {
    let Some(place) = Place::new() else { return };
    let script = "pwd; umask; cat /proc/self/oom_score_adj";
    let mut plan = place.script(script);
    plan.config.insert("oom_score_adj".to_owned(), json!("7"));
    let (_, output) = place.run(plan).await;
    assert_eq!(output, format!("{}\n0022\n7\n", place.path().display()));
    let mut plan = place.script("pwd");
    plan.config.insert("work_dir".to_owned(), json!("/usr"));
    let (_, output) = place.run(plan).await;
    assert!(output.ends_with("\n/usr\n"), "{output}");
}

#[tokio::test]
async fn a_task_runs_as_its_user_with_that_users_groups() {
    let Some(place) = Place::new() else { return };
    let mut plan = place.script("id -u; id -g; id -G; grep NoNewPrivs /proc/self/status >&2");
    plan.user = Some("nobody".to_owned());
    let (result, output) = place.run(plan).await;
    let user = sandbox::lookup_user("nobody").unwrap();
    let groups: Vec<String> = user.groups.iter().map(u32::to_string).collect();
    assert_eq!(output, format!("{}\n{}\n{}\n", user.uid, user.gid, groups.join(" ")));
    assert!(result.is_success());
}

#[tokio::test]
async fn a_start_that_cannot_succeed_says_why_and_leaves_nothing() {
    let options = RawExecOptions {
        enabled: true,
        denied_ids: DeniedIds { uids: IdRanges::parse("65534").unwrap(), ..Default::default() },
        ..Default::default()
    };
    let Some(place) = Place::with(options) else { return };
    let fails = async |change: &dyn Fn(&mut drivers::LaunchPlan)| {
        let mut plan = place.script("true");
        change(&mut plan);
        let error = place.driver.start(plan).await.err().unwrap();
        assert!(!place.state_dir().exists() && !place.cgroup().exists(), "{error}");
        (error.recoverable, error.message)
    };
    let prefix = "failed to launch command with executor: rpc error: code = Unknown desc =";
    assert_eq!(
        fails(&|plan| plan.config["command"] = json!("/no/such/binary")).await,
        (false, format!("{prefix} binary \"/no/such/binary\" could not be found"))
    );
    assert_eq!(
        fails(&|plan| plan.user = Some("no-such-user".to_owned())).await,
        (
            true,
            format!(
                "{prefix} Failed to identify user no-such-user: user: unknown user no-such-user"
            )
        )
    );
    let (_, message) = fails(&|plan| plan.user = Some("nobody".to_owned())).await;
    assert!(message.contains("uid 65534 is disallowed"), "{message}");
    let not_executable = place.path().join("plain");
    std::fs::write(&not_executable, "").unwrap();
    let (_, message) = fails(&|plan| plan.config["command"] = json!(not_executable)).await;
    assert!(message.contains("cannot execute the program: Permission denied"), "{message}");
    let (_, message) = fails(&|plan| plan.task_dir = "/no/such/place".into()).await;
    assert!(message.contains("cannot enter its working directory"), "{message}");
    let (_, message) = fails(&|plan| plan.logs.dir = "/no/such/place".into()).await;
    assert!(message.contains("cannot open the log"), "{message}");
}

#[tokio::test]
async fn logs_rotate_without_losing_or_doubling_a_byte() {
    let Some(place) = Place::new() else { return };
    let mut plan = place.script("seq 1 100000; echo end >&2");
    plan.logs.max_files = 4;
    plan.logs.max_file_size_bytes = 70_001;
    let started = place.driver.start(plan).await.unwrap();
    assert!(exit_of(&*started.task).await.is_success());
    let whole: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let last = (whole.len() - 1) / 70_001;
    let kept: Vec<String> =
        (last - 3..=last).map(|number| place.log(&format!("task.stdout.{number}"))).collect();
    assert!(kept[..3].iter().all(|text| text.len() == 70_001));
    assert_eq!(kept.concat(), whole[(last - 3) * 70_001..]);
    assert_eq!(std::fs::read_dir(place.path().join("logs")).unwrap().count(), 5);
    assert_eq!(place.log("task.stderr.0"), "end\n");
    started.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_stop_is_asked_for_first_and_forced_when_the_time_is_over() {
    let Some(place) = Place::new() else { return };
    let gentle =
        place.script("trap 'echo got; exit 4' TERM; echo up; while :; do sleep 0.01; done");
    let started = place.driver.start(gentle).await.unwrap();
    place.log_lines(1).await;
    let result = started.task.stop(SIGTERM, LIMIT).await.unwrap();
    assert_eq!((result.exit_code, place.log("task.stdout.0").as_str()), (4, "up\ngot\n"));
    started.task.destroy().await.unwrap();

    let deaf = place.script("trap '' TERM; echo deaf; while :; do sleep 0.01; done");
    let started = place.driver.start(deaf).await.unwrap();
    place.log_lines(3).await;
    let result = started.task.stop(SIGTERM, Duration::from_millis(50)).await.unwrap();
    assert_eq!((result.exit_code, result.signal), (137, 9));
    started.task.destroy().await.unwrap();
}

#[tokio::test]
async fn descendants_that_left_session_and_parent_end_with_the_task() {
    let Some(place) = Place::new() else { return };
    let hidden = "(setsid sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' &) ; ";
    let started = place.driver.start(place.script(&format!("{hidden} sleep 1000"))).await.unwrap();
    let pid: u32 = place.log_lines(1).await[0].parse().unwrap();
    assert!(is_alive(pid));
    assert!(started.task.stats().await.unwrap().processes >= 3);
    started.task.stop(SIGTERM, LIMIT).await.unwrap();
    assert!(!is_alive(pid) && !place.cgroup().exists());
    started.task.destroy().await.unwrap();

    // The same when the main process ends by itself, and the pipe is held open by the descendant.
    let script = format!("{hidden} while ! test -s logs/task.stdout.0; do :; done; exit 6");
    std::fs::remove_file(place.path().join("logs/task.stdout.0")).unwrap();
    let started = place.driver.start(place.script(&script)).await.unwrap();
    assert_eq!(exit_of(&*started.task).await.exit_code, 6);
    let pid: u32 = place.log_lines(1).await[0].parse().unwrap();
    assert!(!is_alive(pid) && !place.cgroup().exists());
    started.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_descendant_that_left_the_cgroup_ends_with_the_task() {
    let Some(place) = Place::new() else { return };
    let escape = "(setsid sh -c 'for tree in /sys/fs/cgroup /sys/fs/cgroup/*; do \
                  test -e $tree/muster && echo 0 > $tree/cgroup.procs; done; echo $$; \
                  exec sleep 1000' &) ; exec sleep 1000";
    let started = place.driver.start(place.script(escape)).await.unwrap();
    let pid: u32 = place.log_lines(1).await[0].parse().unwrap();
    until("the escape", || !place.cgroup().pids().unwrap().contains(&pid)).await;
    started.task.stop(SIGTERM, LIMIT).await.unwrap();
    assert!(!is_alive(pid));
    started.task.destroy().await.unwrap();
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let Some(place) = Place::new() else { return };
    // Given up before anything was done, and in the middle.
    drop(place.driver.start(place.script("sleep 1000")));
    let mut starting = Box::pin(place.driver.start(place.script("sleep 1000")));
    let mut started = None;
    while started.is_none() && !place.state_dir().exists() {
        started = tokio::time::timeout(Duration::from_micros(10), &mut starting).await.ok();
    }
    drop(starting);
    if let Some(started) = started {
        // It was faster than this test could look.
        started.unwrap().task.destroy().await.unwrap();
    }
    until("the end of all of it", || !place.state_dir().exists() && !place.cgroup().exists()).await;
}
