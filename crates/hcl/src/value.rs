//! Values: what an expression evaluates to.

use crate::number::Number;
use std::collections::BTreeMap;

/// A value. Lists stand for HCL's lists, tuples and (sorted, without doubles) sets; objects for
/// its objects and maps, and iterate in the order of their keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value; an attribute set to it counts as not set.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A sequence.
    List(Vec<Value>),
    /// Names and their values.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// A whole number.
    pub fn int(value: i64) -> Value {
        Value::Number(value.into())
    }

    /// A text.
    pub fn string(value: impl Into<String>) -> Value {
        Value::String(value.into())
    }

    /// True for null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as messages name it: `the text "a"`, `5`, `a list`.
    pub(crate) fn described(&self) -> String {
        /// Longer texts are cut.
        const CHARS_MAX: usize = 40;
        match self {
            Value::String(text) if text.chars().count() <= CHARS_MAX => {
                format!("the text {text:?}")
            }
            Value::String(text) => {
                let start: String = text.chars().take(CHARS_MAX).collect();
                format!("the text {:?}", start + "...")
            }
            Value::List(_) => "a list".to_owned(),
            Value::Object(_) => "a map".to_owned(),
            other => other.to_text().unwrap_or_else(|| "null".to_owned()),
        }
    }

    /// What kind of value it is, as messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "list",
            Value::Object(_) => "object",
        }
    }

    /// The text of a text, number or bool, which is HCL's conversion to string.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        }
    }

    /// The number of a number or of a text that spells one.
    pub fn to_number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Some(*number),
            Value::String(text) => Number::parse(text),
            _ => None,
        }
    }

    /// The truth of a bool or of the texts `true`, `false`, `1` and `0`.
    pub fn to_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => match text.as_str() {
                "true" | "1" => Some(true),
                "false" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// How many steps a copy costs.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Value::String(text) => 1 + text.len() as u64 / 16,
            Value::List(items) => 1 + items.iter().map(Value::cost).sum::<u64>(),
            Value::Object(items) => {
                1 + items.iter().map(|(k, v)| 1 + k.len() as u64 / 16 + v.cost()).sum::<u64>()
            }
            _ => 1,
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> serde_json::Value {
        match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => int.into(),
                (None, Some(int)) => int.into(),
                (None, None) => number.as_f64().into(),
            },
            Value::String(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(serde_json::Value::from).collect(),
            Value::Object(items) => serde_json::Value::Object(
                items.iter().map(|(k, v)| (k.clone(), serde_json::Value::from(v))).collect(),
            ),
        }
    }
}

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(flag) => Value::Bool(*flag),
            serde_json::Value::Number(number) => {
                Number::parse(&number.to_string()).map_or(Value::Null, Value::Number)
            }
            serde_json::Value::String(text) => Value::String(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Value::from).collect()),
            serde_json::Value::Object(items) => {
                Value::Object(items.iter().map(|(k, v)| (k.clone(), Value::from(v))).collect())
            }
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Bool(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}
