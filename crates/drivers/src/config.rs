//! Checks and reads a task's `config` block against a driver's list of keys.
//!
//! Values come from job files after interpolation, so a number may be written as text and the
//! other way round; what has an obvious meaning is taken.

use std::time::Duration;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Texts,
    Number,
    Truth,
    Duration,
    /// A key that is known but cannot be honoured; the text says why.
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

pub(crate) const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: false }
}

pub(crate) const fn required(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: true }
}

/// Names everything that is wrong, after a heading.
pub(crate) fn check(keys: &[Key], config: &Map<String, Value>) -> Result<(), Vec<String>> {
    let mut problems = Vec::new();
    for (name, value) in config {
        match keys.iter().find(|key| key.name == name) {
            None => problems
                .push(format!("Invalid label: No argument or block type is named \"{name}\".")),
            Some(_) if value.is_null() => {}
            Some(key) => problems.extend(problem(*key, config)),
        }
    }
    for key in keys.iter().filter(|key| key.required) {
        if config.get(key.name).is_none_or(Value::is_null) {
            problems.push(format!(
                "Missing required argument: The argument \"{}\" is required, but no definition was found.",
                key.name
            ));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.insert(0, "failed to parse config: ".to_owned());
    Err(problems)
}

fn problem(key: Key, config: &Map<String, Value>) -> Option<String> {
    let (fits, wanted) = match key.kind {
        Kind::Text => (text(config, key.name).is_some(), "string"),
        Kind::Texts => (texts(config, key.name).is_some(), "list of string"),
        Kind::Number => (number(config, key.name).is_some(), "number"),
        Kind::Truth => (truth(config, key.name).is_some(), "bool"),
        Kind::Duration => (duration(config, key.name).is_some(), "duration"),
        Kind::Refused(reason) => {
            return Some(format!("Unsupported argument: \"{}\" {reason}.", key.name));
        }
    };
    (!fits).then(|| {
        format!(
            "Incorrect attribute value type: Inappropriate value for attribute \"{}\": {wanted} required.",
            key.name
        )
    })
}

pub(crate) fn text(config: &Map<String, Value>, name: &str) -> Option<String> {
    as_text(config.get(name)?)
}

pub(crate) fn texts(config: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    config.get(name)?.as_array()?.iter().map(as_text).collect()
}

pub(crate) fn number(config: &Map<String, Value>, name: &str) -> Option<i64> {
    match config.get(name)? {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|float| float.fract() == 0.0).map(|f| f as i64)),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

pub(crate) fn truth(config: &Map<String, Value>, name: &str) -> Option<bool> {
    match config.get(name)? {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn duration(config: &Map<String, Value>, name: &str) -> Option<Duration> {
    match config.get(name)? {
        Value::String(text) => parse_duration(text),
        // A bare number is taken as nanoseconds, as everywhere in the API.
        Value::Number(number) => number.as_u64().map(Duration::from_nanos),
        _ => None,
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Durations as job files write them: `1h2m3.5s`, `300ms`, `0`. Negative ones are refused.
fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let scale = match &rest[..unit] {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += value * scale;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then_some(())?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: [Key; 4] = [
        required("command", Kind::Text),
        key("args", Kind::Texts),
        key("wait", Kind::Duration),
        key("cgroup", Kind::Refused("is not supported")),
    ];

    fn check_text(config: Value, expected: &[&str]) {
        let config = config.as_object().unwrap().clone();
        let problems = check(&KEYS, &config).err().unwrap_or_default();
        assert_eq!(problems, expected);
    }

    #[test]
    fn every_mistake_is_named() {
        check_text(json!({"command": "a", "args": ["x", 1, true], "wait": null}), &[]);
        check_text(
            json!({"bogus": 1, "args": "x", "wait": "1 week", "cgroup": "c"}),
            &[
                "failed to parse config: ",
                "Invalid label: No argument or block type is named \"bogus\".",
                "Incorrect attribute value type: Inappropriate value for attribute \"args\": list of string required.",
                "Incorrect attribute value type: Inappropriate value for attribute \"wait\": duration required.",
                "Unsupported argument: \"cgroup\" is not supported.",
                "Missing required argument: The argument \"command\" is required, but no definition was found.",
            ],
        );
    }

    #[test]
    fn durations_are_read_as_in_job_files() {
        assert_eq!(parse_duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
        assert_eq!(parse_duration("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(parse_duration("0"), Some(Duration::ZERO));
        for wrong in ["", "5", "s", "-1s", "1x", "1..2s"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
