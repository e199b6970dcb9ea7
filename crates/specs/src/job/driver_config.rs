//! The `config` block of a task against what its driver takes.
//!
//! Findings are warnings: the driver itself has the last word when the task starts, and a plugin
//! under one of these names may take more. Values with `${...}` in them are known to the client
//! only, so nothing is said about them. Drivers that are not listed here are not checked.

use hcl::{Fields, hint};
use model::wire::Map;
use serde_json::Value;

/// What a setting holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    /// A list of texts, or one.
    TextOrTexts,
    Number,
    Truth,
    Duration,
    /// Names with texts.
    TextMap,
    /// Names with numbers.
    NumberMap,
    /// Names with anything.
    AnyMap,
    /// One block.
    Block(&'static [Key]),
    /// Blocks, or a list of maps.
    Blocks(&'static [Key]),
}

use Kind::{
    AnyMap, Block, Blocks, Duration, Number, NumberMap, Text, TextMap, TextOrTexts, Texts, Truth,
};

struct Key {
    name: &'static str,
    kind: Kind,
    required: bool,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: false }
}

const fn needed(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: true }
}

/// The drivers and their settings.
const DRIVERS: &[(&str, &[Key])] = &[
    ("docker", DOCKER),
    ("exec", EXEC),
    ("java", JAVA),
    ("podman", PODMAN),
    ("qemu", QEMU),
    ("raw_exec", RAW_EXEC),
];

const RAW_EXEC: &[Key] = &[
    needed("command", Text),
    key("args", Texts),
    key("cgroup_v1_override", TextMap),
    key("cgroup_v2_override", Text),
    key("denied_envvars", Texts),
    key("oom_score_adj", Number),
    key("work_dir", Text),
];

const EXEC: &[Key] = &[
    needed("command", Text),
    key("args", Texts),
    key("cap_add", Texts),
    key("cap_drop", Texts),
    key("ipc_mode", Text),
    key("pid_mode", Text),
    key("work_dir", Text),
];

const JAVA: &[Key] = &[
    key("args", Texts),
    key("cap_add", Texts),
    key("cap_drop", Texts),
    key("class", Text),
    key("class_path", Text),
    key("ipc_mode", Text),
    key("jar_path", Text),
    key("jvm_options", Texts),
    key("pid_mode", Text),
    key("work_dir", Text),
];

const QEMU: &[Key] = &[
    needed("image_path", Text),
    key("accelerator", Text),
    key("args", Texts),
    key("drive_interface", Text),
    key("emulator", Text),
    key("graceful_shutdown", Truth),
    key("guest_agent", Truth),
    key("machine_type", Text),
    key("port_map", NumberMap),
];

const AUTH: &[Key] = &[
    key("email", Text),
    key("password", Text),
    key("server_address", Text),
    key("username", Text),
];

const MOUNT: &[Key] = &[
    key("bind_options", Block(&[key("propagation", Text)])),
    key("readonly", Truth),
    key("source", Text),
    key("target", Text),
    key("tmpfs_options", Block(&[key("mode", Number), key("size", Number)])),
    key("type", Text),
    key(
        "volume_options",
        Block(&[
            key("driver_config", Block(&[key("name", Text), key("options", TextMap)])),
            key("labels", TextMap),
            key("no_copy", Truth),
        ]),
    ),
];

const DOCKER: &[Key] = &[
    needed("image", Text),
    key("advertise_ipv6_address", Truth),
    key("args", Texts),
    key("auth", Block(AUTH)),
    key("auth_soft_fail", Truth),
    key("cap_add", Texts),
    key("cap_drop", Texts),
    key("cgroupns", Text),
    key("command", Text),
    key("container_exists_attempts", Number),
    key("cpu_cfs_period", Number),
    key("cpu_hard_limit", Truth),
    key("cpuset_cpus", Text),
    key(
        "devices",
        Blocks(&[
            key("cgroup_permissions", Text),
            key("container_path", Text),
            key("host_path", Text),
        ]),
    ),
    key("dns_options", Texts),
    key("dns_search_domains", Texts),
    key("dns_servers", Texts),
    key("entrypoint", TextOrTexts),
    key("extra_hosts", Texts),
    key("force_pull", Truth),
    key("group_add", Texts),
    key("healthchecks", Block(&[key("disable", Truth)])),
    key("hostname", Text),
    key("image_pull_timeout", Duration),
    key("init", Truth),
    key("interactive", Truth),
    key("ipc_mode", Text),
    key("ipv4_address", Text),
    key("ipv6_address", Text),
    key("isolation", Text),
    key("labels", TextMap),
    key("load", Text),
    key("logging", Block(&[key("config", TextMap), key("driver", Text), key("type", Text)])),
    key("mac_address", Text),
    key("memory_hard_limit", Number),
    key("mount", Blocks(MOUNT)),
    key("mounts", Blocks(MOUNT)),
    key("network_aliases", Texts),
    key("network_mode", Text),
    key("oom_score_adj", Number),
    key("pid_mode", Text),
    key("pids_limit", Number),
    key("port_map", NumberMap),
    key("ports", Texts),
    key("privileged", Truth),
    key("readonly_rootfs", Truth),
    key("runtime", Text),
    key("security_opt", Texts),
    key("shm_size", Number),
    key("storage_opt", TextMap),
    key("sysctl", TextMap),
    key("tty", Truth),
    key("ulimit", TextMap),
    key("userns_mode", Text),
    key("uts_mode", Text),
    key("volume_driver", Text),
    key("volumes", Texts),
    key("work_dir", Text),
];

const PODMAN: &[Key] = &[
    needed("image", Text),
    key("apparmor_profile", Text),
    key("args", Texts),
    key("auth", Block(AUTH)),
    key("auth_soft_fail", Truth),
    key("cap_add", Texts),
    key("cap_drop", Texts),
    key("command", Text),
    key("cpu_cfs_period", Number),
    key("cpu_hard_limit", Truth),
    key("devices", Texts),
    key("entrypoint", TextOrTexts),
    key("extra_hosts", Texts),
    key("force_pull", Truth),
    key("hostname", Text),
    key("image_pull_timeout", Duration),
    key("init", Truth),
    key("init_path", Text),
    key("labels", TextMap),
    // What stands in it is the container engine's.
    key("logging", AnyMap),
    key("memory_reservation", Text),
    key("memory_swap", Text),
    key("memory_swappiness", Number),
    key("network_mode", Text),
    key("pids_limit", Number),
    key("ports", Texts),
    key("privileged", Truth),
    key("readonly_rootfs", Truth),
    key("security_opt", Texts),
    key("selinux_opts", Texts),
    key("shm_size", Text),
    key("socket", Text),
    key("sysctl", TextMap),
    key("tmpfs", Texts),
    key("tty", Truth),
    key("ulimit", TextMap),
    key("userns", Text),
    key("volumes", Texts),
    key("working_dir", Text),
];

/// Warns of what the driver would refuse when the task starts.
pub(super) fn check(f: &Fields<'_>, driver: &str, config: &Map<Value>) {
    let Some((_, keys)) = DRIVERS.iter().find(|(name, _)| *name == driver) else { return };
    for (name, value) in &config.0 {
        let Some(known) = keys.iter().find(|key| key.name == name) else {
            let hint = hint(name, keys.iter().map(|key| key.name));
            let detail = format!(
                "The driver {driver:?} has no setting named {name:?}, so the task would not \
                 start.{hint}"
            );
            f.warning(f.place_in("config", name), "Unsupported driver setting", detail);
            continue;
        };
        for problem in problems(name, known.kind, value) {
            let detail = format!("The driver {driver:?} would not start the task: {problem}.");
            f.warning(f.place_in("config", name), "Unsuitable driver setting", detail);
        }
    }
    for key in keys.iter().filter(|key| key.required) {
        if !config.0.contains_key(key.name) {
            let detail = format!(
                "The driver {driver:?} needs the setting {:?} in the config block.",
                key.name
            );
            f.warning(f.place_in("config", key.name), "Missing driver setting", detail);
        }
    }
}

/// What keeps a value from being of a kind; `path` names it.
fn problems(path: &str, kind: Kind, value: &Value) -> Vec<String> {
    let wanted = |fits: bool, wanted: &str| {
        if fits { Vec::new() } else { vec![format!("{path:?} must be {wanted}")] }
    };
    match kind {
        Text => wanted(is_text(value), "a text"),
        Texts => wanted(are_texts(value), "a list of texts"),
        TextOrTexts => wanted(is_text(value) || are_texts(value), "a list of texts"),
        Number => wanted(is_number(value), "a number"),
        Truth => wanted(is_truth(value), "true or false"),
        Duration => wanted(is_duration(value), "a duration such as \"5m\""),
        TextMap => wanted(is_map(value, is_text), "a map of texts"),
        NumberMap => wanted(is_map(value, is_number), "a map of numbers"),
        AnyMap => wanted(is_map(value, |_| true), "a map"),
        Block(keys) => match value {
            Value::Object(_) => fields(path, keys, value),
            Value::Array(items) if items.len() <= 1 => {
                items.iter().flat_map(|item| fields(path, keys, item)).collect()
            }
            Value::Array(_) => vec![format!("only one {path:?} block is allowed")],
            _ => wanted(false, "a block"),
        },
        Blocks(keys) => match value {
            Value::Object(_) => fields(path, keys, value),
            Value::Array(items) => items.iter().flat_map(|item| fields(path, keys, item)).collect(),
            _ => wanted(false, "a block or a list of maps"),
        },
    }
}

fn fields(path: &str, keys: &[Key], value: &Value) -> Vec<String> {
    let Value::Object(items) = value else { return vec![format!("{path:?} must be a block")] };
    let mut found = Vec::new();
    for (name, value) in items {
        match keys.iter().find(|key| key.name == name) {
            Some(key) => found.extend(problems(&format!("{path}.{name}"), key.kind, value)),
            None => {
                let hint = hint(name, keys.iter().map(|key| key.name));
                let hint = hint.trim_end_matches('?');
                found.push(format!("{path:?} has no setting named {name:?}.{hint}"));
            }
        }
    }
    for key in keys.iter().filter(|key| key.required && !items.contains_key(key.name)) {
        found.push(format!("{path:?} needs the setting {:?}", key.name));
    }
    found
}

/// Whether the client has to fill something in before the value is known.
fn is_open(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("${"))
}

fn is_text(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean() || value.is_null()
}

fn are_texts(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(|items| items.iter().all(is_text))
}

fn is_number(value: &Value) -> bool {
    let written = value.as_str().is_some_and(|text| text.parse::<f64>().is_ok());
    value.is_number() || written || value.is_null() || is_open(value)
}

fn is_truth(value: &Value) -> bool {
    let written = matches!(value.as_str(), Some("true" | "false" | "1" | "0"));
    value.is_boolean() || written || value.is_null() || is_open(value)
}

fn is_duration(value: &Value) -> bool {
    let written = value.as_str().is_some_and(|text| hcl::parse_duration(text).is_some());
    value.is_number() || written || value.is_null() || is_open(value)
}

/// A map as an attribute, or as blocks, which become a list of maps.
fn is_map(value: &Value, fits: impl Fn(&Value) -> bool + Copy) -> bool {
    match value {
        Value::Object(items) => items.values().all(fits),
        Value::Array(items) => items.iter().all(|item| item.is_object() && is_map(item, fits)),
        value => value.is_null(),
    }
}
