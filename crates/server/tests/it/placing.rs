//! From a registration to what the node hears, and back.

use model::alloc::ClientStatus;
use model::ids::JobKey;
use server::RegisterRequest;

use crate::fake_node::*;

fn register(job: model::job::Job) -> RegisterRequest {
    RegisterRequest { job, ..RegisterRequest::default() }
}

#[tokio::test]
async fn a_batch_job_runs_once_and_stays_finished() {
    let server = server(None).await;
    let node = FakeNode::register(&server, "n1").await;
    server.register_job(register(job("once", "batch", 2))).await.unwrap();
    let heard = loop {
        let heard = node.poll(0).await;
        if heard.changed.len() == 2 {
            break heard;
        }
        node.poll(heard.index).await;
    };
    assert_eq!(heard.specs.len(), 1, "the version travels once, not with each allocation");
    for alloc in &heard.changed {
        node.report(alloc, ClientStatus::Running).await;
        node.report(alloc, ClientStatus::Complete).await;
    }
    let key = JobKey::new("default", "once");
    until(&server, "the job is dead", |s| (s.job_entry(&key)?.status() == "dead").then_some(()))
        .await;
    server.register_job(register(job("once", "batch", 2))).await.unwrap();
    until(&server, "the second evaluation is complete", |s| {
        (s.evals_of_job(&key).iter().filter(|e| e.status.is_terminal()).count() == 2).then_some(())
    })
    .await;
    assert_eq!(server.snapshot().allocs_of_job(&key).count(), 2, "finished work is not run again");
    server.force_gc();
    until(&server, "collection ran", |_| {
        server.loop_statuses().iter().find(|l| l.name == "garbage").cloned()
    })
    .await;
}

#[tokio::test]
async fn work_without_room_waits_and_starts_when_room_comes_free() {
    let server = server(None).await;
    let node = FakeNode::register(&server, "n1").await;
    server.register_job(register(job("first", "batch", 10))).await.unwrap();
    until(&server, "ten fill the node", |s| (live(s, "first").len() == 10).then_some(())).await;
    server.register_job(register(job("second", "batch", 1))).await.unwrap();
    let key = JobKey::new("default", "second");
    let blocked = until(&server, "the second job is blocked", |s| {
        s.evals_of_job(&key).into_iter().find(|e| e.status == model::eval::EvalStatus::Blocked)
    })
    .await;
    assert_eq!(blocked.failed_tg_allocs["g"].dimension_exhausted["cpu"], 1);
    assert_eq!(server.snapshot().summary(&key).unwrap().summary["g"].queued, 1);
    let first = live(&server.snapshot(), "first")[0].clone();
    node.report(&first, ClientStatus::Complete).await;
    until(&server, "the second job is placed", |s| (live(s, "second").len() == 1).then_some(()))
        .await;
    assert_eq!(server.snapshot().summary(&key).unwrap().summary["g"].queued, 0);
}

#[tokio::test]
async fn a_new_version_replaces_one_at_a_time_and_is_marked_stable() {
    let server = server(None).await;
    let node = FakeNode::register(&server, "n1").await;
    server.register_job(register(job("web", "service", 3))).await.unwrap();
    let first =
        until(&server, "three run", |s| Some(live(s, "web")).filter(|l| l.len() == 3)).await;
    for alloc in &first {
        node.report(alloc, ClientStatus::Running).await;
    }
    let key = JobKey::new("default", "web");
    until(&server, "version 0 is stable", |s| s.job(&key)?.stable.filter(|s| *s)).await;
    let mut changed = job("web", "service", 3);
    changed.task_groups[0].tasks[0].env.insert("A".to_owned(), "1".to_owned());
    server.register_job(register(changed)).await.unwrap();
    for round in 1..=3 {
        let new = until(&server, "the next replacement is placed", |s| {
            let new: Vec<_> = live(s, "web").into_iter().filter(|a| a.job_version == 1).collect();
            Some(new).filter(|n| n.len() == round)
        })
        .await;
        let pending = new.iter().find(|a| a.observed.status == ClientStatus::Pending).unwrap();
        let old = server.snapshot().alloc(&pending.previous.unwrap()).unwrap().clone();
        assert_eq!(old.index, pending.index, "a replacement takes the slot of what it replaces");
        node.report(&old, ClientStatus::Complete).await;
        node.report(pending, ClientStatus::Running).await;
    }
    until(&server, "version 1 is stable", |s| {
        s.job(&key).filter(|j| j.version() == 1)?.stable.filter(|s| *s)
    })
    .await;
}

#[tokio::test]
async fn a_node_that_proves_nothing_is_refused() {
    let server = server(None).await;
    FakeNode::register(&server, "n1").await;
    let mut thief = node("n1");
    thief.secret_id = "guessed".to_owned();
    let refused = FakeNode::register_as(&server, thief).await;
    assert!(refused.is_err_and(|e| e.to_string().contains("secret")));
}

#[tokio::test]
async fn stopping_a_job_stops_what_runs_and_wakes_what_waits_for_its_port() {
    let server = server(None).await;
    let node = FakeNode::register(&server, "n1").await;
    let with_port = |id: &str| {
        let mut job = job(id, "service", 1);
        let port = model::job::Port { label: "http".to_owned(), value: 8080, ..Default::default() };
        job.task_groups[0].networks.push(model::job::NetworkResource {
            reserved_ports: vec![port].into(),
            ..Default::default()
        });
        job
    };
    server.register_job(register(with_port("one"))).await.unwrap();
    let one = until(&server, "the first is placed", |s| live(s, "one").pop()).await;
    node.report(&one, ClientStatus::Running).await;
    server.register_job(register(with_port("two"))).await.unwrap();
    let key = JobKey::new("default", "two");
    let blocked = until(&server, "the second waits", |s| {
        s.evals_of_job(&key).into_iter().find(|e| e.status == model::eval::EvalStatus::Blocked)
    })
    .await;
    let reasons: Vec<_> =
        blocked.failed_tg_allocs["g"].dimension_exhausted.keys().cloned().collect();
    assert_eq!(reasons, ["network: reserved port collision http=8080"]);
    server.deregister_job(&JobKey::new("default", "one"), false, false, 0).await.unwrap();
    until(&server, "the first should stop", |s| {
        s.alloc(&one.id).filter(|a| a.is_server_terminal()).cloned()
    })
    .await;
    assert!(live(&server.snapshot(), "two").is_empty(), "the port is held until its holder ended");
    node.report(&one, ClientStatus::Complete).await;
    until(&server, "the second is placed", |s| live(s, "two").pop()).await;
}

#[tokio::test]
async fn a_node_that_knows_a_later_state_than_the_servers_hears_everything_again() {
    let server = server(None).await;
    let node = FakeNode::register(&server, "n1").await;
    server.register_job(register(job("web", "service", 1))).await.unwrap();
    until(&server, "it is placed", |s| live(s, "web").pop()).await;
    assert_eq!(node.poll(1_000_000).await.changed.len(), 1);
}

#[tokio::test]
async fn a_job_larger_than_a_plan_is_placed_wholly() {
    let server = server(None).await;
    let mut large = node("n1");
    large.node_resources.cpu.cpu_shares = 1_500_000;
    large.node_resources.memory.memory_mb = 1_500_000;
    large.node_resources.disk.disk_mb = 1_500_000;
    let _node = FakeNode::register_as(&server, large).await.unwrap();
    server.register_job(register(job("big", "batch", 2_000))).await.unwrap();
    let key = JobKey::new("default", "big");
    until(&server, "all are placed", |s| (live(s, "big").len() == 2_000).then_some(())).await;
    until(&server, "all evaluations are complete", |s| {
        s.evals_of_job(&key).iter().all(|e| e.status.is_terminal()).then_some(())
    })
    .await;
    assert_eq!(server.snapshot().summary(&key).unwrap().summary["g"].queued, 0);
}
