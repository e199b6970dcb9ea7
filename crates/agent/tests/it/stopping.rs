//! How jobs end when they are asked to.

use crate::harness::*;

#[test]
fn a_job_can_be_stopped_without_its_shutdown_delays() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), BOTH);
    let mut job = shell_job("patient", "service", "exec sleep 600");
    job["TaskGroups"][0]["ShutdownDelay"] = serde_json::json!(600_000_000_000_i64);
    job["TaskGroups"][0]["Tasks"][0]["ShutdownDelay"] = serde_json::json!(600_000_000_000_i64);
    agent.register(&job);
    agent.wait_alloc("patient", "runs", |a| a["ClientStatus"] == "running");
    let said = agent.cli_text(&["job", "stop", "-detach", "-no-shutdown-delay", "patient"]);
    assert!(!said.contains("rror"), "{said}");
    agent.wait_alloc("patient", "has ended", |a| a["ClientStatus"] == "complete");
}
