//! Mistakes get an error that says what, where and what to do, and leave nothing half-done.

use std::process::Command;

use crate::harness::*;

fn agent_says(config: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("agent.hcl");
    std::fs::write(&file, config).unwrap();
    let output = Command::new(MUSTER)
        .args(["agent", "-config"])
        .arg(&file)
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).replace(&dir.path().display().to_string(), "DIR");
    (output.status.success(), said)
}

#[test]
fn settings_that_do_not_exist_are_refused_by_name_with_file_and_line() {
    let (ok, said) = agent_says(
        "data_dir = \"/tmp/x\"\nserver {\n  enabled = true\n  bootstrap_expekt = 1\n}\n",
    );
    assert!(!ok);
    assert!(said.contains("DIR/agent.hcl:4") && said.contains("bootstrap_expekt"), "{said}");
}

#[test]
fn settings_that_are_not_there_yet_are_refused_by_name() {
    let (ok, said) = agent_says(
        "data_dir = \"/tmp/x\"\nserver {\n  enabled = true\n}\nacl {\n  enabled = true\n}\n",
    );
    assert!(!ok);
    assert!(said.contains("acl") && said.contains("not supported"), "{said}");
}

#[test]
fn an_agent_without_a_role_or_a_directory_says_what_to_set() {
    let (ok, said) = agent_says("bind_addr = \"127.0.0.1\"\n");
    assert!(!ok && said.contains("no role"), "{said}");
    let (ok, said) = agent_says("server {\n  enabled = true\n}\n");
    assert!(!ok && said.contains("data_dir"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (ok, said) = agent_says(&format!(
        "data_dir = \"{}\"\nbind_addr = \"127.0.0.1\"\nports {{\n  http = {port}\n  rpc = 0\n  serf = 0\n}}\nserver {{\n  enabled = true\n}}\n",
        data.display()
    ));
    assert!(!ok);
    assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains("ports"), "{said}");
}

#[test]
fn a_command_line_without_an_agent_names_the_address_it_tried() {
    let output = Command::new(MUSTER)
        .args(["job", "status"])
        .env("NOMAD_ADDR", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("127.0.0.1:1"), "{said}");
}

#[test]
fn jobs_that_cannot_be_are_refused_with_the_reason_and_leave_nothing() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), BOTH);
    let file = dir.path().join("bad.hcl");
    std::fs::write(&file, "job \"bad\" {\n  group \"g\" {\n    tusk \"t\" {\n    }\n  }\n}\n")
        .unwrap();
    let output = agent.cli(&["job", "run", "bad.hcl"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("tusk") && said.contains('3'), "{said}");
    std::fs::write(
        &file,
        "job \"bad\" {\n  type = \"system\"\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        command = \"/bin/true\"\n      }\n    }\n  }\n}\n",
    )
    .unwrap();
    let said = agent.cli_text(&["job", "run", "bad.hcl"]);
    assert!(said.contains("system") && said.contains("not supported"), "{said}");
    assert_eq!(agent.get("/v1/jobs").unwrap().as_array().unwrap().len(), 0);
    // A driver that no node has: accepted, and the reason it waits is told.
    let mut job = shell_job("no-driver", "batch", "true");
    job["TaskGroups"][0]["Tasks"][0]["Driver"] = "docker".into();
    agent.register(&job);
    until("the job says why it waits", || {
        agent.cli_text(&["job", "status", "no-driver"]).contains("missing drivers").then_some(())
    });
    // A command that is not there: the task says so.
    let mut job = shell_job("no-command", "batch", "true");
    job["TaskGroups"][0]["Tasks"][0]["Config"] = serde_json::json!({ "command": "/no/such/thing" });
    job["TaskGroups"][0]["ReschedulePolicy"] =
        serde_json::json!({ "Attempts": 0, "Unlimited": false });
    agent.register(&job);
    let failed = agent.wait_alloc("no-command", "failed", |a| a["ClientStatus"] == "failed");
    assert!(failed.to_string().contains("/no/such/thing"), "{failed}");
}
