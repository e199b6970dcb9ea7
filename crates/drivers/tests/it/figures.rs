//! Nothing adds up over many tasks; and figures, printed and not judged.

use std::path::Path;
use std::time::Instant;

use drivers::Driver;
use serde_json::json;
use tokio::task::JoinSet;

use crate::place::{Place, exit_of, until};

const IN_FLIGHT: usize = 8;

/// One short task with directories of its own.
async fn short_task(place: &Place, number: usize) {
    let mut plan = place.script("");
    plan.config = json!({"command": "/bin/true"}).as_object().unwrap().clone();
    plan.alloc_id = format!("alloc{number}");
    plan.state_dir = place.path().join(format!("state-{number}"));
    plan.logs.dir = place.path().join(format!("logs-{number}"));
    std::fs::create_dir(&plan.logs.dir).unwrap();
    let logs = plan.logs.dir.clone();
    let started = place.driver.start(plan).await.unwrap();
    assert!(exit_of(&*started.task).await.is_success());
    started.task.destroy().await.unwrap();
    std::fs::remove_dir_all(logs).unwrap();
}

async fn many(place: &std::sync::Arc<Place>, count: usize) {
    let mut running = JoinSet::new();
    for number in 0..count {
        while running.len() >= IN_FLIGHT {
            running.join_next().await.unwrap().unwrap();
        }
        let place = place.clone();
        running.spawn(async move { short_task(&place, number).await });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

/// Hundredths of a second used by this process and all it has waited for, the tasks included.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(4).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn entries(path: impl AsRef<Path>) -> usize {
    std::fs::read_dir(path).map_or(0, Iterator::count)
}

/// Children with zombies, descriptors, cgroups of this node in each tree, files.
fn ledger(place: &Place) -> [usize; 4] {
    let children = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).unwrap())
        .map(|text| text.split_whitespace().count())
        .sum();
    let groups = ["", "unified", "cpu", "freezer"]
        .iter()
        .map(|tree| Path::new("/sys/fs/cgroup").join(tree).join("muster").join(&place.node_id))
        .map(|path| {
            std::fs::read_dir(path).map_or(0, |entries| {
                entries.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count()
            })
        })
        .sum();
    [children, entries("/proc/self/fd"), groups, entries(place.path())]
}

/// In a process of its own, since the other tests' children and descriptors come and go.
#[test]
fn two_hundred_tasks_leave_nothing_behind() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "figures::ledger_of_two_hundred_tasks"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by two_hundred_tasks_leave_nothing_behind"]
async fn ledger_of_two_hundred_tasks() {
    let Some(place) = Place::new() else { return };
    let place = std::sync::Arc::new(place);
    // The first tasks create what is kept for the agent's life.
    many(&place, IN_FLIGHT).await;
    let mut after = ledger(&place);
    let before = after;
    many(&place, 200).await;
    until("the ledger to settle", || {
        after = ledger(&place);
        after[0] == before[0]
    })
    .await;
    assert_eq!(after, before, "children, descriptors, cgroups, files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures: cargo test -p drivers --test it -- --ignored --nocapture figures::figures"]
async fn figures() {
    let Some(place) = Place::new() else { return };
    let place = std::sync::Arc::new(place);
    many(&place, IN_FLIGHT).await;
    for _ in 0..3 {
        let (started, cpu) = (Instant::now(), cpu_ticks());
        many(&place, 500).await;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "500 short tasks, {IN_FLIGHT} in flight: {:.0} tasks/s, {:.2} ms of processor each",
            500.0 / seconds,
            (cpu_ticks() - cpu) as f64 * 10.0 / 500.0
        );
    }
    let descriptors = entries("/proc/self/fd");
    many(&place, 500).await;
    println!("descriptors before and after 500 tasks: {descriptors}, {}", entries("/proc/self/fd"));

    let mut tasks = Vec::new();
    for number in 0..10 {
        let mut plan = place.script("echo some output; exec sleep 1000");
        plan.alloc_id = format!("alloc{number}");
        plan.state_dir = place.path().join(format!("state-{number}"));
        tasks.push(place.driver.start(plan).await.unwrap());
    }
    for started in tasks.iter().take(2) {
        let pid = &started.handle.state["supervisor_pid"];
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
        let wanted = ["Rss:", "Pss:", "Private_Dirty:"];
        let lines = rollup.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
        println!("one supervisor of ten: {}", lines.collect::<Vec<_>>().join(", "));
    }
    for started in tasks {
        started.task.destroy().await.unwrap();
    }
}
