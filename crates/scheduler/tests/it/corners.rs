//! Situations in which two things go wrong at once.

use model::alloc::ClientStatus;
use model::deployment::DeploymentStatus;
use model::eval::EvalStatus;
use model::plan::DeploymentUpdate;
use model::wire::SECOND;
use serde_json::json;
use state::{Command, Response};

use crate::cluster::*;

fn running(cluster: &mut Cluster, job: &model::job::Job) {
    cluster.register(job);
    cluster.run(job.id());
    cluster.report_all(job.id(), ClientStatus::Running);
}

fn canary_job(value: &str) -> model::job::Job {
    let update = json!({ "Update": { "MaxParallel": 2, "Canary": 1 } });
    with_env(job("web", "service", 2, update), value)
}

#[test]
fn an_allocation_that_was_to_stop_is_given_up_with_its_node() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 1, json!({})));
    let now = cluster.now;
    cluster.apply(Command::DeregisterJob {
        job: key("web"),
        purge: false,
        no_shutdown_delay: false,
        eval: None,
        now,
    });
    cluster.run("web");
    cluster.take_down("n1");
    cluster.run("web");
    assert_eq!(cluster.allocs("web")[0].observed.status, ClientStatus::Lost);
    assert_eq!(cluster.view().job_entry(&key("web")).unwrap().live_allocs, 0);
}

#[test]
fn a_canary_that_fails_stops_nothing_of_the_version_that_runs() {
    let mut cluster = Cluster::new().nodes(3);
    running(&mut cluster, &canary_job("1"));
    cluster.register(&canary_job("2"));
    cluster.run("web");
    let canary = cluster.live("web").into_iter().find(|a| a.is_canary()).unwrap();
    cluster.report(&canary, ClientStatus::Failed);
    cluster.run("web");
    let old = cluster.live("web").into_iter().filter(|a| a.job_version == 0).count();
    assert_eq!(old, 2, "the running version is left alone");
    let canaries = cluster.allocs("web").into_iter().filter(|a| a.is_canary()).count();
    assert_eq!(canaries, 1, "the next canary waits for its delay");
    cluster.now += 40 * SECOND;
    cluster.run("web");
    let next = cluster.live("web").into_iter().find(|a| a.is_canary()).unwrap();
    assert_eq!(next.previous, Some(canary.id));
}

#[test]
fn a_canary_that_is_stopped_is_replaced_by_a_canary() {
    let mut cluster = Cluster::new().nodes(3);
    running(&mut cluster, &canary_job("1"));
    cluster.register(&canary_job("2"));
    cluster.run("web");
    let canary = cluster.live("web").into_iter().find(|a| a.is_canary()).unwrap();
    cluster.migrate(&canary);
    cluster.run("web");
    let canaries: Vec<_> = cluster.live("web").into_iter().filter(|a| a.is_canary()).collect();
    assert_eq!(canaries.len(), 1);
    assert_eq!(canaries[0].previous, Some(canary.id));
}

#[test]
fn a_new_version_is_the_way_out_of_a_service_that_failed_for_good() {
    let mut cluster = Cluster::new().nodes(1);
    let never = json!({ "ReschedulePolicy": { "Attempts": 0, "Unlimited": false } });
    cluster.register(&job("web", "service", 1, never.clone()));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Failed);
    cluster.run("web");
    assert!(cluster.live("web").is_empty());
    cluster.register(&with_env(job("web", "service", 1, never), "repaired"));
    cluster.run("web");
    assert_eq!(cluster.live("web").len(), 1);
}

#[test]
fn batch_work_that_was_moved_and_ended_well_takes_no_other_slot() {
    let mut cluster = Cluster::new().nodes(2);
    running(&mut cluster, &job("work", "batch", 2, json!({})));
    let first = cluster.live("work")[0].clone();
    cluster.migrate(&first);
    cluster.run("work");
    cluster.report(&first, ClientStatus::Complete);
    cluster.run("work");
    let slots: Vec<u32> = cluster.live("work").iter().map(|a| a.index).collect();
    assert_eq!(slots, [0, 1]);
}

#[test]
fn scaling_down_keeps_what_runs_before_what_failed() {
    let mut cluster = Cluster::new().nodes(2);
    running(&mut cluster, &job("web", "service", 3, json!({})));
    let first = cluster.live("web")[0].clone();
    cluster.report(&first, ClientStatus::Failed);
    cluster.register(&job("web", "service", 2, json!({})));
    cluster.run("web");
    assert_eq!(cluster.live("web").len(), 2);
}

#[test]
fn one_evaluation_of_a_job_waits_for_room_at_most() {
    let mut cluster = Cluster::new();
    cluster.register(&job("web", "service", 1, json!({})));
    for _ in 0..5 {
        cluster.run("web");
    }
    let blocked = |c: &Cluster| {
        let evals = c.view().evals_of_job(&key("web"));
        evals.iter().filter(|e| e.status == EvalStatus::Blocked).count()
    };
    assert_eq!(blocked(&cluster), 1);
    cluster.node(node("n1"));
    cluster.run("web");
    assert_eq!(blocked(&cluster), 0, "nothing is left to wait for");
}

#[test]
fn a_node_that_shrank_still_takes_updates_in_place() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 2, json!({})));
    let mut small = node("n1");
    small.node_resources.cpu.cpu_shares = 400;
    cluster.node(small);
    let mut calmer = job("web", "service", 2, json!({}));
    calmer.task_groups[0].tasks[0].kill_timeout = Some(30 * SECOND);
    cluster.register(&calmer);
    cluster.run("web");
    assert!(cluster.live("web").iter().all(|a| a.job_version == 1));
}

#[test]
fn figures_that_would_wrap_around_fit_nowhere() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 1, json!({})));
    let mut huge = job("huge", "batch", 1, json!({}));
    huge.task_groups[0].tasks[0].resources.as_mut().unwrap().cpu = Some(i64::MAX);
    cluster.register(&huge);
    cluster.run("huge");
    assert!(cluster.live("huge").is_empty());
}

#[test]
fn a_port_that_may_be_shared_is_shared() {
    let port = json!({ "Networks": [{ "ReservedPorts": [{ "Label": "a", "Value": 8080, "IgnoreCollision": true }] }] });
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 2, port));
    cluster.run("web");
    assert_eq!(cluster.live("web").len(), 2);
}

#[test]
fn a_clock_that_is_ahead_puts_no_attempt_off() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 1, json!({})));
    cluster.run("web");
    let alloc = cluster.live("web")[0].clone();
    let now = cluster.now;
    cluster.now = i64::MAX;
    let ahead = cluster.update(&alloc, ClientStatus::Failed);
    cluster.now = now;
    cluster.apply(Command::UpdateAllocs { updates: vec![ahead], evals: Vec::new(), now });
    cluster.run("web");
    cluster.now += 31 * SECOND;
    cluster.run("web");
    assert_eq!(cluster.live("web").len(), 1);
}

#[test]
fn an_update_in_place_forgets_nothing_that_was_said_meanwhile() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 1, json!({})));
    let mut calmer = job("web", "service", 1, json!({}));
    calmer.task_groups[0].tasks[0].kill_timeout = Some(30 * SECOND);
    cluster.register(&calmer);
    let eval = cluster.eval("web");
    let (outcome, _) = cluster.decide(&eval);
    let alloc = cluster.live("web")[0].clone();
    cluster.migrate(&alloc);
    let now = cluster.now;
    cluster.apply(Command::ApplyPlan { plan: Box::new(outcome.plan), evals: vec![], now });
    let after = cluster.live("web")[0].clone();
    assert_eq!((after.job_version, after.transition.migrate), (1, Some(true)));
}

#[test]
fn a_plan_places_nothing_on_a_node_that_went_down_since() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 1, json!({})));
    let eval = cluster.eval("web");
    let (outcome, _) = cluster.decide(&eval);
    cluster.take_down("n1");
    let now = cluster.now;
    let stale = Command::ApplyPlan { plan: Box::new(outcome.plan), evals: vec![], now };
    let answer = cluster.try_apply(stale);
    assert_eq!(answer, Response::Refused(state::Refusal::PlanStale));
}

#[test]
fn a_node_that_came_back_is_not_collected() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.apply(Command::Collect {
        evals: vec![],
        allocs: vec![],
        deployments: vec![],
        jobs: vec![],
        nodes: vec![node("n1").id],
    });
    assert!(cluster.view().node(&node("n1").id).is_some());
}

#[test]
fn what_was_lost_holds_its_room_again_when_it_turns_out_to_run() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 3, json!({})));
    let lost = cluster.live("web");
    cluster.take_down("n1");
    cluster.run("web");
    cluster.node(node("n1"));
    cluster.run("web");
    cluster.report(&lost[0], ClientStatus::Running);
    assert!(cluster.view().alloc(&lost[0].id).unwrap().holds_resources());
    assert_eq!(state::invariants::check(&cluster.view()), Vec::<String>::new());
}

#[test]
fn a_promotion_and_the_end_of_a_halt_give_the_deployment_its_full_time() {
    let mut cluster = Cluster::new().nodes(3);
    running(&mut cluster, &canary_job("1"));
    cluster.register(&canary_job("2"));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    cluster.now += 24 * 3600 * SECOND;
    let id = cluster.view().deployments_of_job(&key("web"))[0].id;
    let now = cluster.now;
    cluster.apply(Command::DeploymentPromote { id, groups: vec![], eval: None, now });
    let by = |c: &Cluster| c.view().deployment(&id).unwrap().task_groups["g"].require_progress_by.0;
    assert_eq!(by(&cluster), now + 600 * SECOND);
    for status in [DeploymentStatus::Paused, DeploymentStatus::Running] {
        cluster.now += 24 * 3600 * SECOND;
        let now = cluster.now;
        let update = DeploymentUpdate { id, status, description: String::new() };
        cluster.apply(Command::DeploymentStatus {
            update,
            eval: None,
            revert: None,
            stable: false,
            now,
        });
    }
    assert_eq!(by(&cluster), cluster.now + 600 * SECOND);
}

#[test]
fn a_deployment_that_fails_brings_nothing_back_that_was_stopped_meanwhile() {
    let mut cluster = Cluster::new().nodes(1);
    running(&mut cluster, &job("web", "service", 1, json!({})));
    let old = cluster.view().job(&key("web")).unwrap().clone();
    cluster.register(&with_env(job("web", "service", 1, json!({})), "2"));
    cluster.run("web");
    let id = cluster.view().deployments_of_job(&key("web"))[0].id;
    let now = cluster.now;
    cluster.apply(Command::DeregisterJob {
        job: key("web"),
        purge: false,
        no_shutdown_delay: false,
        eval: None,
        now,
    });
    let update =
        DeploymentUpdate { id, status: DeploymentStatus::Failed, description: String::new() };
    cluster.apply(Command::DeploymentStatus {
        update,
        eval: None,
        revert: Some(Box::new(model::job::Job::clone(&old))),
        stable: false,
        now,
    });
    assert!(cluster.view().job(&key("web")).unwrap().is_stopped());
}

#[test]
fn one_that_was_healthy_and_ended_does_not_stand_for_a_slot_of_a_deployment() {
    let mut cluster = Cluster::new().nodes(3);
    cluster.register(&job("web", "service", 2, json!({})));
    cluster.run("web");
    let first = cluster.live("web")[0].clone();
    cluster.report(&first, ClientStatus::Running);
    cluster.report(&first, ClientStatus::Failed);
    let id = cluster.view().deployments_of_job(&key("web"))[0].id;
    assert_eq!(cluster.view().deployment(&id).unwrap().task_groups["g"].healthy_allocs, 0);
}

#[test]
fn a_job_larger_than_a_plan_is_placed_by_evaluations_that_follow_at_once() {
    let mut cluster = Cluster::new();
    let mut large = node("n1");
    large.node_resources.cpu.cpu_shares = 10_000;
    large.node_resources.memory.memory_mb = 100_000;
    large.node_resources.disk.disk_mb = 100_000;
    cluster.node(large);
    let small = json!({ "Tasks": [{ "Name": "t", "Driver": "raw_exec",
        "Config": { "command": "/bin/true" }, "Resources": { "CPU": 1, "MemoryMB": 10 } }] });
    cluster.register(&job("big", "batch", 3000, small));
    let mut eval = cluster.eval("big");
    let mut placed = Vec::new();
    loop {
        let (outcome, _) = cluster.decide(&eval);
        placed.push(outcome.plan.place.len());
        let now = cluster.now;
        let next = outcome.new_evals.first().cloned();
        assert_eq!(outcome.eval.next_eval, next.as_ref().map(|e| e.id));
        let plan = Box::new(outcome.plan);
        let command = Command::ApplyPlan { plan, evals: vec![outcome.eval], now };
        let bytes = command.encode().len();
        assert!(bytes < 8 << 20, "{bytes} bytes come close to the limit of a log entry");
        cluster.apply(command);
        let Some(next) = next else { break };
        assert_eq!(next.status, EvalStatus::Pending);
        eval = next;
    }
    assert!(placed.len() > 1, "{placed:?}");
    assert_eq!(cluster.live("big").len(), 3000);
}
