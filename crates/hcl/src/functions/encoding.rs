//! Functions that write and read other formats.

use super::{Args, Function, Kind, yaml};
use crate::number::Number;
use crate::value::Value;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("base64decode", &[("str", Kind::Text)], |args| {
        let bytes = STANDARD.decode(args.text(0)).map_err(|e| format!("invalid base64: {e}"))?;
        let text = String::from_utf8(bytes);
        text.map(Value::String).map_err(|_| "the decoded bytes are not UTF-8 text".to_owned())
    }),
    Function::new("base64encode", &[("str", Kind::Text)], |args| {
        Ok(STANDARD.encode(args.text(0)).into())
    }),
    Function::new("csvdecode", &[("str", Kind::Text)], |args| csv_decode(args)),
    Function::new("jsondecode", &[("str", Kind::Text)], |args| {
        args.reserve(args.text(0).len().saturating_mul(8))?;
        let value: Result<serde_json::Value, _> = serde_json::from_str(args.text(0));
        value.map(|value| Value::from(&value)).map_err(|e| format!("invalid JSON: {e}"))
    }),
    Function::new("jsonencode", &[("val", Kind::Nullable)], |args| {
        let mut out = String::new();
        json(args.value(0), &mut out);
        Ok(out.into())
    }),
    Function::new("urlencode", &[("str", Kind::Text)], |args| Ok(url_encode(args.text(0)).into())),
    Function::new("yamldecode", &[("src", Kind::Text)], |args| {
        args.reserve(args.text(0).len().saturating_mul(yaml::growth(args.text(0))?))?;
        yaml::decode(args.text(0))
    }),
    Function::new("yamlencode", &[("value", Kind::Nullable)], |args| {
        Ok(yaml::encode(args.value(0)).into())
    }),
];

/// JSON without blanks, with `<`, `>` and `&` escaped, as Go writes it.
pub(super) fn json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => json_text(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                json(item, out);
            }
            out.push(']');
        }
        Value::Object(items) => {
            out.push('{');
            for (index, (key, item)) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                json_text(key, out);
                out.push(':');
                json(item, out);
            }
            out.push('}');
        }
    }
}

pub(super) fn json_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn csv_decode(args: &Args<'_>) -> Result<Value, String> {
    let text = args.text(0);
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| format!("invalid CSV: {e}"))?.clone();
    if header.is_empty() {
        return Err("missing header line".to_owned());
    }
    let mut names: Vec<&str> = header.iter().collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("duplicate column name {:?}", pair[0]));
    }
    let mut rows = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|e| format!("invalid CSV: {e}"))?;
        // Each row repeats the names of the columns.
        args.reserve(header.as_slice().len() + row.as_slice().len() + 32 * row.len())?;
        let cells = header.iter().zip(row.iter());
        rows.push(Value::Object(
            cells.map(|(name, cell)| (name.to_owned(), cell.into())).collect(),
        ));
    }
    Ok(Value::List(rows))
}

fn url_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The number of a YAML or JSON number's text.
pub(super) fn number(text: &str) -> Value {
    Number::parse(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}
