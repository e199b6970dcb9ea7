//! `kill -9` of the agent, a hundred times, under running work: nothing is lost, nothing doubled.

use std::collections::BTreeMap;

use crate::harness::*;

const KILLS: usize = 100;

#[test]
fn a_hundred_kills_lose_no_task_no_line_and_no_acknowledged_job() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let before = cgroups();
    let mut agent = Agent::start(dir.path(), BOTH);
    let counter = "echo $$ > $NOMAD_ALLOC_DIR/data/pid; n=0; while true; do echo $n; n=$((n+1)); sleep 0.02; done";
    agent.register(&shell_job("counter", "service", counter));
    let running = agent.wait_alloc("counter", "runs", |a| a["ClientStatus"] == "running");
    let id = running["ID"].as_str().unwrap().to_owned();
    let alloc_dir = dir.path().join("data/alloc").join(&id);
    let pid: u32 = until("the task wrote its pid", || {
        std::fs::read_to_string(alloc_dir.join("alloc/data/pid")).ok()?.trim().parse().ok()
    });
    let marks = dir.path().join("marks");
    for round in 0..KILLS {
        // Each piece of batch work leaves one mark; two would mean that it ran twice.
        let script = format!("echo {round} >> {}", marks.display());
        agent.register(&shell_job(&format!("once-{round}"), "batch", &script));
        agent.kill_and_restart();
    }
    agent.wait_ready();
    let done = until("all batch work is done", || {
        let text = std::fs::read_to_string(&marks).ok()?;
        (text.lines().count() >= KILLS).then_some(text)
    });
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for line in done.lines() {
        *runs.entry(line).or_default() += 1;
    }
    let odd: Vec<_> = runs.iter().filter(|(_, n)| **n != 1).collect();
    assert_eq!((runs.len(), odd.len()), (KILLS, 0), "work that ran more than once: {odd:?}");
    assert!(is_alive(pid), "the task died with an agent");
    let alloc = agent.get(&format!("/v1/allocation/{id}")).unwrap();
    assert_eq!(alloc["TaskStates"]["t"]["Restarts"], 0);
    assert_eq!(alloc["ClientStatus"], "running");
    let logs = agent.cli_text(&["alloc", "logs", &id]);
    let numbers: Vec<u64> = logs.lines().filter_map(|l| l.parse().ok()).collect();
    assert!(numbers.len() > 100, "{} lines", numbers.len());
    assert!(numbers.windows(2).all(|w| w[1] == w[0] + 1), "a log line is lost or doubled");
    until("every batch allocation is known to be complete", || {
        let allocs = agent.get("/v1/allocations")?;
        let complete =
            allocs.as_array()?.iter().filter(|a| a["ClientStatus"] == "complete").count();
        (complete == KILLS).then_some(())
    });
    let out = agent.cli(&["job", "stop", "-purge", "counter"]);
    assert!(out.status.success());
    until("the task is gone", || (!is_alive(pid)).then_some(()));
    until("its cgroups are gone", || {
        let left = cgroups()
            .difference(&before)
            .filter(|p| p.to_string_lossy().contains(&id[..8]))
            .count();
        (left == 0).then_some(())
    });
}

#[test]
fn the_end_of_a_task_while_no_agent_lives_is_known_afterwards() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(dir.path(), BOTH);
    let gate = dir.path().join("gate");
    let script =
        format!("while [ ! -e {} ]; do sleep 0.05; done; echo bye; exit 7", gate.display());
    let mut job = shell_job("ends", "batch", &script);
    job["TaskGroups"][0]["RestartPolicy"] = serde_json::json!({ "Attempts": 0, "Mode": "fail" });
    job["TaskGroups"][0]["ReschedulePolicy"] =
        serde_json::json!({ "Attempts": 0, "Unlimited": false });
    agent.register(&job);
    agent.wait_alloc("ends", "runs", |a| a["ClientStatus"] == "running");
    agent.kill();
    std::fs::write(&gate, "").unwrap();
    let alive_script = gate.display().to_string();
    until("the task has ended", || {
        let running = std::fs::read_dir("/proc").unwrap().flatten().any(|p| {
            std::fs::read_to_string(p.path().join("cmdline"))
                .is_ok_and(|c| c.contains(&alive_script))
        });
        (!running).then_some(())
    });
    let args = vec![
        "agent".to_owned(),
        "-config".to_owned(),
        dir.path().join("agent.hcl").display().to_string(),
    ];
    agent = Agent::spawn(dir.path(), args);
    let ended = agent.wait_alloc("ends", "failed", |a| a["ClientStatus"] == "failed");
    let events = ended["TaskStates"]["t"]["Events"].as_array().unwrap().clone();
    let terminated = events.iter().find(|e| e["Type"] == "Terminated").expect("the end is told");
    assert_eq!(terminated["Details"]["exit_code"], "7");
    let id = ended["ID"].as_str().unwrap();
    assert_eq!(agent.cli_text(&["alloc", "logs", id]), "bye\n");
    agent.terminate();
}

/// Whatever dies first: the agent, or the task's supervisor while no agent lives.
#[test]
fn an_isolated_task_is_found_again_or_started_anew_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(dir.path(), BOTH);
    let healthy = agent.get("/v1/nodes").unwrap()[0]["Drivers"]["exec"]["Healthy"] == true;
    if !healthy {
        println!("skipped: this machine cannot isolate tasks");
        agent.terminate();
        return;
    }
    let mut job = shell_job("apart", "service", "setsid sleep 1000 & echo $$; sleep 1000");
    job["TaskGroups"][0]["Tasks"][0]["Driver"] = "exec".into();
    job["TaskGroups"][0]["RestartPolicy"] = serde_json::json!(
        { "Attempts": 3, "Mode": "fail", "Interval": 300_000_000_000_i64, "Delay": 100_000_000 });
    agent.register(&job);
    let first = agent.wait_alloc("apart", "runs", |a| a["ClientStatus"] == "running");
    let id = first["ID"].as_str().unwrap().to_owned();
    let restarts = |agent: &Agent| {
        let alloc = agent.get(&format!("/v1/allocation/{id}"))?;
        let state = &alloc["TaskStates"]["t"];
        (state["State"] == "running").then(|| state["Restarts"].as_u64())?
    };
    let mounts = || {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        table.lines().filter(|line| line.contains(&id)).count()
    };
    assert_eq!(mounts(), 1, "the task's secrets and nothing else are mounted on the host");

    agent.kill_and_restart();
    agent.wait_ready();
    assert_eq!(until("the task is found again", || restarts(&agent)), 0);

    let supervisor = *supervisors_of(&id).first().expect("the task has a supervisor");
    agent.kill();
    signal(supervisor, "KILL");
    let config = dir.path().join("agent.hcl");
    let args = ["agent", "-config", config.to_str().unwrap()];
    agent = Agent::spawn(dir.path(), args.map(str::to_owned).to_vec());
    agent.wait_ready();
    until("the task runs anew", || restarts(&agent).filter(|restarts| *restarts == 1));
    assert!(agent.cli(&["job", "stop", "-purge", "apart"]).status.success());
    until("nothing of the task is left", || {
        let groups = cgroups().iter().filter(|path| path.to_string_lossy().contains(&id)).count();
        (supervisors_of(&id).is_empty() && groups == 0 && mounts() == 0).then_some(())
    });
    agent.terminate();
}

/// Supervisors of an allocation, by the word that is there for people.
fn supervisors_of(id: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.starts_with("muster-supervisor") && line.contains(id))
    })
    .collect()
}
