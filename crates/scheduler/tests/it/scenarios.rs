//! Behaviour, one situation a test, decisions as text.

use expect_test::{Expect, expect};
use model::alloc::ClientStatus;
use model::wire::SECOND;
use serde_json::json;
use state::Command;

use crate::cluster::*;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[test]
fn fills_the_lowest_slots_and_keeps_siblings_apart() {
    let mut cluster = Cluster::new().nodes(2);
    cluster.register(&job("work", "batch", 4, json!({})));
    check(
        &cluster.run("work"),
        expect![[r#"
        place work.g[0] v0 on n2
        place work.g[1] v0 on n1
        place work.g[2] v0 on n2
        place work.g[3] v0 on n1
        this evaluation complete
    "#]],
    );
}

#[test]
fn says_what_is_short_and_waits() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("work", "batch", 5, json!({})));
    check(
        &cluster.run("work"),
        expect![[r#"
        place work.g[0] v0 on n1
        place work.g[1] v0 on n1
        place work.g[2] v0 on n1
        no place for g and 1 more: cpu on 1
        evaluation queued-allocs blocked
        this evaluation complete
    "#]],
    );
}

#[test]
fn names_the_constraint_that_no_node_meets() {
    let mut cluster = Cluster::new().nodes(2);
    let windows = json!({ "Constraints": [{ "LTarget": "${attr.kernel.name}", "RTarget": "windows", "Operand": "=" }] });
    cluster.register(&job("work", "batch", 1, windows));
    check(
        &cluster.run("work"),
        expect![[r#"
        no place for g and 0 more: ${attr.kernel.name} = windows on 2
        evaluation queued-allocs blocked
        this evaluation complete
    "#]],
    );
}

#[test]
fn distinct_hosts_spreads_and_then_waits() {
    let mut cluster = Cluster::new().nodes(2);
    let distinct = json!({ "Constraints": [{ "LTarget": "", "RTarget": "true", "Operand": "distinct_hosts" }] });
    cluster.register(&job("web", "service", 3, distinct));
    check(
        &cluster.run("web"),
        expect![[r#"
        place web.g[0] v0 on n2
        place web.g[1] v0 on n1
        deployment of v0 begins: Deployment is running
        no place for g and 0 more: distinct_hosts on 2
        evaluation queued-allocs blocked
        this evaluation complete
    "#]],
    );
}

#[test]
fn replaces_one_at_a_time_and_waits_for_health() {
    let mut cluster = Cluster::new().nodes(3);
    cluster.register(&job("web", "service", 3, json!({})));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    let second = with_env(job("web", "service", 3, json!({})), "2");
    cluster.register(&second);
    check(
        &cluster.run("web"),
        expect![[r#"
            place web.g[0] v1 on n2
            stop web.g[0]: alloc is being updated due to job update
            deployment of v1 begins: Deployment is running
            deployment cancelled: Cancelled due to newer version of job
            this evaluation complete
        "#]],
    );
    check(
        &cluster.run("web"),
        expect![[r#"
            this evaluation complete
        "#]],
    );
    cluster.report_all("web", ClientStatus::Running);
    check(
        &cluster.run("web"),
        expect![[r#"
            place web.g[1] v1 on n1
            stop web.g[1]: alloc is being updated due to job update
            this evaluation complete
        "#]],
    );
}

#[test]
fn keeps_the_old_until_a_person_promotes_the_canary() {
    let update = json!({ "Update": { "MaxParallel": 2, "Canary": 1 } });
    let mut cluster = Cluster::new().nodes(3);
    cluster.register(&job("web", "service", 2, update.clone()));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    cluster.register(&with_env(job("web", "service", 2, update), "2"));
    check(
        &cluster.run("web"),
        expect![[r#"
            place web.g[0] v1 on n3 as canary
            deployment of v1 begins: Deployment is running but requires manual promotion
            deployment cancelled: Cancelled due to newer version of job
            this evaluation complete
        "#]],
    );
    cluster.report_all("web", ClientStatus::Running);
    check(
        &cluster.run("web"),
        expect![[r#"
            this evaluation complete
        "#]],
    );
    let deployment = cluster.view().deployments_of_job(&key("web"))[0].id;
    let now = cluster.now;
    cluster.apply(Command::DeploymentPromote {
        id: deployment,
        groups: Vec::new(),
        eval: None,
        now,
    });
    check(
        &cluster.run("web"),
        expect![[r#"
        place web.g[1] v1 on n2
        stop web.g[0]: alloc not needed due to job update
        stop web.g[1]: alloc is being updated due to job update
        this evaluation complete
    "#]],
    );
}

#[test]
fn takes_a_change_that_a_process_does_not_notice_in_place() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 2, json!({})));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    let mut calmer = job("web", "service", 2, json!({}));
    calmer.task_groups[0].tasks[0].kill_timeout = Some(30 * SECOND);
    cluster.register(&calmer);
    check(
        &cluster.run("web"),
        expect![[r#"
        update web.g[0] v1 on n1
        update web.g[1] v1 on n1
        deployment of v1 begins: Deployment is running
        deployment cancelled: Cancelled due to newer version of job
        this evaluation complete
    "#]],
    );
}

#[test]
fn scales_down_from_the_highest_slot() {
    let mut cluster = Cluster::new().nodes(2);
    cluster.register(&job("web", "service", 4, json!({})));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    cluster.register(&job("web", "service", 2, json!({})));
    check(
        &cluster.run("web"),
        expect![[r#"
        stop web.g[2]: alloc not needed due to job update
        stop web.g[3]: alloc not needed due to job update
        update web.g[0] v1 on n2
        update web.g[1] v1 on n1
        deployment of v1 begins: Deployment is running
        deployment cancelled: Cancelled due to newer version of job
        this evaluation complete
    "#]],
    );
}

#[test]
fn a_lost_node_is_replaced_elsewhere() {
    let mut cluster = Cluster::new().nodes(2);
    cluster.register(&job("web", "service", 2, json!({})));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    let name = cluster.live("web")[0].node_name.to_string();
    cluster.take_down(&name);
    check(
        &cluster.run("web"),
        expect![[r#"
        place web.g[0] v0 on n1
        stop web.g[0] as lost: alloc is lost since its node is down
        this evaluation complete
    "#]],
    );
}

#[test]
fn a_failed_service_is_tried_later_then_elsewhere() {
    let mut cluster = Cluster::new().nodes(2);
    cluster.register(&job("web", "service", 1, json!({})));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Failed);
    check(
        &cluster.run("web"),
        expect![[r#"
        later: web.g[0]
        evaluation alloc-failure pending later
        this evaluation complete
    "#]],
    );
    let follow_up = cluster
        .view()
        .evals_of_job(&key("web"))
        .into_iter()
        .find(|e| !e.wait_until.is_zero())
        .unwrap();
    cluster.now += 31 * SECOND;
    check(
        &cluster.run_eval(&follow_up),
        expect![[r#"
        place web.g[0] v0 on n1 as new attempt
        stop web.g[0]: alloc was rescheduled because it failed
        this evaluation complete
    "#]],
    );
}

#[test]
fn a_failed_batch_job_without_attempts_left_stays_failed() {
    let mut cluster = Cluster::new().nodes(1);
    let never = json!({ "ReschedulePolicy": { "Attempts": 0, "Unlimited": false } });
    cluster.register(&job("work", "batch", 1, never));
    cluster.run("work");
    cluster.report_all("work", ClientStatus::Failed);
    check(
        &cluster.run("work"),
        expect![[r#"
        this evaluation complete
    "#]],
    );
}

#[test]
fn finished_batch_work_runs_again_only_for_a_new_version() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("work", "batch", 2, json!({})));
    cluster.run("work");
    cluster.report_all("work", ClientStatus::Complete);
    check(
        &cluster.run("work"),
        expect![[r#"
        this evaluation complete
    "#]],
    );
    cluster.register(&with_env(job("work", "batch", 2, json!({})), "2"));
    check(
        &cluster.run("work"),
        expect![[r#"
            place work.g[0] v1 on n1
            place work.g[1] v1 on n1
            this evaluation complete
        "#]],
    );
}

#[test]
fn a_stopped_job_ends_with_everything_it_has() {
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 2, json!({})));
    cluster.run("web");
    let now = cluster.now;
    cluster.apply(Command::DeregisterJob {
        job: key("web"),
        purge: false,
        no_shutdown_delay: false,
        eval: None,
        now,
    });
    check(
        &cluster.run("web"),
        expect![[r#"
        stop web.g[0]: alloc not needed due to job update
        stop web.g[1]: alloc not needed due to job update
        deployment cancelled: Cancelled because job is stopped
        this evaluation complete
    "#]],
    );
}

#[test]
fn a_static_port_is_handed_to_the_replacement_on_its_node() {
    let port = json!({ "Networks": [{ "ReservedPorts": [{ "Label": "http", "Value": 8080 }] }], "Update": { "MaxParallel": 1 } });
    let mut cluster = Cluster::new().nodes(1);
    cluster.register(&job("web", "service", 1, port.clone()));
    check(
        &cluster.run("web"),
        expect![[r#"
        place web.g[0] v0 on n1 with 10.0.0.1:8080
        deployment of v0 begins: Deployment is running
        this evaluation complete
    "#]],
    );
    cluster.report_all("web", ClientStatus::Running);
    cluster.register(&with_env(job("web", "service", 1, port.clone()), "2"));
    check(
        &cluster.run("web"),
        expect![[r#"
            place web.g[0] v1 on n1 with 10.0.0.1:8080
            stop web.g[0]: alloc is being updated due to job update
            deployment of v1 begins: Deployment is running
            deployment cancelled: Cancelled due to newer version of job
            this evaluation complete
        "#]],
    );
    cluster.register(&job("other", "service", 1, port));
    check(
        &cluster.run("other"),
        expect![[r#"
        deployment of v0 begins: Deployment is running
        no place for g and 0 more: network: reserved port collision http=8080 on 1
        evaluation queued-allocs blocked
        this evaluation complete
    "#]],
    );
}

#[test]
fn canaries_as_many_as_the_count_take_over_at_their_promotion() {
    let update = json!({ "Update": { "MaxParallel": 2, "Canary": 2, "AutoPromote": true } });
    let mut cluster = Cluster::new().nodes(3);
    cluster.register(&job("web", "service", 2, update.clone()));
    cluster.run("web");
    cluster.report_all("web", ClientStatus::Running);
    cluster.register(&with_env(job("web", "service", 2, update), "2"));
    check(
        &cluster.run("web"),
        expect![[r#"
        place web.g[0] v1 on n3 as canary
        place web.g[1] v1 on n2 as canary
        deployment of v1 begins: Deployment is running pending automatic promotion
        deployment cancelled: Cancelled due to newer version of job
        this evaluation complete
    "#]],
    );
    cluster.report_all("web", ClientStatus::Running);
    check(
        &cluster.run("web"),
        expect![[r#"
        this evaluation complete
    "#]],
    );
    let deployment = cluster.view().deployments_of_job(&key("web"))[0].id;
    let now = cluster.now;
    cluster.apply(Command::DeploymentPromote {
        id: deployment,
        groups: Vec::new(),
        eval: None,
        now,
    });
    check(
        &cluster.run("web"),
        expect![[r#"
        stop web.g[0]: alloc not needed due to job update
        stop web.g[1]: alloc not needed due to job update
        this evaluation complete
    "#]],
    );
    check(
        &cluster.run("web"),
        expect![[r#"
        this evaluation complete
    "#]],
    );
}
