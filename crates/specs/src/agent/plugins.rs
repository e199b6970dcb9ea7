//! `plugin` blocks, and blocks with a label in general.

use hcl::{ConfigBody, ConfigItem};

use super::reader::Reader;
use super::{ExecConfig, RawExecConfig};

/// Drivers of the original that do not exist yet; their settings can do no harm.
const WITHOUT_DRIVER: [&str; 3] = ["docker", "java", "qemu"];

/// Reads blocks with one label. In JSON the label is a member: `{"name": {...}}`.
pub(super) fn labelled(
    r: &mut Reader<'_>,
    item: &ConfigItem,
    mut read: impl FnMut(&mut Reader<'_>, &str, &ConfigBody),
) {
    match item.labels.as_slice() {
        [name] => r.each(item, |r, body| read(r, name, body)),
        [] => r.each(item, |r, body| {
            for inner in &body.items {
                r.each(inner, |r, body| read(r, &inner.key, body));
            }
        }),
        _ => r.fault(item, format!("{} takes one label.", item.key)),
    }
}

pub(super) fn read(
    r: &mut Reader<'_>,
    item: &ConfigItem,
    exec: &mut ExecConfig,
    raw_exec: &mut RawExecConfig,
) {
    labelled(r, item, |r, name, body| match name {
        "exec" => read_exec(r, body, exec),
        "raw_exec" => read_raw_exec(r, body, raw_exec),
        name if WITHOUT_DRIVER.contains(&name) => {
            let detail = format!(
                "There is no {name} driver yet (docs/gaps.md); its settings have no effect."
            );
            r.warn(item, detail);
        }
        name => r.unsupported(item, &format!("plugin {name:?}")),
    });
}

fn read_exec(r: &mut Reader<'_>, body: &ConfigBody, out: &mut ExecConfig) {
    config(r, body, |r, item| match item.key.as_str() {
        "default_pid_mode" => r.text(item, &mut out.default_pid_mode),
        "default_ipc_mode" => r.text(item, &mut out.default_ipc_mode),
        "allow_caps" => out.allow_caps = Some(r.texts(item)),
        "denied_host_uids" => r.text(item, &mut out.denied_host_uids),
        "denied_host_gids" => r.text(item, &mut out.denied_host_gids),
        _ => r.other("plugin.exec.config", item),
    });
}

fn read_raw_exec(r: &mut Reader<'_>, body: &ConfigBody, out: &mut RawExecConfig) {
    config(r, body, |r, item| match item.key.as_str() {
        "enabled" => r.flag(item, &mut out.enabled),
        _ => r.other("plugin.raw_exec.config", item),
    });
}

/// What is inside the plugin's `config` block.
fn config(
    r: &mut Reader<'_>,
    body: &ConfigBody,
    mut read: impl FnMut(&mut Reader<'_>, &ConfigItem),
) {
    for item in &body.items {
        match item.key.as_str() {
            "config" => r.each(item, |r, body| body.items.iter().for_each(|item| read(r, item))),
            _ => r.other("plugin", item),
        }
    }
}
