//! Two agents on one host, and what an agent leaves behind.

use crate::harness::*;

#[test]
fn two_agents_never_touch_each_others_tasks_whichever_is_killed() {
    if !is_root() {
        return;
    }
    let (left, right) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut agents = [Agent::start(left.path(), BOTH), Agent::start(right.path(), BOTH)];
    let mut pids = Vec::new();
    for agent in &agents {
        agent.register(&shell_job(
            "same-name",
            "service",
            "echo $$ > $NOMAD_ALLOC_DIR/data/pid; sleep 600",
        ));
        let alloc = agent.wait_alloc("same-name", "runs", |a| a["ClientStatus"] == "running");
        let file =
            agent.dir.join("data/alloc").join(alloc["ID"].as_str().unwrap()).join("alloc/data/pid");
        pids.push(until("the pid is written", || {
            std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok()
        }));
    }
    for round in 0..6 {
        agents[round % 2].kill_and_restart();
        agents[round % 2].wait_ready();
        assert!(pids.iter().all(|pid| is_alive(*pid)), "round {round}: a task died");
    }
    let out = agents[0].cli(&["job", "stop", "same-name"]);
    assert!(out.status.success());
    until("the first agent's task ended", || (!is_alive(pids[0])).then_some(()));
    assert!(is_alive(pids[1]), "the second agent's task died with the first one's");
}

#[test]
fn a_second_agent_on_the_same_directory_is_refused_with_a_sentence() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let _agent = Agent::start(dir.path(), BOTH);
    let file = dir.path().join("agent.hcl").display().to_string();
    let second =
        std::process::Command::new(MUSTER).args(["agent", "-config", &file]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn a_development_agent_that_is_asked_to_end_leaves_nothing() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ports = dir.path().join("ports.hcl");
    std::fs::write(&ports, "ports {\n  http = 0\n  rpc = 0\n  serf = 0\n}\n").unwrap();
    let args = ["agent", "-dev", "-config", ports.to_str().unwrap()].map(str::to_owned).to_vec();
    let mut agent = Agent::spawn(dir.path(), args);
    agent.wait_ready();
    agent.register(&shell_job(
        "dev",
        "service",
        "echo $$ > $NOMAD_ALLOC_DIR/data/pid; trap '' TERM INT; sleep 600 & wait",
    ));
    let alloc = agent.wait_alloc("dev", "runs", |a| a["ClientStatus"] == "running");
    let node = agent.get("/v1/nodes").unwrap()[0]["ID"].as_str().unwrap().to_owned();
    let of_node = || cgroups().into_iter().filter(|p| p.to_string_lossy().contains(&node)).count();
    assert!(of_node() > 0, "the task has a cgroup of its node");
    let info = agent.get("/v1/agent/self").unwrap();
    let data_dir = std::path::PathBuf::from(info["config"]["DataDir"].as_str().unwrap());
    let file = data_dir.join("alloc").join(alloc["ID"].as_str().unwrap()).join("alloc/data/pid");
    let pid: u32 =
        until("the pid is written", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    agent.terminate();
    assert!(!is_alive(pid), "a task outlived its development agent");
    assert!(!data_dir.exists(), "the temporary data directory is still there");
    assert_eq!(of_node(), 0, "cgroups are left");
}

#[test]
fn what_a_killed_development_agent_left_is_ended_by_the_next_one_alone() {
    if !is_root() {
        return;
    }
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    // The first two share a folder for temporary files.
    let temporary = dirs[0].path().to_path_buf();
    let start = |dir: &std::path::Path| {
        let ports = dir.join("ports.hcl");
        std::fs::write(&ports, "ports {\n  http = 0\n  rpc = 0\n  serf = 0\n}\n").unwrap();
        let args = ["agent", "-dev", "-config", ports.to_str().unwrap()].map(str::to_owned);
        let agent = Agent::spawn_in(dir, args.to_vec(), &temporary);
        agent.wait_ready();
        agent
    };
    let run = |agent: &Agent| {
        agent.register(&shell_job("dev", "service", "sleep 600"));
        agent.wait_alloc("dev", "runs", |a| a["ClientStatus"] == "running");
        agent.get("/v1/nodes").unwrap()[0]["ID"].as_str().unwrap().to_owned()
    };
    let of_node =
        |node: &str| cgroups().into_iter().filter(|p| p.to_string_lossy().contains(node)).count();
    let (mut killed, living) = (start(dirs[0].path()), start(dirs[1].path()));
    let (dead_node, living_node) = (run(&killed), run(&living));
    let info = killed.get("/v1/agent/self").unwrap();
    let left = std::path::PathBuf::from(info["config"]["DataDir"].as_str().unwrap());
    killed.kill();
    assert!(of_node(&dead_node) > 0, "tasks outlive the kill");
    let mut next = start(dirs[2].path());
    assert_eq!(of_node(&dead_node), 0, "the killed agent's tasks have no owner");
    assert!(!left.exists(), "its directory is still there");
    assert!(of_node(&living_node) > 0, "the other agent's task was touched");
    let allocs = living.get("/v1/allocations").unwrap();
    assert_eq!(allocs[0]["ClientStatus"], "running");
    next.terminate();
    drop(living);
}

#[test]
fn an_agent_that_is_asked_to_end_lets_its_tasks_live_and_takes_them_back() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(dir.path(), BOTH);
    agent.register(&shell_job(
        "stays",
        "service",
        "echo $$ > $NOMAD_ALLOC_DIR/data/pid; sleep 600",
    ));
    let alloc = agent.wait_alloc("stays", "runs", |a| a["ClientStatus"] == "running");
    let file =
        dir.path().join("data/alloc").join(alloc["ID"].as_str().unwrap()).join("alloc/data/pid");
    let pid: u32 =
        until("the pid is written", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    agent.terminate();
    assert!(is_alive(pid), "the task ended with the agent");
    let args = vec![
        "agent".to_owned(),
        "-config".to_owned(),
        dir.path().join("agent.hcl").display().to_string(),
    ];
    let agent = Agent::spawn(dir.path(), args);
    agent.wait_ready();
    let again = agent.wait_alloc("stays", "runs", |a| a["ClientStatus"] == "running");
    assert_eq!(again["ID"], alloc["ID"]);
    assert!(is_alive(pid));
}
