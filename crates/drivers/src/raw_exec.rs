//! Runs a program of the host as it is, with a supervisor and a cgroup but without isolation.

mod command;
mod id_ranges;

use std::collections::BTreeMap;

use async_trait::async_trait;
use sandbox::User;
use serde_json::{Map, Value};

pub use id_ranges::IdRanges;

use crate::config::{self, Key, Kind, key, required};
use crate::plan::LaunchPlan;
use crate::supervisor::{Found, SupervisedHandle, TaskLaunch, attach, launch, task_cgroup_name};
use crate::task::{
    Capabilities, FilesystemIsolation, Fingerprint, RecoverError, Recovered, RecoveredState,
    StartError, Started, TaskHandle, unix_nanos_now,
};
use crate::{Driver, RunningTask};

const NAME: &str = "raw_exec";
const HANDLE_VERSION: u32 = 1;
/// What users of the original see before the cause, by which tools recognise the failure.
const LAUNCH_FAILED: &str =
    "failed to launch command with executor: rpc error: code = Unknown desc =";
const NO_CGROUP_OVERRIDE: &str =
    "is not supported: each task has a cgroup of its own, by which all its processes are found";

const KEYS: [Key; 7] = [
    required("command", Kind::Text),
    key("args", Kind::Texts),
    key("work_dir", Kind::Text),
    key("oom_score_adj", Kind::Number),
    key("denied_envvars", Kind::Texts),
    key("cgroup_v1_override", Kind::Refused(NO_CGROUP_OVERRIDE)),
    key("cgroup_v2_override", Kind::Refused(NO_CGROUP_OVERRIDE)),
];

/// The plugin's part of the agent's configuration.
#[derive(Debug, Clone, Default)]
pub struct RawExecOptions {
    pub enabled: bool,
    /// Removed from the environment of every task; `*` at either end stands for anything.
    pub denied_envvars: Vec<String>,
    pub denied_host_uids: IdRanges,
    pub denied_host_gids: IdRanges,
}

#[derive(Debug)]
pub struct RawExec {
    options: RawExecOptions,
}

impl RawExec {
    pub fn new(options: RawExecOptions) -> Self {
        Self { options }
    }

    fn prepare(&self, plan: LaunchPlan) -> Result<TaskLaunch, StartError> {
        if !self.options.enabled {
            return Err(StartError::fatal("the raw_exec driver is disabled on this node"));
        }
        let config = &plan.config;
        self.check_config(config).map_err(|problems| StartError::fatal(problems.join("; ")))?;
        let command = config::text(config, "command").unwrap_or_default();
        let args = config::texts(config, "args").unwrap_or_default();
        let directory = match config::text(config, "work_dir").filter(|text| !text.is_empty()) {
            Some(directory) => directory.into(),
            None => plan.task_dir.clone(),
        };
        let user = plan.user.as_deref().filter(|name| !name.is_empty());
        let user = user.map(|name| self.user(name)).transpose()?;
        let denied = config::texts(config, "denied_envvars").unwrap_or_default();
        let env: BTreeMap<String, String> =
            plan.env.into_iter().filter(|(name, _)| !self.is_denied(&denied, name)).collect();
        let path = env.get("PATH").map(String::as_str);
        let program = command::resolve(&command, &plan.task_dir, path).ok_or_else(|| {
            StartError::fatal(format!("{LAUNCH_FAILED} binary \"{command}\" could not be found"))
        })?;
        let argv0 = program.to_string_lossy().into_owned();
        Ok(TaskLaunch {
            cgroup_name: task_cgroup_name(&plan.alloc_id, &plan.task_name),
            node_id: plan.node_id,
            cpu_shares: plan.resources.cpu_shares,
            program,
            argv: [argv0].into_iter().chain(args).collect(),
            env,
            directory,
            user,
            oom_score_adj: config::number(config, "oom_score_adj").map(|value| value as i32),
            state_dir: plan.state_dir,
            logs: plan.logs,
        })
    }

    fn user(&self, name: &str) -> Result<User, StartError> {
        let user = sandbox::lookup_user(name).map_err(|error| {
            let message = format!("{LAUNCH_FAILED} Failed to identify user {name}: user: {error}");
            StartError::recoverable(message)
        })?;
        if self.options.denied_host_uids.contains(user.uid) {
            let message = format!("running as uid {} is disallowed on this node", user.uid);
            return Err(StartError::recoverable(message));
        }
        match user.groups.iter().find(|gid| self.options.denied_host_gids.contains(**gid)) {
            Some(gid) => Err(StartError::recoverable(format!(
                "running as gid {gid} is disallowed on this node"
            ))),
            None => Ok(user),
        }
    }

    fn is_denied(&self, of_task: &[String], name: &str) -> bool {
        self.options.denied_envvars.iter().chain(of_task).any(|pattern| matches(pattern, name))
    }
}

#[async_trait]
impl Driver for RawExec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            send_signals: true,
            exec: false,
            filesystem_isolation: FilesystemIsolation::None,
            network_modes: &["host", "group"],
        }
    }

    fn check_config(&self, config: &Map<String, Value>) -> Result<(), Vec<String>> {
        config::check(&KEYS, config)?;
        let mut problems = Vec::new();
        if let Some(directory) = config::text(config, "work_dir")
            && !directory.is_empty()
            && !directory.starts_with('/')
        {
            problems.push(format!("work_dir must be an absolute path, not \"{directory}\""));
        }
        if let Some(score) = config::number(config, "oom_score_adj")
            && !(0..=1000).contains(&score)
        {
            problems.push(format!("oom_score_adj must be between 0 and 1000, not {score}"));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::by_setting(NAME, self.options.enabled)
    }

    fn intend(&self, plan: &LaunchPlan) -> Option<TaskHandle> {
        let name = task_cgroup_name(&plan.alloc_id, &plan.task_name);
        let intended = SupervisedHandle::intended(&plan.node_id, name, plan.state_dir.clone());
        Some(TaskHandle {
            driver: NAME.to_owned(),
            version: HANDLE_VERSION,
            started_at_unix_nanos: unix_nanos_now(),
            state: serde_json::to_value(intended).ok()?,
        })
    }

    async fn start(&self, plan: LaunchPlan) -> Result<Started, StartError> {
        let this = Self::new(self.options.clone());
        let (handle, task) = launch(move || this.prepare(plan), launch_failed).await?;
        let state = serde_json::to_value(&handle)
            .map_err(|error| launch_failed(format!("cannot record the task: {error}")))?;
        let handle = TaskHandle {
            driver: NAME.to_owned(),
            version: HANDLE_VERSION,
            started_at_unix_nanos: unix_nanos_now(),
            state,
        };
        Ok(Started { handle, task: std::sync::Arc::new(task), network: None })
    }

    async fn recover(&self, handle: &TaskHandle) -> Result<Recovered, RecoverError> {
        let state: SupervisedHandle = handle.state_of(NAME, HANDLE_VERSION)?;
        let (task, state) = match attach(state).await? {
            Found::Running(task) => (task, RecoveredState::Running),
            Found::Exited(task, result) => (task, RecoveredState::AlreadyExited(result)),
            Found::Lost(task, result) => (task, RecoveredState::Lost(result)),
        };
        let task: std::sync::Arc<dyn RunningTask> = std::sync::Arc::new(task);
        Ok(Recovered { task, state, network: None })
    }
}

fn launch_failed(reason: String) -> StartError {
    StartError::recoverable(format!("{LAUNCH_FAILED} {reason}"))
}

/// A name with `*` allowed at either end.
fn matches(pattern: &str, name: &str) -> bool {
    let (open_start, rest) = match pattern.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (open_end, core) = match rest.strip_suffix('*') {
        Some(core) => (true, core),
        None => (false, rest),
    };
    match (open_start, open_end) {
        (false, false) => name == core,
        (true, false) => name.ends_with(core),
        (false, true) => name.starts_with(core),
        (true, true) => name.contains(core),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_are_open_where_they_have_a_star() {
        assert!(matches("A", "A") && !matches("A", "AB"));
        assert!(matches("*_TOKEN", "MY_TOKEN") && !matches("*_TOKEN", "MY_TOKENS"));
        assert!(matches("AWS*", "AWS_KEY") && !matches("AWS*", "MY_AWS"));
        assert!(matches("*KEY*", "A_KEY_B") && matches("*", "ANY"));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        let driver = RawExec::new(RawExecOptions::default());
        let check = |config: Value| driver.check_config(config.as_object().unwrap());
        check(json!({"command": "x", "args": [], "work_dir": "/", "oom_score_adj": 3})).unwrap();
        let problems = check(json!({"command": "x", "cgroup_v2_override": "y"})).unwrap_err();
        assert!(problems[1].contains("cgroup_v2_override"), "{problems:?}");
        let problems = check(json!({"command": "x", "work_dir": "y"})).unwrap_err();
        assert!(problems[0].contains("absolute"), "{problems:?}");
        let problems = check(json!({"command": "x", "oom_score_adj": -1})).unwrap_err();
        assert!(problems[0].contains("oom_score_adj"), "{problems:?}");
    }
}
