//! Tasks that run: their events, their environment, their order.

use std::time::Duration;

use expect_test::expect;
use model::alloc::{ClientStatus, TaskPhase};
use model::ids::DeploymentId;
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

#[tokio::test(flavor = "multi_thread")]
async fn the_node_is_registered_with_what_it_is() {
    let Some(world) = World::new().await else { return };
    let node = world
        .server
        .until("a heartbeat", |seen| (seen.heartbeats() > 0).then(|| seen.node().unwrap().clone()));
    let node = node.await;
    assert_eq!((node.name.as_str(), node.node_class.as_str()), ("n1", "gold"));
    assert_eq!(node.node_resources.networks[0].cidr, "127.0.0.1/32");
    assert!(node.node_resources.cpu.cpu_shares > 0 && node.node_resources.memory.memory_mb > 0);
    assert!(node.drivers["raw_exec"].healthy);
    for name in ["kernel.name", "cpu.arch", "os.signals", "unique.hostname", "driver.raw_exec"] {
        assert!(node.attributes.contains_key(name), "{name}");
    }
    assert!(node.computed_class.starts_with("v1:"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn references_in_environment_and_arguments_are_replaced() {
    let Some(world) = World::new().await else { return };
    let task = json!({"Name": "t", "Driver": "raw_exec",
        "Env": {"OWN": "v-${meta.rack}", "NESTED": "${NOMAD_META_x}-n"},
        "Meta": {"x": "ex-${node.class}"},
        "Config": {"command": "/bin/printf", "args": ["%s\\n", "a=${NOMAD_TASK_NAME}",
            "b=${attr.kernel.name}", "e=${NOMAD_META_X}", "l=${OWN}", "m=${NESTED}",
            "r=$${escaped}", "t=${node.unique.name}", "v=${env[\"OWN\"]}", "u=${NOMAD_TASK_DIR}"]}});
    let alloc = world.place("a", job("batch", json!([task])));
    world.until_status(alloc, ClientStatus::Complete).await;
    let out = std::fs::read_to_string(world.path(alloc, "alloc/logs/t.stdout.0")).unwrap();
    let local = world.path(alloc, "t/local");
    let expected = format!(
        "a=t\nb=linux\ne=ex-gold\nl=v-r1\nm=ex-gold-n\nr=${{escaped}}\nt=n1\nv=v-r1\nu={}\n",
        local.display()
    );
    assert_eq!(out, expected);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lifecycle_tasks_run_in_their_order() {
    let Some(world) = World::new().await else { return };
    let note = |word: &str| format!("echo {word} >> $NOMAD_ALLOC_DIR/data/order");
    let hook = |hook: &str, sidecar: bool| json!({"Lifecycle": {"Hook": hook, "Sidecar": sidecar}});
    // The main task waits for the poststart one, so that the order is fixed.
    let main = "main; until grep -q post $NOMAD_ALLOC_DIR/data/order; do sleep 0.01; done; \
        echo main-end";
    let tasks = json!([
        script_with("init", &note("init"), hook("prestart", false)),
        script_with("side", "exec sleep 600", hook("prestart", true)),
        script("main", &note(main)),
        script_with("post", &note("post"), hook("poststart", false)),
        script_with("stop", &note("stop"), hook("poststop", false)),
    ]);
    let alloc = world.place("a", job("batch", tasks));
    let update = world.until_status(alloc, ClientStatus::Complete).await;
    let order = std::fs::read_to_string(world.path(alloc, "alloc/data/order")).unwrap();
    let order: Vec<&str> = order.lines().collect();
    assert_eq!(order.first(), Some(&"init"));
    assert_eq!(order.last(), Some(&"stop"));
    expect![[r#"
        Received: Task received by client
        Task Setup: Building Task Directory
        Started: Task started by client
        Main Tasks Dead: Main tasks in the group died
        Killing: Sent interrupt. Waiting 1s before force killing
        Terminated: Exit Code: 130, Signal: 2
        Killed: Task successfully killed
    "#]]
    .assert_eq(&events(&update.tasks["side"]));
    let stop = events(&update.tasks["stop"]);
    assert!(!stop.contains("Killing"), "{stop}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_learns_of_health() {
    let Some(world) = World::new().await else { return };
    let mut healthy = job("service", json!([script("t", "exec sleep 600")]));
    healthy["TaskGroups"][0]["Update"] =
        json!({"MinHealthyTime": 50_000_000, "HealthyDeadline": 20_000_000_000_i64});
    let deployment = DeploymentId::from_name("d");
    let good = world.place_with("good", healthy, |alloc| alloc.deployment_id = Some(deployment));
    let mut broken = job("service", json!([script("t", "exit 1")]));
    broken["ID"] = json!("broken");
    broken["TaskGroups"][0]["Update"] = json!({"MinHealthyTime": 50_000_000});
    let bad = world.place_with("bad", broken, |alloc| alloc.deployment_id = Some(deployment));
    let health = |id| world.server.until("a verdict", move |seen| Some(seen.last(id)?.health?.0));
    assert!(health(good).await);
    assert!(!health(bad).await);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allocation_waits_for_its_predecessor_and_takes_its_data() {
    let Some(world) = World::new().await else { return };
    let mut text =
        job("service", json!([script("t", "echo x >> $NOMAD_ALLOC_DIR/data/f; exec sleep 600")]));
    text["TaskGroups"][0]["EphemeralDisk"] = json!({"Sticky": true});
    let first = world.place("first", text.clone());
    world.until_task(first, "t", TaskPhase::Running).await;
    world.until_file(first, "alloc/data/f", "x\n").await;
    let second = world.place_with("second", text, |alloc| alloc.previous = Some(first));
    let begun = tokio::time::timeout(
        Duration::from_millis(100),
        world.until_task(second, "t", TaskPhase::Running),
    );
    assert!(begun.await.is_err(), "it started beside its predecessor");
    world.stop(first);
    world.until_task(second, "t", TaskPhase::Running).await;
    world.until_file(second, "alloc/data/f", "x\nx\n").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatched_payload_is_in_the_tasks_directory() {
    let Some(world) = World::new().await else { return };
    let payload = json!({"DispatchPayload": {"File": "in/p.txt"}});
    let text = "cat local/in/p.txt; stat -c ' %a %s' local/in/p.txt; echo \"[$NOMAD_META_why]\"";
    let mut text = job("batch", json!([script_with("t", text, payload)]));
    text["Payload"] = json!("cGF5bG9hZCE=");
    text["ParameterizedJob"] = json!({"Payload": "required", "MetaOptional": ["why"]});
    let alloc = world.place("a", text.clone());
    world.until_status(alloc, ClientStatus::Complete).await;
    let out = std::fs::read_to_string(world.path(alloc, "alloc/logs/t.stdout.0")).unwrap();
    assert_eq!(out, "payload! 755 8\n[]\n");
    text["ID"] = json!("other");
    text["TaskGroups"][0]["Tasks"][0]["DispatchPayload"]["File"] = json!("../../out");
    let alloc = world.place("b", text);
    let update = world.until_status(alloc, ClientStatus::Failed).await;
    assert!(events(&update.tasks["t"]).contains("Setup Failure: dispatch payload file"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_beyond_the_number_that_is_kept_go_oldest_first() {
    let Some(world) = World::with(|config| config.gc_max_allocs = 1).await else { return };
    let text = job("batch", json!([script("t", "true")]));
    let first = world.place("first", text.clone());
    world.until_status(first, ClientStatus::Complete).await;
    let second = world.place("second", text);
    world.until_status(second, ClientStatus::Complete).await;
    until("the older directory to go", || !world.path(first, "").exists()).await;
    assert!(world.path(second, "alloc").exists());
    assert!(!world.client().has_alloc(&first) && world.client().has_alloc(&second));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_the_servers_do_not_know_registers_again() {
    let Some(world) = World::new().await else { return };
    world.server.until("a heartbeat", |seen| (seen.heartbeats() > 0).then_some(())).await;
    world.server.forget_node();
    world
        .server
        .until("a second registration", |seen| (seen.registrations() > 1).then_some(()))
        .await;
    let before = world.server.until("a count", |seen| Some(seen.heartbeats())).await;
    world.server.until("more heartbeats", |seen| (seen.heartbeats() > before).then_some(())).await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn out_of_contact_only_what_must_not_run_alone_is_ended() {
    let Some(world) = World::new().await else { return };
    let alone = job("service", json!([script("t", "exec sleep 600")]));
    let mut watched = alone.clone();
    watched["ID"] = json!("watched");
    watched["TaskGroups"][0]["Disconnect"] = json!({"StopOnClientAfter": 300_000_000});
    let (alone, watched) = (world.place("alone", alone), world.place("watched", watched));
    for alloc in [alone, watched] {
        world.until_task(alloc, "t", TaskPhase::Running).await;
    }
    world.server.become_deaf();
    world.until_status(watched, ClientStatus::Complete).await;
    world.until_task(alone, "t", TaskPhase::Running).await;
    world.end().await;
}
