//! A server agent and a client agent as two processes: everything works as in one.

use crate::harness::*;

#[test]
fn a_client_agent_runs_work_of_a_server_agent_and_both_apis_answer() {
    if !is_root() {
        return;
    }
    let (server_dir, client_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server =
        Agent::start(server_dir.path(), "server {\n  enabled = true\n  bootstrap_expect = 1\n}\n");
    let client_config = format!(
        "client {{\n  enabled = true\n  network_interface = \"lo\"\n  servers = [\"{}\"]\n}}\nplugin \"raw_exec\" {{\n  config {{\n    enabled = true\n  }}\n}}\n",
        server.rpc
    );
    let mut client = Agent::start(client_dir.path(), &client_config);
    server.wait_ready();
    // Registered through the client agent, which hands the request on.
    client.register(&shell_job("far", "service", "echo hello from afar; sleep 600"));
    let alloc = server.wait_alloc("far", "runs", |a| a["ClientStatus"] == "running");
    let id = alloc["ID"].as_str().unwrap();
    for agent in [&server, &client] {
        until("the log can be read through either agent", || {
            (agent.cli_text(&["alloc", "logs", id]) == "hello from afar\n").then_some(())
        });
        assert!(agent.cli_text(&["alloc", "status", id]).contains("running"));
        assert!(agent.cli_text(&["job", "status", "far"]).contains("running"));
    }
    assert!(server.cli_text(&["alloc", "fs", id, "alloc/logs"]).contains("t.stdout.0"));
    // The client vanishes and comes back: its task lives, and the server hears of it again.
    client.kill_and_restart();
    until("the log can be read again", || {
        (server.cli_text(&["alloc", "logs", id]) == "hello from afar\n").then_some(())
    });
    let after = server.get(&format!("/v1/allocation/{id}")).unwrap();
    assert_eq!(after["TaskStates"]["t"]["Restarts"], 0);
}
