//! The end: nothing of the task outlives its main process, and its exit is known afterwards.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use supervisor::ExitRecord;
use supervisor::protocol::Reply;

use crate::serve::{Supervisor, pump};

/// Processes that the kernel cannot end (stuck in a device) do not hold up the exit for ever.
const KILL_LIMIT: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(1);
/// A pipe holds 64 KiB unless the task enlarged it, to at most 1 MiB by default.
const LAST_READS_MAX: usize = 128;

impl Supervisor {
    pub(crate) fn finish(mut self, status: WaitStatus) {
        let finished_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let oom_killed = self.task.cgroup.as_ref().is_some_and(sandbox::Cgroup::oom_killed);
        self.end_descendants();
        pump(&mut self.task.stdout, LAST_READS_MAX);
        pump(&mut self.task.stderr, LAST_READS_MAX);
        if let Some(cgroup) = &self.task.cgroup {
            // What could not be removed is left to the agent's next sweep.
            let _ = cgroup.remove();
        }
        let record = ExitRecord {
            exit_code: status.exit_status().unwrap_or(0),
            signal: status.terminating_signal().unwrap_or(0),
            oom_killed,
            finished_at_unix_nanos: u64::try_from(finished_at.as_nanos()).unwrap_or(u64::MAX),
            dropped_log_bytes: self.task.stdout.log.dropped_bytes()
                + self.task.stderr.log.dropped_bytes(),
        };
        // Without the record (a full disk) only an agent that listens learns of the exit; one that
        // comes later finds the supervisor lost, and nothing of the task alive.
        let _ = record.store(&self.task.state_directory);
        for agent in self.agents.iter().filter(|agent| agent.attached) {
            agent.send(&Reply::Exited(record.clone()));
        }
    }

    fn end_descendants(&self) {
        if let Some(cgroup) = &self.task.cgroup
            && cgroup.pids().is_ok_and(|pids| !pids.is_empty())
        {
            // The next step meets what this one could not end.
            let _ = cgroup.kill_all(KILL_LIMIT);
        }
        end_children();
    }
}

/// Ends and reaps all children of this process, which are all descendants of the task that are
/// left, wherever they have gone: their parents are dead, and this process is their subreaper.
fn end_children() {
    let deadline = Instant::now() + KILL_LIMIT;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        if Instant::now() >= deadline {
            return;
        }
        for child in children() {
            // A child that was not waited for keeps its pid, so this reaches nobody else.
            let _ = kill_process(child, Signal::KILL);
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

fn children() -> Vec<Pid> {
    std::fs::read_to_string("/proc/thread-self/children")
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}
