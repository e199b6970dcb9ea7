//! YAML in and out for `yamldecode` and `yamlencode`.

use super::encoding::{json_text, number};
use crate::value::Value;
use serde_yaml_ng::Value as Yaml;
use std::collections::BTreeMap;

/// Most aliases (`*name`) of a document. Nested within each other, this many make it grow
/// 400-fold at most.
const ALIASES: usize = 16;
/// Growth of a document with that many aliases.
const ALIAS_GROWTH: usize = 400;
/// Growth of a document without aliases when it becomes a value.
const PLAIN_GROWTH: usize = 16;

/// How many times larger than its text a document may become.
pub(super) fn growth(text: &str) -> Result<usize, String> {
    // A star within a text may be counted as an alias, which only makes the call dearer.
    match text.matches('*').count() {
        0 => Ok(PLAIN_GROWTH),
        count if count <= ALIASES || !text.contains('&') => {
            Ok(if text.contains('&') { ALIAS_GROWTH } else { PLAIN_GROWTH })
        }
        _ => Err(format!("a document may have {ALIASES} aliases")),
    }
}

pub(super) fn decode(text: &str) -> Result<Value, String> {
    let value: Yaml = serde_yaml_ng::from_str(text).map_err(|e| format!("invalid YAML: {e}"))?;
    from_yaml(value)
}

fn from_yaml(value: Yaml) -> Result<Value, String> {
    Ok(match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => Value::Bool(flag),
        Yaml::Number(n) => number(&n.to_string()),
        Yaml::String(text) => Value::String(text),
        Yaml::Sequence(items) => {
            Value::List(items.into_iter().map(from_yaml).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(items) => {
            let mut result = BTreeMap::new();
            for (key, item) in items {
                let key = from_yaml(key)?.to_text().ok_or("a key of a mapping must be a string")?;
                result.insert(key, from_yaml(item)?);
            }
            Value::Object(result)
        }
        Yaml::Tagged(tagged) => from_yaml(tagged.value)?,
    })
}

pub(super) fn encode(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn write(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) => json_text(text, out),
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(items) if items.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                start_line(index, indent, out);
                out.push_str("- ");
                write(item, indent + 2, out);
            }
        }
        Value::Object(items) => {
            for (index, (key, item)) in items.iter().enumerate() {
                start_line(index, indent, out);
                json_text(key, out);
                out.push(':');
                match item {
                    Value::Object(inner) if !inner.is_empty() => {
                        out.push('\n');
                        out.push_str(&" ".repeat(indent + 2));
                        write(item, indent + 2, out);
                    }
                    Value::List(inner) if !inner.is_empty() => {
                        out.push('\n');
                        out.push_str(&" ".repeat(indent));
                        write(item, indent, out);
                    }
                    other => {
                        out.push(' ');
                        write(other, indent, out);
                    }
                }
            }
        }
        Value::Null => out.push_str("null"),
        other => out.push_str(&other.to_text().unwrap_or_default()),
    }
}

fn start_line(index: usize, indent: usize, out: &mut String) {
    if index > 0 {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
}
