//! Real processes in real cgroups; needs root and says so where it is not.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod isolated;
mod memory_dirs;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use sandbox::cgroup::{NodeClaim, sweep_dead_nodes};
use sandbox::{
    Cgroup, Child, Hierarchies, Limits, Placement, Program, Spawn, SpawnError, SpawnStep,
    sealed_program, sweep,
};

const LIMIT: Duration = Duration::from_secs(10);

/// A node id nobody else uses, removed at the end.
struct Node {
    on: Hierarchies,
    id: String,
    claim: Option<NodeClaim>,
}

impl Node {
    fn new(on: Hierarchies) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if on.is_empty() || !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root and a mounted cgroup hierarchy");
            return None;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("sandbox-test-{}-{count}", std::process::id());
        let claim = Some(NodeClaim::acquire(&on, &id).unwrap());
        Some(Self { on, id, claim })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        sweep(&self.on, &self.id, &BTreeSet::new()).unwrap();
        if let Some(claim) = self.claim.take() {
            claim.give_back(true);
        }
    }
}

/// Starts a shell script; its standard output comes back as a readable end.
fn shell(script: &str, placement: Option<&Placement>) -> Result<(Child, File), SpawnError> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let argv = ["sh", "-c", script].map(|text| CString::new(text).unwrap());
    let child = Spawn {
        program: Program::Path(c"/bin/sh"),
        argv: &argv,
        env: &[c"PATH=/usr/bin:/bin".to_owned()],
        descriptors: &[null.as_fd(), writer.as_fd(), null.as_fd()],
        directory: Some(c"/tmp"),
        isolation: None,
        user: None,
        power: None,
        umask: 0o022,
        oom_score_adj: Some(7),
        parent_death_signal: None,
        placement,
    }
    .start()?;
    Ok((child, reader.into()))
}

fn exit_code(child: &Child) -> Option<i32> {
    waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap().exit_status()
}

fn read_line(file: &mut File) -> String {
    let mut line = String::new();
    let mut byte = [0];
    while file.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0] as char);
    }
    line
}

#[test]
fn a_program_starts_with_exactly_what_it_was_given() {
    let script = "pwd; umask; cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l; \
                  tr '\\0' '\\n' </proc/$$/environ | wc -l; grep SigIgn /proc/self/status; exit 3";
    let (child, mut output) = shell(script, None).unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    // `ls` sees 0, 1, 2 and the directory it reads.
    assert_eq!(text, "/tmp\n0022\n7\n4\n1\nSigIgn:\t0000000000000000\n");
    assert_eq!(exit_code(&child), Some(3));
}

#[test]
fn a_failed_start_names_its_step_and_leaves_no_child() {
    let spawn = |program, directory| {
        Spawn {
            program: Program::Path(program),
            argv: &[],
            env: &[],
            descriptors: &[],
            directory,
            isolation: None,
            user: None,
            power: None,
            umask: 0o022,
            oom_score_adj: None,
            parent_death_signal: None,
            placement: None,
        }
        .start()
        .unwrap_err()
    };
    let missing = spawn(c"/no/such/program", None);
    assert_eq!(missing.step, SpawnStep::Exec);
    assert_eq!(missing.source.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(spawn(c"/bin/true", Some(c"/no/such/place")).step, SpawnStep::Directory);
}

#[test]
fn a_sealed_program_runs_from_memory() {
    let image = std::fs::read("/bin/true").unwrap();
    let program = sealed_program("true", &image).unwrap();
    let child = Spawn {
        program: Program::Open(program.as_fd()),
        argv: &[c"true".to_owned()],
        env: &[],
        descriptors: &[],
        directory: None,
        isolation: None,
        user: None,
        power: None,
        umask: 0o022,
        oom_score_adj: None,
        parent_death_signal: None,
        placement: None,
    }
    .start()
    .unwrap();
    assert_eq!(exit_code(&child), Some(0));
}

/// A process that has left its session and its parent is still found and ended.
fn ends_everybody(on: Hierarchies) {
    let Some(node) = Node::new(on) else { return };
    let group = Cgroup::create(&node.on, &node.id, "a-task").unwrap();
    group.set_cpu_shares(512).unwrap();
    let placement = group.placement().unwrap();
    let script = "(setsid sleep 1000 & setsid sh -c 'sleep 1000 & echo $!; wait' &) ; sleep 1000";
    let (child, mut output) = shell(script, Some(&placement)).unwrap();
    let deep: u32 = read_line(&mut output).parse().unwrap();
    let pids = group.pids().unwrap();
    assert!(pids.contains(&child.pid()) && pids.contains(&deep), "{pids:?}");
    assert!(group.stats().unwrap().memory_bytes > 0);
    group.kill_all(LIMIT).unwrap();
    assert_eq!(exit_code(&child), None, "it was killed");
    assert_eq!(group.pids().unwrap(), Vec::<u32>::new());
    group.remove().unwrap();
    assert!(!group.exists());
    group.kill_all(LIMIT).unwrap();
    group.remove().unwrap();
}

#[test]
fn a_group_ends_everybody_with_the_unified_tree() {
    ends_everybody(Hierarchies::detect());
}

#[test]
fn a_group_ends_everybody_with_the_old_trees_only() {
    ends_everybody(Hierarchies::below(Path::new("/sys/fs/cgroup"), false));
}

#[test]
fn a_sweep_touches_neither_the_living_nor_another_node() {
    let (Some(node), Some(other)) =
        (Node::new(Hierarchies::detect()), Node::new(Hierarchies::detect()))
    else {
        return;
    };
    let start = |node: &Node, name: &str| {
        let group = Cgroup::create(&node.on, &node.id, name).unwrap();
        let (child, _) = shell("exec sleep 1000", Some(&group.placement().unwrap())).unwrap();
        (group, child)
    };
    let (kept, kept_child) = start(&node, "a-kept");
    let (lost, lost_child) = start(&node, "a-lost");
    let (foreign, foreign_child) = start(&other, "a-lost");
    let report = sweep(&node.on, &node.id, &BTreeSet::from(["a-kept".to_owned()])).unwrap();
    assert_eq!(report.removed, ["a-lost"]);
    assert!(report.failed.is_empty());
    assert_eq!(exit_code(&lost_child), None);
    assert!(!lost.exists());
    assert_eq!(kept.pids().unwrap(), [kept_child.pid()]);
    assert_eq!(foreign.pids().unwrap(), [foreign_child.pid()]);
    let again = sweep(&node.on, &node.id, &BTreeSet::from(["a-kept".to_owned()])).unwrap();
    assert!(again.removed.is_empty());
}

#[test]
fn an_agent_that_leaves_does_not_disturb_one_that_creates() {
    let (Some(node), Some(leaving)) =
        (Node::new(Hierarchies::detect()), Node::new(Hierarchies::detect()))
    else {
        return;
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2000 {
                NodeClaim::acquire(&leaving.on, &leaving.id).unwrap().give_back(false);
            }
        });
        scope.spawn(|| {
            for _ in 0..500 {
                sweep_dead_nodes(&node.on).unwrap();
            }
        });
        for _ in 0..500 {
            let claim = NodeClaim::acquire(&node.on, &node.id).unwrap();
            let group = Cgroup::create(&node.on, &node.id, "a-task").unwrap();
            group.placement().unwrap();
            group.remove().unwrap();
            claim.give_back(true);
        }
    });
}

#[test]
fn empty_groups_of_a_killed_agent_are_removed_and_no_others() {
    let nodes = [(); 3].map(|()| Node::new(Hierarchies::detect()));
    let [Some(mut dead), Some(mut orphan), Some(alive)] = nodes else { return };
    for node in [&dead, &orphan, &alive] {
        Cgroup::create(&node.on, &node.id, "a-task").unwrap();
        Cgroup::create(&node.on, &node.id, sandbox::cgroup::SUPERVISORS).unwrap();
    }
    let running = Cgroup::named(&orphan.on, &orphan.id, "a-task");
    let (child, _) = shell("exec sleep 1000", Some(&running.placement().unwrap())).unwrap();
    // The kernel drops the locks of an agent that is killed.
    drop(dead.claim.take());
    drop(orphan.claim.take());
    let deadline = Instant::now() + LIMIT;
    let mut removed = sweep_dead_nodes(&alive.on).unwrap();
    // Another agent of this machine may be at it just now.
    while Cgroup::named(&dead.on, &dead.id, "a-task").exists() {
        assert!(Instant::now() < deadline, "the dead node's groups are still there");
        std::thread::yield_now();
        removed.extend(sweep_dead_nodes(&alive.on).unwrap());
    }
    assert!(!removed.contains(&orphan.id), "{removed:?}");
    assert!(!removed.contains(&alive.id), "{removed:?}");
    assert!(Cgroup::named(&alive.on, &alive.id, "a-task").exists());
    assert_eq!(running.pids().unwrap(), [child.pid()]);
    // A restarted agent takes its groups back.
    orphan.claim = Some(NodeClaim::acquire(&orphan.on, &orphan.id).unwrap());
}

#[test]
fn limits_are_kept_and_a_kill_for_want_of_memory_is_told() {
    let Some(node) = Node::new(Hierarchies::detect()) else { return };
    let missing = node.on.missing_controllers();
    if !missing.is_empty() {
        eprintln!("skipped: this machine has no cgroup controllers {missing:?}");
        return;
    }
    let run = |name: &str, script: &str| {
        let group = Cgroup::create(&node.on, &node.id, name).unwrap();
        let limits =
            Limits { memory_bytes: 8 << 20, memory_bytes_max: Some(16 << 20), processes_max: 4 };
        group.set_limits(&limits).unwrap();
        let (child, mut output) = shell(script, Some(&group.placement().unwrap())).unwrap();
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        let code = exit_code(&child);
        let killed = group.oom_killed();
        group.kill_all(LIMIT).unwrap();
        group.remove().unwrap();
        assert!(!group.exists());
        (code, killed, text)
    };
    assert_eq!(run("small", "exit 3"), (Some(3), false, String::new()));
    let hungry = "head -c 100000000 /dev/zero | tail -c 100000000 >/dev/null; exit $?";
    assert_eq!(run("hungry", hungry), (Some(137), true, String::new()));
    let (_, _, text) =
        run("many", "for n in 1 2 3 4 5 6; do sleep 100 >/dev/null & echo $n; done 2>/dev/null");
    assert_eq!(text, "1\n2\n3\n");
}
