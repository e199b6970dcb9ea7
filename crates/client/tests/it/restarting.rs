//! The agent leaves and comes back, is killed, or finds its memory gone: tasks do not notice, and
//! none is lost or doubled.

use model::alloc::{ClientStatus, TaskPhase};
use model::ids::AllocId;
use serde_json::json;

use crate::world::*;

const COUNTING: &str = "echo $$; i=0; while true; do i=$((i+1)); echo line $i; sleep 0.01; done";

fn lines(world: &World, alloc: AllocId) -> Vec<String> {
    let text = std::fs::read_to_string(world.path(alloc, "alloc/logs/t.stdout.0")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_lives_on_with_its_pid_and_loses_no_line() {
    let Some(mut world) = World::new().await else { return };
    let alloc = world.place("a", job("service", json!([script("t", COUNTING)])));
    world.until_file(alloc, "alloc/logs/t.stdout.0", "line 3\n").await;
    world.leave().await;
    let before = lines(&world, alloc).len();
    until("lines without an agent", || lines(&world, alloc).len() > before + 5).await;
    world.come_back().await;
    world.client().signal(&alloc, Some("t"), "SIGWINCH").await.ok();
    let before = lines(&world, alloc).len();
    until("lines after the return", || lines(&world, alloc).len() > before + 5).await;
    let lines = lines(&world, alloc);
    assert_eq!(lines.iter().filter(|line| !line.starts_with("line")).count(), 1, "one pid");
    for (index, line) in lines.iter().skip(1).take(lines.len() - 2).enumerate() {
        assert_eq!(*line, format!("line {}", index + 1));
    }
    world.stop(alloc);
    let update = world.until_status(alloc, ClientStatus::Complete).await;
    assert_eq!(update.tasks["t"].restarts, 0);
    assert_eq!(events(&update.tasks["t"]).matches("Started:").count(), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_while_the_agent_was_away_is_told_later() {
    let Some(mut world) = World::new().await else { return };
    let go = world.directory.path().join("go");
    let text = format!("until [ -e {} ]; do sleep 0.01; done; exit 3", go.display());
    let alloc = world.place("a", job("batch", json!([script("t", &text)])));
    world.until_task(alloc, "t", TaskPhase::Running).await;
    world.leave().await;
    std::fs::write(&go, "").unwrap();
    world.come_back().await;
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    let told = events(&update.tasks["t"]);
    assert!(told.contains("Terminated: Exit Code: 3\n"), "{told}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_is_told_again_and_restart_counts_are_kept() {
    let Some(mut world) = World::new().await else { return };
    let policy = json!({"RestartPolicy": {"Attempts": 1, "Mode": "fail", "Delay": 1_000_000,
        "Interval": 300_000_000_000_i64}});
    // Fails once, then stays.
    let text = "[ -e local/once ] && exec sleep 600; touch local/once; exit 1";
    let alloc = world.place("a", job("batch", json!([script_with("t", text, policy)])));
    let done = world.place("b", {
        let mut other = job("batch", json!([script("t", "true")]));
        other["ID"] = json!("other");
        other
    });
    world.until_status(done, ClientStatus::Complete).await;
    world
        .server
        .until("the restart", |seen| {
            let state = seen.last(alloc)?.tasks.get("t")?;
            (state.restarts == 1 && state.state == TaskPhase::Running).then_some(())
        })
        .await;
    world.leave().await;
    let heard = world.server.until("reports", |seen| Some(seen.all(done).len())).await;
    world.come_back().await;
    world
        .server
        .until("the end told again", |seen| (seen.all(done).len() > heard).then_some(()))
        .await;
    world.client().signal(&alloc, Some("t"), "SIGKILL").await.unwrap();
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    assert_eq!(update.tasks["t"].restarts, 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lost_its_memory_ends_its_tasks_and_starts_anew() {
    let Some(mut world) = World::new().await else { return };
    let alloc = world.place("a", job("service", json!([script("t", COUNTING)])));
    world.until_file(alloc, "alloc/logs/t.stdout.0", "line 3\n").await;
    let first: u32 = lines(&world, alloc)[0].parse().unwrap();
    world.leave().await;
    std::fs::write(world.directory.path().join("client/client.redb"), "rot").unwrap();
    world.come_back().await;
    world.until_file(alloc, "alloc/logs/t.stdout.0", "line 3\n").await;
    let second: u32 = lines(&world, alloc)[0].parse().unwrap();
    assert_ne!(first, second);
    let stat = std::fs::read_to_string(format!("/proc/{first}/stat"));
    assert!(stat.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_agent_on_the_same_directory_is_refused() {
    let Some(world) = World::new().await else { return };
    let second = client::Client::start(world.config(), world.servers()).await;
    let error = second.err().unwrap().to_string();
    assert!(error.starts_with("another agent uses the state directory"), "{error}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_forgotten_while_away_is_removed_at_the_return() {
    let Some(mut world) = World::new().await else { return };
    let alloc = world.place("a", job("service", json!([script("t", "exec sleep 600")])));
    world.until_task(alloc, "t", TaskPhase::Running).await;
    world.leave().await;
    world.forget(alloc);
    world.come_back().await;
    until("the directory to go", || !world.path(alloc, "").exists()).await;
    world.end().await;
}
