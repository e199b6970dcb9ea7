//! Tasks that run: their events, their environment, their order.

use expect_test::expect;
use model::alloc::{ClientStatus, TaskPhase};
use serde_json::json;

use crate::world::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_task_runs_to_its_end_and_everything_is_told() {
    let Some(world) = World::new().await else { return };
    let alloc = world.place("a", job("batch", json!([script("t", "echo hello; exit 0")])));
    let update = world.until_status(alloc, ClientStatus::Complete).await;
    assert_eq!(update.description, "All tasks have completed");
    let state = &update.tasks["t"];
    assert!(!state.failed && state.state == TaskPhase::Dead && !state.finished_at.is_zero());
    expect![[r#"
        Received: Task received by client
        Task Setup: Building Task Directory
        Started: Task started by client
        Terminated: Exit Code: 0
    "#]]
    .assert_eq(&events(state));
    let out = std::fs::read_to_string(world.path(alloc, "alloc/logs/t.stdout.0")).unwrap();
    assert_eq!(out, "hello\n");
    world.end().await;
}
