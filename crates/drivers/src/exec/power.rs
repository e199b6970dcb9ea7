//! The capabilities of a task, from its `cap_add` and `cap_drop` and what the node allows.

use sandbox::{Capabilities, Power};
use serde_json::{Map, Value};

use crate::config;

/// What a task has, and what a node allows, unless either says otherwise.
const DEFAULT: [&str; 13] = [
    "audit_write",
    "chown",
    "dac_override",
    "fowner",
    "fsetid",
    "kill",
    "mknod",
    "net_bind_service",
    "setfcap",
    "setgid",
    "setpcap",
    "setuid",
    "sys_chroot",
];

/// What a node allows that says nothing about it.
pub(super) fn default_allowed_capabilities() -> Capabilities {
    let named = DEFAULT.iter().filter_map(|name| Capabilities::named(name));
    named.fold(Capabilities::NONE, Capabilities::with)
}

/// The most the task can have is the default with what is added and without what is dropped; a
/// dropped `all` leaves what is added. A task of another user than root holds from the start what
/// it adds by name: with the default in its hands, "nobody" would own every file.
pub(super) fn wanted(config: &Map<String, Value>, allowed: Capabilities) -> Result<Power, String> {
    let (add, drop) = (read(config, "cap_add")?, read(config, "cap_drop")?);
    let drops_all = drop == Capabilities::all();
    let kept = default_allowed_capabilities();
    let most = match drops_all {
        true => add,
        false => kept.with(add).without(drop),
    };
    let beyond = most.without(allowed);
    // Less than the default may be allowed; then a task that asks for nothing gets less.
    let beyond = if add.is_empty() && drop.is_empty() { Capabilities::NONE } else { beyond };
    if !beyond.is_empty() {
        let names = beyond.names().join(", ");
        return Err(format!("driver does not allow the following capabilities: {names}"));
    }
    let most = Capabilities(most.0 & allowed.0);
    Ok(Power { most, held: Capabilities(add.0 & most.0) })
}

fn read(config: &Map<String, Value>, key: &str) -> Result<Capabilities, String> {
    let names = config::texts(config, key).unwrap_or_default();
    names.iter().try_fold(Capabilities::NONE, |set, name| {
        let named = Capabilities::named(name)
            .ok_or_else(|| format!("{key}: there is no capability \"{name}\""))?;
        Ok(set.with(named))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(config: &Value, allowed: Capabilities) -> Result<(Vec<&'static str>, u64), String> {
        let power = wanted(config.as_object().unwrap(), allowed)?;
        Ok((power.most.names(), power.held.0))
    }

    #[test]
    fn what_is_added_and_dropped_stays_within_what_is_allowed() {
        let usual = default_allowed_capabilities();
        assert_eq!(of(&json!({}), usual), Ok((DEFAULT.to_vec(), 0)));
        let few = json!({"cap_drop": ["all"], "cap_add": ["chown", "CAP_MKNOD"]});
        assert_eq!(of(&few, usual), Ok((vec!["chown", "mknod"], 1 | 1 << 27)));
        let refused = Err("driver does not allow the following capabilities: net_raw".to_owned());
        assert_eq!(of(&json!({"cap_add": ["net_raw"]}), usual), refused);
        assert_eq!(of(&json!({"cap_add": ["net_raw"]}), Capabilities::all()).unwrap().1, 1 << 13);
        let refused = Err("cap_drop: there is no capability \"x\"".to_owned());
        assert_eq!(of(&json!({"cap_drop": ["x"]}), usual), refused);
        assert_eq!(of(&json!({}), Capabilities(1)), Ok((vec!["chown"], 0)));
    }
}
