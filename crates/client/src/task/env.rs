//! The environment of a task.

use std::collections::BTreeMap;
use std::path::Path;

use model::alloc::Alloc;
use model::job::{NetworkResource, Task, TaskGroup};

use crate::task::interpolate::Values;

/// Where a task's directories are, as the task sees them.
pub(crate) struct TaskPaths<'a> {
    pub(crate) alloc: &'a Path,
    pub(crate) local: &'a Path,
    pub(crate) secrets: &'a Path,
}

/// What the environment is made of.
pub(crate) struct Sources<'a> {
    pub(crate) alloc: &'a Alloc,
    pub(crate) group: &'a TaskGroup,
    pub(crate) task: &'a Task,
    pub(crate) paths: TaskPaths<'a>,
    /// `attr.…`, `meta.…`, `node.…`.
    pub(crate) node: &'a BTreeMap<String, String>,
    /// What is inherited from the agent.
    pub(crate) inherited: &'a BTreeMap<String, String>,
}

/// The whole environment; what the job sets comes last and wins.
pub(crate) fn build(from: &Sources<'_>) -> BTreeMap<String, String> {
    let mut env = from.inherited.clone();
    let mut own = BTreeMap::new();
    identity(from, &mut own);
    resources(from, &mut own);
    shared_ports(from, &mut own);
    task_ports(from, &mut own);
    let values = Values { env: own.clone(), node: Some(from.node) };
    for (key, value) in merged_meta(from) {
        let value = values.fill(&value);
        let key = clean(&key, true);
        own.insert(format!("NOMAD_META_{}", key.to_uppercase()), value.clone());
        own.insert(format!("NOMAD_META_{key}"), value);
    }
    let values = Values { env: own.clone(), node: Some(from.node) };
    let asked = from.task.env.iter().map(|(name, value)| (name.clone(), values.fill(value)));
    let asked: Vec<_> = asked.collect();
    env.append(&mut own);
    env.extend(asked);
    env
}

fn identity(from: &Sources<'_>, env: &mut BTreeMap<String, String>) {
    let alloc = from.alloc;
    let job = &alloc.spec;
    let id = alloc.id.to_string();
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let node = |name: &str| from.node.get(name).cloned().unwrap_or_default();
    let mut set = |name: &str, value: String| {
        env.insert(format!("NOMAD_{name}"), value);
    };
    set("ALLOC_DIR", path(from.paths.alloc));
    set("TASK_DIR", path(from.paths.local));
    set("SECRETS_DIR", path(from.paths.secrets));
    set("SHORT_ALLOC_ID", alloc.id.short());
    set("ALLOC_ID", id);
    set("ALLOC_NAME", alloc.name());
    set("ALLOC_INDEX", alloc.index.to_string());
    set("TASK_NAME", from.task.name.clone());
    set("GROUP_NAME", alloc.group.to_string());
    set("JOB_ID", job.id().to_owned());
    set("JOB_NAME", job.name().to_owned());
    if let Some(parent) = job.parent_id.as_ref().filter(|parent| !parent.is_empty()) {
        set("JOB_PARENT_ID", parent.clone());
    }
    set("DC", node("node.datacenter"));
    set("REGION", node("node.region"));
    set("NAMESPACE", job.namespace().to_owned());
}

fn resources(from: &Sources<'_>, env: &mut BTreeMap<String, String>) {
    let given = from.alloc.resources.tasks.get(&from.task.name);
    let cpu = given.map_or_else(|| from.task.cpu(), |given| given.cpu.cpu_shares);
    let memory = given.map_or_else(|| from.task.memory_mb(), |given| given.memory.memory_mb);
    env.insert("NOMAD_CPU_LIMIT".to_owned(), cpu.to_string());
    env.insert("NOMAD_MEMORY_LIMIT".to_owned(), memory.to_string());
    let Some(given) = given else { return };
    if given.memory.memory_max_mb > given.memory.memory_mb {
        let max = given.memory.memory_max_mb.to_string();
        env.insert("NOMAD_MEMORY_MAX_LIMIT".to_owned(), max);
    }
    if !given.cpu.reserved_cores.is_empty() {
        let cores: Vec<String> = given.cpu.reserved_cores.iter().map(u16::to_string).collect();
        env.insert("NOMAD_CPU_CORES".to_owned(), cores.join(","));
    }
}

/// Ports of the group's network.
fn shared_ports(from: &Sources<'_>, env: &mut BTreeMap<String, String>) {
    for port in from.alloc.resources.shared.ports.iter() {
        let label = clean(&port.label, false);
        let inside = if port.to > 0 { port.to } else { port.value };
        let address = address(&port.host_ip, port.value);
        for (name, value) in [
            ("IP", port.host_ip.clone()),
            ("PORT", inside.to_string()),
            ("ADDR", address.clone()),
            ("HOST_IP", port.host_ip.clone()),
            ("HOST_PORT", port.value.to_string()),
            ("HOST_ADDR", address),
            ("ALLOC_PORT", inside.to_string()),
        ] {
            env.insert(format!("NOMAD_{name}_{label}"), value);
        }
    }
}

/// Ports of the tasks' own networks: this task's by label, the others' by task and label.
fn task_ports(from: &Sources<'_>, env: &mut BTreeMap<String, String>) {
    for (task, given) in from.alloc.resources.tasks.iter() {
        let own = *task == from.task.name;
        for network in given.networks.iter() {
            for (label, value, to) in ports_of(network) {
                let label = clean(label, false);
                let label = if own { label } else { format!("{}_{label}", clean(task, false)) };
                let inside = if to > 0 { to } else { value };
                let mut set = |name: &str, text: String| {
                    env.insert(format!("NOMAD_{name}_{label}"), text);
                };
                set("IP", network.ip.clone());
                set("PORT", inside.to_string());
                set("ADDR", address(&network.ip, value));
                if own {
                    set("HOST_PORT", value.to_string());
                }
            }
        }
    }
}

fn ports_of(network: &NetworkResource) -> impl Iterator<Item = (&str, i64, i64)> {
    let ports = network.reserved_ports.iter().chain(network.dynamic_ports.iter());
    ports.map(|port| (port.label.as_str(), port.value, port.to))
}

fn address(ip: &str, port: i64) -> String {
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

/// The task's meta before the group's before the job's; what a dispatch may bring is there, empty.
fn merged_meta(from: &Sources<'_>) -> BTreeMap<String, String> {
    let job = &from.alloc.spec;
    let mut meta = BTreeMap::new();
    if let Some(parameters) = &job.parameterized_job {
        meta.extend(parameters.meta_optional.iter().map(|key| (key.clone(), String::new())));
    }
    for source in [&job.meta, &from.group.meta, &from.task.meta] {
        meta.extend(source.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    meta
}

/// Letters, digits and underscores, and points where they are allowed; `_` for anything else.
fn clean(name: &str, points: bool) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || c == '_' || (points && c == '.');
    name.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
