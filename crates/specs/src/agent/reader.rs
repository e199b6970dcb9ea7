//! Reads single values, and gathers problems and warnings with their places.

use std::collections::BTreeMap;
use std::time::Duration;

use hcl::{Config, ConfigBody, ConfigItem, ConfigValue, Diagnostic, Severity, Value};

use super::{LOG_LEVELS, known};

/// The file that is read, with what is found wrong in it.
pub(super) struct Reader<'c> {
    config: &'c Config,
    problems: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl<'c> Reader<'c> {
    pub(super) fn new(config: &'c Config) -> Self {
        Self { config, problems: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn finish(self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(self.problems) }
    }

    /// Reports a wrong value.
    pub(super) fn fault(&mut self, item: &ConfigItem, detail: impl Into<String>) {
        self.problems.push(self.config.error(item.span.clone(), "Unsuitable value", detail));
    }

    /// Reports a problem of the whole file.
    pub(super) fn fault_at_file(&mut self, detail: &str) {
        self.problems.push(self.config.error(0..0, "Unsuitable value", detail));
    }

    pub(super) fn warn(&mut self, item: &ConfigItem, detail: impl Into<String>) {
        let error = self.config.error(item.span.clone(), "Setting without effect", detail);
        self.warnings.push(Diagnostic { severity: Severity::Warning, ..error });
    }

    pub(super) fn unknown(&mut self, item: &ConfigItem, known: &[&'static str]) {
        self.problems.push(self.config.unknown_key(item, known.iter().copied()));
    }

    pub(super) fn unsupported(&mut self, item: &ConfigItem, path: &str) {
        let detail = format!("{path} is not supported by Muster yet (docs/gaps.md).");
        self.problems.push(self.config.error(item.span.clone(), "Unsupported setting", detail));
    }

    /// Decides about a setting that nothing acts on: refused as unknown or unsupported, unless its
    /// value only switches off what Muster does not have.
    pub(super) fn other(&mut self, section: &str, item: &ConfigItem) {
        let key = item.key.as_str();
        let path = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        let known = known::keys(section);
        if !known.contains(&key) {
            self.unknown(item, known);
            return;
        }
        if known::has_section(&path) {
            // A block: what counts is what stands in it. Its label, if any, chooses one of several.
            let bodies = item.bodies();
            if bodies.is_empty() {
                self.fault(item, format!("{path} must be a block."));
            }
            // An empty block may switch on its defaults.
            if bodies.iter().all(|body| body.items.is_empty()) && !known::may_be_empty(&path) {
                self.unsupported(item, &path);
            }
            for body in bodies {
                body.items.iter().for_each(|inner| self.other(&path, inner));
            }
            return;
        }
        let value = item.value.to_value();
        let switched_off = match &value {
            Value::List(items) => items.is_empty() && known::is_switched_off(&path, "[]"),
            plain => plain.to_text().is_some_and(|text| known::is_switched_off(&path, &text)),
        };
        if !switched_off {
            self.unsupported(item, &path);
        }
    }

    /// Reads the content of a block, which may be written several times.
    pub(super) fn each(&mut self, item: &ConfigItem, mut read: impl FnMut(&mut Self, &ConfigBody)) {
        let bodies = item.bodies();
        if bodies.is_empty() && item.value != ConfigValue::List(Vec::new()) {
            self.fault(item, format!("{} must be a block.", item.key));
        }
        bodies.into_iter().for_each(|body| read(self, body));
    }

    fn convert<T>(
        &mut self,
        item: &ConfigItem,
        slot: &mut Option<T>,
        wanted: &str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) {
        match convert(&item.value.to_value()) {
            Some(value) => *slot = Some(value),
            None => self.fault(item, format!("{} must be {wanted}.", item.key)),
        }
    }

    pub(super) fn text(&mut self, item: &ConfigItem, slot: &mut Option<String>) {
        self.convert(item, slot, "a text", Value::to_text);
    }

    pub(super) fn flag(&mut self, item: &ConfigItem, slot: &mut Option<bool>) {
        self.convert(item, slot, "true or false", Value::to_bool);
    }

    pub(super) fn count(&mut self, item: &ConfigItem, slot: &mut Option<u64>) {
        self.convert(item, slot, "a whole number, not negative", |value| {
            value.to_number()?.as_u64()
        });
    }

    pub(super) fn float(&mut self, item: &ConfigItem, slot: &mut Option<f64>) {
        self.convert(item, slot, "a number, not negative", |value| {
            value.to_number().map(|n| n.as_f64()).filter(|number| *number >= 0.0)
        });
    }

    pub(super) fn port(&mut self, item: &ConfigItem, slot: &mut Option<u16>) {
        self.convert(item, slot, "a port from 0 to 65535", |value| {
            u16::try_from(value.to_number()?.as_u64()?).ok()
        });
    }

    pub(super) fn duration(&mut self, item: &ConfigItem, slot: &mut Option<Duration>) {
        self.convert(item, slot, "a duration such as \"30s\"", |value| {
            let nanos = match value {
                Value::Number(nanos) => nanos.as_i64()?,
                text => hcl::parse_duration(text.as_str()?)?,
            };
            u64::try_from(nanos).ok().map(Duration::from_nanos)
        });
    }

    pub(super) fn texts(&mut self, item: &ConfigItem) -> Vec<String> {
        let mut slot = None;
        self.convert(item, &mut slot, "a list of texts", |value| match value {
            Value::List(items) => items.iter().map(Value::to_text).collect::<Option<Vec<_>>>(),
            _ => None,
        });
        slot.unwrap_or_default()
    }

    /// A map of texts, written as a block or as a value.
    pub(super) fn text_map(&mut self, item: &ConfigItem) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        self.each(item, |r, body| {
            for inner in &body.items {
                let mut slot = None;
                r.text(inner, &mut slot);
                if let Some(text) = slot {
                    map.insert(inner.key.clone(), text);
                }
            }
        });
        map
    }

    /// An address; templates that ask for an interface are refused.
    pub(super) fn address(&mut self, item: &ConfigItem, slot: &mut Option<String>) {
        let mut text = None;
        self.text(item, &mut text);
        match text {
            Some(text) if text.contains("{{") => {
                let detail = format!(
                    "{}: templates in addresses are not supported by Muster yet (docs/gaps.md).",
                    item.key
                );
                self.fault(item, detail);
            }
            Some(text) => *slot = Some(text),
            None => {}
        }
    }

    pub(super) fn log_level(&mut self, item: &ConfigItem, slot: &mut Option<String>) {
        let wanted = format!("one of {}", LOG_LEVELS.join(", "));
        self.convert(item, slot, &wanted, |value| {
            let level = value.as_str()?.to_uppercase();
            LOG_LEVELS.contains(&level.as_str()).then_some(level)
        });
    }
}
