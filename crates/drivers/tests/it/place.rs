//! Surroundings of a test: directories and a node id of its own, taken away at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use drivers::{
    Driver, ExitResult, LaunchPlan, LogPlan, MemoryMax, RawExec, RawExecOptions, RunningTask,
    TaskResources,
};
use sandbox::cgroup::NodeClaim;
use sandbox::{Cgroup, Hierarchies};
use serde_json::json;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);
pub(crate) const SIGTERM: i32 = 15;
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) struct Place {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) node_id: String,
    claim: Option<NodeClaim>,
    pub(crate) driver: RawExec,
}

impl Place {
    /// `None` where the test cannot run.
    pub(crate) fn new() -> Option<Self> {
        Self::with(RawExecOptions { enabled: true, ..Default::default() })
    }

    pub(crate) fn with(options: RawExecOptions) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() || Hierarchies::detect().is_empty() {
            eprintln!("skipped: needs root and a mounted cgroup hierarchy");
            return None;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let node_id = format!("drivers-test-{}-{count}", std::process::id());
        let directory = tempfile::tempdir().unwrap();
        // Tasks may run as another user.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        std::fs::create_dir(directory.path().join("logs")).unwrap();
        let claim = Some(NodeClaim::acquire(&Hierarchies::detect(), &node_id).unwrap());
        Some(Self { directory, node_id, claim, driver: RawExec::new(options) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.path().join("state/task")
    }

    pub(crate) fn cgroup(&self) -> Cgroup {
        let name = drivers::task_cgroup_name("alloc", "task");
        Cgroup::named(&Hierarchies::detect(), &self.node_id, &name)
    }

    /// A shell script as a task named `task`.
    pub(crate) fn script(&self, script: &str) -> LaunchPlan {
        let config = json!({"command": "/bin/sh", "args": ["-c", script]});
        LaunchPlan {
            node_id: self.node_id.clone(),
            alloc_id: "alloc".to_owned(),
            task_name: "task".to_owned(),
            config: config.as_object().unwrap().clone(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            user: None,
            task_dir: self.path().to_owned(),
            alloc_dir: self.path().to_owned(),
            logs: LogPlan {
                dir: self.path().join("logs"),
                stdout: "task.stdout".to_owned(),
                stderr: "task.stderr".to_owned(),
                max_files: 3,
                max_file_size_bytes: 10 << 20,
            },
            state_dir: self.state_dir(),
            resources: TaskResources {
                cpu_shares: 100,
                memory_mb: 32,
                memory_max: MemoryMax::Same,
            },
        }
    }

    /// A shell script as an isolated task named `task`.
    pub(crate) fn isolated(&self, script: &str) -> LaunchPlan {
        let path = |name: &str| {
            let path = self.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(&path, mode).unwrap();
            path
        };
        path("own/local");
        LaunchPlan { task_dir: path("own"), alloc_dir: path("shared"), ..self.script(script) }
    }

    /// Runs a script to its end; its exit and standard output.
    pub(crate) async fn run(&self, plan: LaunchPlan) -> (ExitResult, String) {
        self.run_with(&self.driver, plan).await
    }

    pub(crate) async fn run_with(
        &self,
        driver: &dyn Driver,
        plan: LaunchPlan,
    ) -> (ExitResult, String) {
        let started = driver.start(plan).await.unwrap();
        let result = exit_of(&*started.task).await;
        started.task.destroy().await.unwrap();
        (result, self.log("task.stdout.0"))
    }

    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join("logs").join(name)).unwrap()
    }

    /// Waits until the first log file holds `lines` whole lines.
    pub(crate) async fn log_lines(&self, lines: usize) -> Vec<String> {
        let name = "task.stdout.0";
        until("output", || self.log(name).matches('\n').count() >= lines).await;
        self.log(name).lines().map(str::to_owned).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let on = Hierarchies::detect();
        sandbox::sweep(&on, &self.node_id, &BTreeSet::new()).unwrap();
        if let Some(claim) = self.claim.take() {
            claim.give_back(true);
        }
    }
}

pub(crate) async fn exit_of(task: &dyn RunningTask) -> ExitResult {
    tokio::time::timeout(LIMIT, task.wait()).await.expect("the task ends in time")
}

/// For conditions of the outside world that nothing announces.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    // A zombie is dead.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}
