//! How tasks end: by themselves, by failure, by request, and with their allocation.

use expect_test::expect;
use model::alloc::{ClientStatus, TaskPhase};
use serde_json::json;

use crate::world::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_task_is_restarted_within_its_policy() {
    let Some(world) = World::new().await else { return };
    let policy = json!({"RestartPolicy": {"Attempts": 2, "Mode": "fail", "Delay": 1_000_000,
        "Interval": 300_000_000_000_i64}});
    let alloc = world.place("a", job("batch", json!([script_with("t", "exit 7", policy)])));
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    let state = &update.tasks["t"];
    assert_eq!((update.description.as_str(), state.restarts), ("Failed tasks", 2));
    assert!(state.failed);
    let text = events(state);
    let last =
        "Not Restarting: Exceeded allowed attempts 2 in interval 5m0s and mode is \"fail\"\n";
    assert!(text.ends_with(last), "{text}");
    assert_eq!(text.matches("Terminated: Exit Code: 7").count(), 3);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_task_gets_its_signal_and_its_time() {
    let Some(world) = World::new().await else { return };
    let graceful = "trap 'echo got-int; exit 0' INT; echo ready; while true; do sleep 0.02; done";
    let stubborn = "trap '' INT TERM; echo ready; while true; do sleep 0.02; done";
    let usr2 = "trap 'echo got-usr2; exit 3' USR2; echo ready; while true; do sleep 0.02; done";
    let patient = json!({"KillTimeout": 20_000_000_000_i64});
    let short = json!({"KillTimeout": 50_000_000});
    let alloc = world.place(
        "a",
        job(
            "service",
            json!([
                script_with("graceful", graceful, patient),
                script_with("stubborn", stubborn, short),
                script_with(
                    "usr2",
                    usr2,
                    json!({"KillSignal": "SIGUSR2", "KillTimeout": 20_000_000_000_i64})
                ),
            ]),
        ),
    );
    for task in ["graceful", "stubborn", "usr2"] {
        world.until_file(alloc, &format!("alloc/logs/{task}.stdout.0"), "ready").await;
        // A task may speak before the client has heard that it runs.
        world.until_task(alloc, task, TaskPhase::Running).await;
    }
    world.stop(alloc);
    let update = world.until_status(alloc, ClientStatus::Complete).await;
    expect![[r#"
        Received: Task received by client
        Task Setup: Building Task Directory
        Started: Task started by client
        Killing: Sent interrupt. Waiting 20s before force killing
        Terminated: Exit Code: 0
        Killed: Task successfully killed
    "#]]
    .assert_eq(&events(&update.tasks["graceful"]));
    let stubborn = events(&update.tasks["stubborn"]);
    assert!(stubborn.contains("Terminated: Exit Code: 137, Signal: 9"), "{stubborn}");
    let usr2 = events(&update.tasks["usr2"]);
    assert!(usr2.contains("Terminated: Exit Code: 3\n"), "{usr2}");
    assert!(update.tasks.values().all(|state| !state.failed));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_task_takes_its_siblings_with_it() {
    let Some(world) = World::new().await else { return };
    let tasks = json!([script("bad", "sleep 0.1; exit 1"), script("good", "exec sleep 600")]);
    let alloc = world.place("a", job("batch", tasks));
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    expect![[r#"
        Received: Task received by client
        Task Setup: Building Task Directory
        Started: Task started by client
        Terminated: Exit Code: 1
        Not Restarting: Policy allows no restarts
        Killing: Sent interrupt. Waiting 1s before force killing
    "#]]
    .assert_eq(&events(&update.tasks["bad"]));
    let good = events(&update.tasks["good"]);
    assert!(good.contains("Sibling Task Failed: Task's sibling \"bad\" failed\nKilling"), "{good}");
    assert!(!update.tasks["good"].failed);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_prestart_task_ends_what_has_not_begun() {
    let Some(world) = World::new().await else { return };
    let init = script_with("init", "exit 4", json!({"Lifecycle": {"Hook": "prestart"}}));
    let alloc = world.place("a", job("batch", json!([init, script("main", "true")])));
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    expect![[r#"
        Received: Task received by client
        Sibling Task Failed: Task's sibling "init" failed
        Killing: Sent interrupt. Waiting 1s before force killing
    "#]]
    .assert_eq(&events(&update.tasks["main"]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_takes_the_others_with_it() {
    let Some(world) = World::new().await else { return };
    let lead = script_with("lead", "sleep 0.1", json!({"Leader": true}));
    let alloc = world.place("a", job("batch", json!([lead, script("sib", "exec sleep 600")])));
    let update = world.until_status(alloc, ClientStatus::Complete).await;
    let sib = events(&update.tasks["sib"]);
    assert!(sib.contains("Leader Task Dead: Leader Task in Group dead\nKilling"), "{sib}");
    assert!(events(&update.tasks["lead"]).ends_with("before force killing\n"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why() {
    let Some(world) = World::new().await else { return };
    let cases = [
        (
            json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/no/such/binary"}}),
            "Driver Failure: failed to launch command with executor: rpc error: code = Unknown \
             desc = binary \"/no/such/binary\" could not be found\n",
        ),
        (
            json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "x", "bogus": 1}}),
            "Failed Validation: 2 errors occurred:\n\t* failed to parse config: \n\t* Invalid \
             label: No argument or block type is named \"bogus\".\n\n\n",
        ),
        (
            json!({"Name": "t", "Driver": "mock_driver", "Config": {"start_error": "no luck"}}),
            "Driver Failure: no luck\n",
        ),
        (
            json!({"Name": "t", "Driver": "none", "Config": {}}),
            "Failed Validation: 1 error occurred:\n\t* failed to find driver \"none\"\n\n\n",
        ),
        (
            json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"},
                "Templates": [{"EmbeddedTmpl": "x"}]}),
            "Setup Failure: this agent does not support \"template\" blocks yet\n",
        ),
    ];
    for (number, (task, expected)) in cases.into_iter().enumerate() {
        let mut text = job("batch", json!([task]));
        text["ID"] = json!(format!("j{number}"));
        let alloc = world.place(&format!("a{number}"), text);
        let update = world.until_status(alloc, ClientStatus::Failed).await;
        let told = events(&update.tasks["t"]);
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("Not Restarting"), "{told}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_hangs_is_given_up_when_the_allocation_is_stopped() {
    let Some(world) = World::new().await else { return };
    let config = json!({"start_block_for": "600s", "run_for": "1s"});
    let task = json!({"Name": "t", "Driver": "mock_driver", "Config": config});
    let alloc = world.place("a", job("service", json!([task])));
    world
        .server
        .until("the setup", |seen| {
            let events = &seen.last(alloc)?.tasks.get("t")?.events;
            events.iter().any(|event| event.kind == "Task Setup").then_some(())
        })
        .await;
    world.stop(alloc);
    world.until_status(alloc, ClientStatus::Complete).await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_the_servers_forgot_leaves_nothing() {
    let Some(world) = World::new().await else { return };
    let text = job("service", json!([script("t", "sleep 600 & exec sleep 600")]));
    let (gone, stays) = (world.place("gone", text.clone()), world.place("stays", text));
    for alloc in [gone, stays] {
        world.until_task(alloc, "t", TaskPhase::Running).await;
    }
    world.forget(gone);
    until("the directory to go", || !world.path(gone, "").exists()).await;
    until("it to be forgotten", || !world.client().has_alloc(&gone)).await;
    assert!(world.client().has_alloc(&stays) && world.path(stays, "alloc").exists());
    let name = drivers::task_cgroup_name(&gone.to_string(), "t");
    let node = world.client().node_id().to_string();
    let on = sandbox::Hierarchies::detect();
    assert!(!sandbox::Cgroup::named(&on, &node, &name).exists());
    let name = drivers::task_cgroup_name(&stays.to_string(), "t");
    assert!(sandbox::Cgroup::named(&on, &node, &name).exists());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_restart_and_signal_tasks() {
    let Some(world) = World::new().await else { return };
    let text = "trap 'echo got-hup' HUP; echo ready; while true; do sleep 0.02; done";
    let alloc = world.place("a", job("service", json!([script("t", text)])));
    world.until_task(alloc, "t", TaskPhase::Running).await;
    world.until_file(alloc, "alloc/logs/t.stdout.0", "ready").await;
    let client = world.client();
    let message = |fault: client::Fault| fault.message;
    client.signal(&alloc, Some("t"), "SIGHUP").await.unwrap();
    world.until_file(alloc, "alloc/logs/t.stdout.0", "got-hup").await;
    let none = client.signal(&alloc, Some("none"), "SIGHUP").await.map_err(message);
    assert_eq!(none, Err("Task not found".to_owned()));
    let none = client.restart(&alloc, Some("none"), false).await.map_err(message);
    assert_eq!(none, Err("Could not find task runner for task: none".to_owned()));
    let live = client.gc_alloc(&alloc).map_err(message);
    let expected = "No such allocation on client, or allocation not eligible for GC";
    assert_eq!(live, Err(expected.to_owned()));
    let stats = client.alloc_stats(&alloc, None).await.unwrap();
    assert!(stats["Tasks"]["t"]["ResourceUsage"]["MemoryStats"]["RSS"].as_u64() > Some(0));
    assert!(client.host_stats().await["Memory"]["Total"].as_u64() > Some(0));
    client.restart(&alloc, None, false).await.unwrap();
    let again = client.restart(&alloc, Some("t"), false).await.map_err(message);
    assert_eq!(again, Err("Task not running".to_owned()));
    let state = world.server.until("the restart", |seen| {
        let state = &seen.last(alloc)?.tasks["t"];
        (state.restarts == 1 && state.state == TaskPhase::Running).then(|| state.clone())
    });
    let told = events(&state.await);
    assert!(told.contains("Signaling: Task being sent a signal\n"), "{told}");
    assert!(told.contains("Restart Signaled: User requested restart\n"), "{told}");
    assert!(told.contains("Restarting: Task restarting in 0s\nStarted"), "{told}");
    world.end().await;
}
