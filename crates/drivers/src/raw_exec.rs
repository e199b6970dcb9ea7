//! Runs a program of the host as it is, with a supervisor and a cgroup but without isolation.

mod command;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::Driver;
use crate::config::{self, Key, Kind, key, required};
use crate::plan::LaunchPlan;
use crate::supervisor::{Failure, Supervision, TaskLaunch, task_cgroup_name};
use crate::task::{
    Capabilities, FilesystemIsolation, Fingerprint, RecoverError, Recovered, StartError, Started,
    TaskHandle,
};
use crate::user::{DeniedIds, LAUNCH_FAILED};

const NAME: &str = "raw_exec";
const SUPERVISION: Supervision = Supervision(NAME);
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
    pub denied_ids: DeniedIds,
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
        let user = user.map(|name| self.options.denied_ids.user(name)).transpose()?;
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
            limits: None,
            programs: vec![program],
            argv: [argv0].into_iter().chain(args).collect(),
            env,
            directory,
            isolation: None,
            user,
            oom_score_adj: config::number(config, "oom_score_adj").map(|value| value as i32),
            state_dir: plan.state_dir,
            logs: plan.logs,
        })
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
        SUPERVISION.intend(plan)
    }

    async fn start(&self, plan: LaunchPlan) -> Result<Started, StartError> {
        let this = Self::new(self.options.clone());
        SUPERVISION.start(move || this.prepare(plan), launch_failed).await
    }

    async fn recover(&self, handle: &TaskHandle) -> Result<Recovered, RecoverError> {
        SUPERVISION.recover(handle).await
    }
}

fn launch_failed(failure: Failure) -> StartError {
    StartError::recoverable(format!("{LAUNCH_FAILED} {}", failure.message))
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
