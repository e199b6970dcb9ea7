//! Prints figures; asserts only that everything ends well.

use std::time::Instant;

use model::alloc::ClientStatus;
use serde_json::json;

use crate::world::*;

const TASKS: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn many_short_tasks() {
    let begin = Instant::now();
    let Some(world) = World::new().await else { return };
    world.server.until("a heartbeat", |seen| (seen.heartbeats() > 0).then_some(())).await;
    println!("start to first heartbeat: {:?}", begin.elapsed());
    let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"}});
    let begin = Instant::now();
    let allocs = world.place_many(TASKS, job("batch", json!([task])));
    for alloc in &allocs {
        world.until_status(*alloc, ClientStatus::Complete).await;
    }
    let took = begin.elapsed();
    println!("{TASKS} tasks in {took:?}: {:.0}/s", TASKS as f64 / took.as_secs_f64());
    let begin = Instant::now();
    world.end().await;
    println!("end: {:?}", begin.elapsed());
}
