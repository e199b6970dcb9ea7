//! What commands ask, print and end with.

use expect_test::{Expect, expect};

use crate::agent::{Agent, run};

const EVAL: &str = "e1e1e1e1-0000-0000-0000-000000000000";
const DEPLOYMENT: &str = "d1d1d1d1-0000-0000-0000-000000000000";
const JOB: &str = r#"job "web" {
  datacenters = ["dc1"]
  group "g" {
    task "t" {
      driver = "raw_exec"
      config { command = "true" }
    }
  }
}
"#;

fn check(got: &str, expected: Expect) {
    expected.assert_eq(got);
}

fn eval(status: &str, rest: &str) -> String {
    format!(
        r#"{{"ID":"{EVAL}","JobID":"web","Status":"{status}","CreateIndex":5,
            "DeploymentID":"{DEPLOYMENT}"{rest}}}"#
    )
}

fn registered() -> String {
    format!(r#"{{"EvalID":"{EVAL}","Warnings":""}}"#)
}

#[tokio::test]
async fn run_detached_submits_the_job_and_prints_the_evaluation() {
    let agent = Agent::start().await.on("PUT /v1/jobs", 200, &registered());
    let (code, out, err) = agent.run_with_input(&["job", "run", "-detach", "-"], JOB).await;
    check(
        &format!("{code}\n{out}{err}"),
        expect![[r#"
            0
            Job registration successful
            Evaluation ID: e1e1e1e1-0000-0000-0000-000000000000
        "#]],
    );
    let seen = agent.seen();
    assert_eq!(seen.len(), 1);
    let body: serde_json::Value = serde_json::from_str(&seen[0]["PUT /v1/jobs ".len()..]).unwrap();
    assert_eq!(body["Job"]["TaskGroups"][0]["Tasks"][0]["Driver"], "raw_exec");
    assert_eq!(body["Submission"]["Source"], JOB);
    assert!(body.get("EnforceIndex").is_none());
}

#[tokio::test]
async fn run_follows_the_evaluation_and_then_its_deployment() {
    let allocations = r#"[{"ID":"a1a1a1a1-0","NodeID":"b1b1b1b1-0","TaskGroup":"g",
        "CreateIndex":6,"ClientStatus":"pending"}]"#;
    let running = r#"{"Status":"running","StatusDescription":"Deployment is running"}"#;
    let done = format!(
        r#"{{"ID":"{DEPLOYMENT}","JobID":"web","Status":"successful",
            "StatusDescription":"Deployment completed successfully",
            "TaskGroups":{{"g":{{"DesiredTotal":1,"PlacedAllocs":1,"HealthyAllocs":1}}}}}}"#
    );
    let agent = Agent::start()
        .await
        .on("PUT /v1/jobs", 200, &registered())
        .on(&format!("GET /v1/evaluation/{EVAL}/allocations"), 200, allocations)
        .once("GET /v1/evaluation/", 200, &eval("pending", ""))
        .on("GET /v1/evaluation/", 200, &eval("complete", ""))
        .once("GET /v1/deployment/", 200, running)
        .on("GET /v1/deployment/", 200, &done);
    let (code, out, err) = agent.run_with_input(&["job", "run", "-"], JOB).await;
    check(
        &format!("{code}\n{out}{err}"),
        expect![[r#"
            0
            ==> Monitoring evaluation "e1e1e1e1"
                Evaluation triggered by job "web"
                Evaluation within deployment: "d1d1d1d1"
                Allocation "a1a1a1a1" created: node "b1b1b1b1", group "g"
                Evaluation status changed: "pending" -> "complete"
            ==> Evaluation "e1e1e1e1" finished with status "complete"
            ==> Monitoring deployment "d1d1d1d1"
                Deployment "d1d1d1d1" running: Deployment is running
                Deployment "d1d1d1d1" successful

                ID          = d1d1d1d1
                Job ID      = web
                Job Version = 0
                Status      = successful
                Description = Deployment completed successfully

                Deployed
                Task Group  Desired  Placed  Healthy  Unhealthy
                g           1        1       1        0
        "#]],
    );
    let blocking = |line: &&String| line.contains("index=7&wait=10000ms");
    assert_eq!(agent.seen().iter().filter(blocking).count(), 2, "{:?}", agent.seen());
}

#[tokio::test]
async fn a_job_that_cannot_be_placed_ends_with_2_and_the_reasons() {
    let failed = r#","BlockedEval":"f1f1f1f1-0","FailedTGAllocs":{"g":{"NodesEvaluated":1,
        "NodesExhausted":1,"DimensionExhausted":{"memory":1}}}"#;
    let agent = Agent::start()
        .await
        .on("PUT /v1/jobs", 200, &registered())
        .on(&format!("GET /v1/evaluation/{EVAL}/allocations"), 200, "[]")
        .on("GET /v1/evaluation/", 200, &eval("complete", failed));
    let (code, out, _) = agent.run_with_input(&["run", "-"], JOB).await;
    check(
        &format!("{code}\n{out}"),
        expect![[r#"
            2
            ==> Monitoring evaluation "e1e1e1e1"
                Evaluation triggered by job "web"
                Evaluation within deployment: "d1d1d1d1"
                Evaluation status changed: "pending" -> "complete"
            ==> Evaluation "e1e1e1e1" finished with status "complete" but failed to place all allocations:
                Task Group "g" (failed to place 1 allocation):
                  * Resources exhausted on 1 nodes
                  * Dimension "memory" exhausted on 1 nodes
                Evaluation "f1f1f1f1" waiting for additional capacity to place remainder
        "#]],
    );
}

#[tokio::test]
async fn a_changed_index_is_told_in_two_lines() {
    let text = "Enforcing job modify index 7: job exists with conflicting job modify index: 284";
    let agent = Agent::start().await.on("PUT /v1/jobs", 500, text);
    let words = ["job", "run", "-check-index", "7", "-"];
    let (code, _, err) = agent.run_with_input(&words, JOB).await;
    assert_eq!((code, err), (1, format!("{text}\nJob not updated\n")));
    assert!(agent.seen()[0].contains(r#""EnforceIndex":true,"JobModifyIndex":7"#));
    let (code, _, err) = agent.run_with_input(&["job", "run", "-check-index", "x", "-"], JOB).await;
    assert_eq!(code, 1);
    assert!(err.starts_with("Error parsing check-index value \"x\""), "{err}");
}

#[tokio::test]
async fn jobs_are_listed_and_none_is_a_sentence() {
    let jobs = r#"[{"ID":"web","Type":"service","Priority":50,"Status":"dead","Stop":true},
                   {"ID":"cron","Type":"batch","Periodic":true,"Status":"running"}]"#;
    let agent = Agent::start().await.once("GET /v1/jobs", 200, jobs).on("GET /v1/jobs", 200, "[]");
    let (code, out, _) = agent.run(&["job", "status"]).await;
    check(
        &format!("{code}\n{out}"),
        expect![[r#"
            0
            ID    Type            Priority  Status          Submit Date
            web   service         50        dead (stopped)  N/A
            cron  batch/periodic  0         running         N/A
        "#]],
    );
    assert_eq!(agent.run(&["status"]).await.1, "No running jobs\n");
}

#[tokio::test]
async fn one_job_is_shown_with_its_groups_deployment_and_allocations() {
    let job = r#"{"ID":"web","Name":"web","Type":"service","Priority":50,"Datacenters":["dc1"],
        "Namespace":"default","Status":"running","Version":0,"CreateIndex":3}"#;
    let agent = Agent::start()
        .await
        .on("GET /v1/job/web/allocations", 200, "[]")
        .on("GET /v1/job/web/evaluations", 200, "[]")
        .on("GET /v1/job/web/deployment", 200, "null")
        .on("GET /v1/job/web/summary", 200, r#"{"Summary":{"g":{"Running":1}}}"#)
        .on("GET /v1/job/web", 200, job)
        .on("GET /v1/jobs?prefix=web", 200, r#"[{"ID":"web","Namespace":"default"},{"ID":"web2"}]"#)
        .on("GET /v1/jobs?prefix=no", 200, "[]")
        .on("GET /v1/jobs?prefix=w", 200, r#"[{"ID":"web"},{"ID":"web2"}]"#);
    let (code, out, _) = agent.run(&["job", "status", "web"]).await;
    check(
        &format!("{code}\n{out}"),
        expect![[r#"
            0
            ID            = web
            Name          = web
            Submit Date   = N/A
            Type          = service
            Priority      = 50
            Datacenters   = dc1
            Namespace     = default
            Status        = running
            Periodic      = false
            Parameterized = false

            Summary
            Task Group  Queued  Starting  Running  Failed  Complete  Lost
            g           0       0         1        0       0         0

            Allocations
            No allocations placed
        "#]],
    );
    let (code, _, err) = agent.run(&["job", "status", "no"]).await;
    assert_eq!((code, err.as_str()), (1, "No job(s) with prefix or id \"no\" found\n"));
    let (code, _, err) = agent.run(&["job", "status", "w"]).await;
    assert_eq!(code, 1);
    assert!(err.starts_with("Prefix matched multiple jobs\n\nID    Namespace"), "{err}");
}

#[tokio::test]
async fn json_is_printed_as_it_came_and_templates_see_it() {
    let node = r#"{"ID":"c1c1c1c1-0","Name":"n1","Extra":{"b":1,"a":[]}}"#;
    let agent = Agent::start()
        .await
        .on("GET /v1/nodes?prefix=c1c1", 200, r#"[{"ID":"c1c1c1c1-0"}]"#)
        .on("GET /v1/node/c1c1c1c1-0", 200, node);
    let (code, out, _) = agent.run(&["node", "status", "-json", "c1c1"]).await;
    check(
        &format!("{code}\n{out}"),
        expect![[r#"
            0
            {
                "ID": "c1c1c1c1-0",
                "Name": "n1",
                "Extra": {
                    "b": 1,
                    "a": []
                }
            }
        "#]],
    );
    let (_, out, _) = agent.run(&["node", "status", "-t", "{{.Name}}!", "c1c1"]).await;
    assert_eq!(out, "n1!\n");
    let (code, _, err) = agent.run(&["node", "status", "-json", "-t", "x", "c1c1"]).await;
    assert_eq!((code, err.contains("Both json and template")), (1, true));
}

#[tokio::test]
async fn errors_of_the_agent_carry_status_and_text() {
    let agent = Agent::start().await.on("GET /v1/jobs", 403, "Permission denied");
    let (code, out, err) = agent.run(&["job", "status"]).await;
    let expected = "Error querying jobs: Unexpected response code: 403 (Permission denied)\n";
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", expected));
}

#[tokio::test]
async fn a_refused_connection_names_the_address_and_the_remedy() {
    // A port that was free a moment ago: nobody listens there.
    let address = format!("http://{}", {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    });
    let (code, _, err) = run(&["job", "status"], &[("NOMAD_ADDR", &address)], "").await;
    assert_eq!(code, 1);
    assert!(err.contains("Error querying jobs: connection refused"), "{err}");
    assert!(err.contains(&address) && err.contains("NOMAD_ADDR"), "{err}");
    let (code, _, err) = run(&["status", "-address=https://x:1"], &[], "").await;
    assert_eq!((code, err.contains("TLS")), (1, true));
}

#[tokio::test]
async fn token_region_and_namespace_go_with_each_call() {
    let agent = Agent::start().await.on("GET /v1/jobs", 200, "[]");
    let words = ["job", "status", "-region", "eu", "-namespace=*"];
    let variables = [("NOMAD_ADDR", agent.address.as_str()), ("NOMAD_TOKEN", "secret")];
    run(&words, &variables, "").await;
    assert_eq!(agent.seen(), ["GET /v1/jobs?namespace=%2A&region=eu token=secret"]);
}

#[tokio::test]
async fn plan_ends_with_1_when_something_would_change_and_255_when_it_fails() {
    let plan = |place: u32| {
        format!(
            r#"{{"JobModifyIndex":12,"Diff":{{"Type":"Edited","ID":"web","TaskGroups":[
                {{"Type":"None","Name":"g","Updates":{{"ignore":1}}}}]}},
                "Annotations":{{"DesiredTGUpdates":{{"g":{{"Place":{place}}}}}}},
                "FailedTGAllocs":null,"Warnings":"1 warning(s):\n\n* Careful"}}"#
        )
    };
    let agent = Agent::start()
        .await
        .once("PUT /v1/job/web/plan", 200, &plan(0))
        .once("PUT /v1/job/web/plan", 200, &plan(1))
        .on("PUT /v1/job/web/plan", 500, "broken");
    let (code, out, _) = agent.run_with_input(&["job", "plan", "-"], JOB).await;
    check(
        &format!("{code}\n{out}"),
        expect![[r#"
            0
            +/- Job: "web"
            Task Group: "g" (1 ignore)

            Scheduler dry-run:
            - All tasks successfully allocated.

            Job Warnings:
            1 warning(s):

            * Careful

            Job Modify Index: 12
            To submit the job with version verification run:

            nomad job run -check-index 12 -

            When running the job with the check-index flag, the job will only be run if the
            job modify index given matches the server-side version. If the index has
            changed, another user has modified the job and the plan's results are
            potentially invalid.
        "#]],
    );
    assert_eq!(agent.run_with_input(&["plan", "-diff=false", "-"], JOB).await.0, 1);
    let (code, _, err) = agent.run_with_input(&["plan", "-"], JOB).await;
    assert_eq!((code, err.contains("Error during plan")), (255, true));
    assert!(agent.seen()[1].contains(r#""Diff":false"#));
    assert_eq!(run(&["job", "plan", "none.hcl"], &[], "").await.0, 255);
}

#[tokio::test]
async fn logs_are_cut_to_the_lines_asked_for() {
    let id = "a1a1a1a1-0000-0000-0000-000000000000";
    let job = r#"{"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}"#;
    let alloc = format!(r#"{{"ID":"{id}","TaskGroup":"g","Job":{job}}}"#);
    let agent = Agent::start()
        .await
        .on("GET /v1/allocations?prefix=a1a1", 200, &format!(r#"[{{"ID":"{id}"}}]"#))
        .on("GET /v1/allocation/", 200, &alloc)
        .on("GET /v1/client/fs/logs/", 200, "one\ntwo\nthree\n");
    let (code, out, _) = agent.run(&["alloc", "logs", "-tail", "-n", "2", "a1a1"]).await;
    assert_eq!((code, out.as_str()), (0, "two\nthree\n"));
    let asked = agent.seen().pop().unwrap();
    assert!(asked.contains("task=t&type=stdout&plain=true&origin=end"), "{asked}");
    let (code, _, err) = agent.run(&["alloc", "logs", "a"]).await;
    assert_eq!((code, err.contains("at least two characters")), (1, true));
}

#[tokio::test]
async fn files_are_listed_and_read_in_frames() {
    let id = "a1a1a1a1-0000-0000-0000-000000000000";
    let agent = Agent::start()
        .await
        .on("GET /v1/allocations", 200, &format!(r#"[{{"ID":"{id}"}}]"#))
        .on("GET /v1/allocation/", 200, &format!(r#"{{"ID":"{id}"}}"#))
        .once("GET /v1/client/fs/stat/", 200, r#"{"IsDir":true}"#)
        .once("GET /v1/client/fs/stat/", 200, r#"{"IsDir":false}"#)
        .on("GET /v1/client/fs/stat/", 500, "stat none: no such file or directory")
        .on("GET /v1/client/fs/ls/", 200, r#"[{"FileMode":"-rw-r--r--","Name":"f","Size":5}]"#)
        .on("GET /v1/client/fs/stream/", 200, r#"{"Data":"aGkK","File":"f","Offset":3}{}"#);
    let (_, out, _) = agent.run(&["alloc", "fs", "a1a1"]).await;
    assert!(out.ends_with("-rw-r--r--  5 B   N/A            f\n"), "{out}");
    assert_eq!(agent.run(&["fs", "a1a1", "f"]).await, (0, "hi\n".into(), String::new()));
    let (code, _, err) = agent.run(&["fs", "a1a1", "none"]).await;
    let text = "Unexpected response code: 500 (stat none: no such file or directory)\n";
    assert_eq!((code, err.as_str()), (1, text));
}

#[tokio::test]
async fn stop_asks_only_when_the_id_is_not_whole() {
    let stopped = format!(r#"{{"EvalID":"{EVAL}"}}"#);
    let agent = Agent::start().await.on("GET /v1/jobs", 200, r#"[{"ID":"web"}]"#).on(
        "DELETE /v1/job/web",
        200,
        &stopped,
    );
    let (code, out, _) = agent.run(&["job", "stop", "-detach", "-purge", "web"]).await;
    assert_eq!((code, out), (0, format!("{EVAL}\n")));
    assert_eq!(agent.seen().pop().unwrap(), "DELETE /v1/job/web?purge=true");
    let (_, out, _) = agent.run_with_input(&["job", "stop", "-detach", "we"], "n\n").await;
    assert!(out.contains("stop job \"web\"? [y/N]") && out.ends_with("Cancelling job stop\n"));
    assert!(!agent.seen().pop().unwrap().starts_with("DELETE"));
}

#[tokio::test]
async fn status_shows_what_the_id_belongs_to() {
    let agent = Agent::start()
        .await
        .once("PUT /v1/search", 200, r#"{"Matches":{"jobs":null,"allocs":[]}}"#)
        .on("PUT /v1/search", 200, r#"{"Matches":{"jobs":["web"],"deployment":["we-1"]}}"#);
    let (code, _, err) = agent.run(&["status", "none"]).await;
    assert_eq!((code, err.as_str()), (1, "Unable to resolve ID: \"none\"\n"));
    let (code, _, err) = agent.run(&["status", "we"]).await;
    assert_eq!(code, 1);
    assert!(err.contains("Multiple matches") && err.contains("deployment  we-1"), "{err}");
}

#[tokio::test]
async fn init_writes_an_example_that_can_be_read_and_does_not_overwrite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.nomad.hcl");
    let file = file.to_str().unwrap();
    for words in [&["job", "init", file][..], &["init", "-short", file]] {
        let (code, out, _) = run(words, &[], "").await;
        assert_eq!((code, out), (0, format!("Example job file written to {file}\n")));
        let (code, out, err) = run(&["job", "run", "-output", file], &[], "").await;
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.starts_with("{\n    \"Job\": {\n"), "{out}");
        let (code, _, err) = run(words, &[], "").await;
        assert_eq!((code, err), (1, format!("Job '{file}' already exists\n")));
        std::fs::remove_file(file).unwrap();
    }
}

#[tokio::test]
async fn a_raw_request_prints_the_answer_and_fails_with_its_status() {
    let agent = Agent::start().await.on("GET /v1/agent/self", 200, "{\"a\":1}").on(
        "POST /v1/jobs",
        500,
        "no",
    );
    let (code, out, _) = agent.run(&["operator", "api", "/v1/agent/self?pretty"]).await;
    assert_eq!((code, out.as_str()), (0, "{\"a\":1}"));
    let (code, out, _) = agent.run_with_input(&["operator", "api", "jobs"], "{}").await;
    assert_eq!((code, out.as_str()), (1, "no"));
    let dry = ["operator", "api", "-dryrun", "-H", "A: b", "-filter", "x == 1", "/v1/jobs"];
    let (_, out, _) = agent.run(&dry).await;
    assert!(out.contains("-X GET") && out.contains("/v1/jobs?filter=x%20%3D%3D%201'"), "{out}");
}

#[tokio::test]
async fn completions_know_commands_and_flags() {
    let (code, out, _) = run(&["completion", "bash"], &[], "").await;
    assert_eq!(code, 0);
    assert!(out.contains("eligibility") && out.contains("--check-index"), "no completions");
    assert_eq!(run(&["completion", "tcsh"], &[], "").await.0, 1);
}
