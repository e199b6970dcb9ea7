//! Configuration files in the old style of HCL, or in JSON: one tree for both, with lines.
//!
//! Old habits are kept: quoted names, names with dots, repeated blocks, blocks in one line, commas
//! or none. There are no expressions; `${...}` is text.

mod json;
mod lexer;
mod parser;

use crate::diagnostic::{Diagnostic, Source};
use crate::limits::SOURCE_BYTES;
use crate::number::Number;
use crate::value::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Deepest nesting of a configuration file.
const DEPTH: usize = 32;

/// The content of a file or of braces, in the order written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigBody {
    /// Its items; a name may occur more than once.
    pub items: Vec<ConfigItem>,
}

/// A name with what it is set to.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigItem {
    /// The name.
    pub key: String,
    /// The labels of a block; JSON has none.
    pub labels: Vec<String>,
    /// The value, or the content of a block.
    pub value: ConfigValue,
    /// Where the name stands.
    pub span: Range<usize>,
    /// The line of the name, counted from one.
    pub line: usize,
}

/// A value of a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// JSON's null.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// Values in brackets.
    List(Vec<ConfigValue>),
    /// Names in braces: a block, an object of HCL or one of JSON.
    Body(ConfigBody),
}

/// A parsed file together with its text, to make problems of the reader's own.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its content.
    pub root: ConfigBody,
    source: Arc<Source>,
}

impl Config {
    /// An error at a place of the file.
    pub fn error(
        &self,
        span: Range<usize>,
        summary: impl Into<String>,
        detail: impl Into<String>,
    ) -> Diagnostic {
        self.source.error(span, summary, detail)
    }

    /// Refuses a name by name, with the nearest known one.
    pub fn unknown_key<'k>(
        &self,
        item: &ConfigItem,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Diagnostic {
        let hint = crate::suggest::hint(&item.key, known);
        let detail = format!("A key named {:?} is not expected here.{hint}", item.key);
        self.error(item.span.clone(), "Unknown key", detail)
    }
}

/// Parses a configuration file; a text whose first character is `{` is JSON.
pub fn parse_config(file: &str, text: &str) -> Result<Config, Vec<Diagnostic>> {
    let source = Source::new(file, text);
    if text.len() > SOURCE_BYTES {
        let detail = format!("A configuration file may have {SOURCE_BYTES} bytes.");
        return Err(vec![source.error(0..0, "File too large", detail)]);
    }
    let root = if text.trim_start().starts_with('{') {
        json::parse(&source)
    } else {
        parser::parse(&source)
    };
    root.map(|root| Config { root, source }).map_err(|problem| vec![*problem])
}

impl ConfigBody {
    /// The items of a name.
    pub fn all<'c>(&'c self, key: &str) -> impl Iterator<Item = &'c ConfigItem> {
        self.items.iter().filter(move |item| item.key == key)
    }

    /// The last item of a name, which is the one that counts for plain values.
    pub fn last(&self, key: &str) -> Option<&ConfigItem> {
        self.items.iter().rev().find(|item| item.key == key)
    }

    /// The content as an object; of repeated names the last counts.
    pub fn to_object(&self) -> BTreeMap<String, Value> {
        self.items.iter().map(|item| (item.key.clone(), item.value.to_value())).collect()
    }
}

impl ConfigItem {
    /// The bodies it stands for: a block is one, a list of objects is several.
    pub fn bodies(&self) -> Vec<&ConfigBody> {
        match &self.value {
            ConfigValue::Body(body) => vec![body],
            ConfigValue::List(items) => items
                .iter()
                .filter_map(|item| match item {
                    ConfigValue::Body(body) => Some(body),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl ConfigValue {
    /// The value without places.
    pub fn to_value(&self) -> Value {
        match self {
            ConfigValue::Null => Value::Null,
            ConfigValue::Bool(flag) => Value::Bool(*flag),
            ConfigValue::Number(number) => Value::Number(*number),
            ConfigValue::String(text) => Value::String(text.clone()),
            ConfigValue::List(items) => Value::List(items.iter().map(Self::to_value).collect()),
            ConfigValue::Body(body) => Value::Object(body.to_object()),
        }
    }
}
