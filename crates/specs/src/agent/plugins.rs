//! `plugin` blocks, and blocks with a label in general.

use hcl::{ConfigBody, ConfigItem};

use super::RawExecConfig;
use super::reader::Reader;

/// Drivers of the original that do not exist yet; their settings can do no harm.
const WITHOUT_DRIVER: [&str; 4] = ["docker", "exec", "java", "qemu"];

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

pub(super) fn read(r: &mut Reader<'_>, item: &ConfigItem, out: &mut RawExecConfig) {
    labelled(r, item, |r, name, body| match name {
        "raw_exec" => raw_exec(r, body, out),
        name if WITHOUT_DRIVER.contains(&name) => {
            let detail = format!(
                "There is no {name} driver yet (docs/gaps.md); its settings have no effect."
            );
            r.warn(item, detail);
        }
        name => r.unsupported(item, &format!("plugin {name:?}")),
    });
}

fn raw_exec(r: &mut Reader<'_>, body: &ConfigBody, out: &mut RawExecConfig) {
    for item in &body.items {
        match item.key.as_str() {
            "config" => r.each(item, |r, body| {
                for inner in &body.items {
                    match inner.key.as_str() {
                        "enabled" => r.flag(inner, &mut out.enabled),
                        _ => r.other("plugin.raw_exec.config", inner),
                    }
                }
            }),
            _ => r.other("plugin", item),
        }
    }
}
