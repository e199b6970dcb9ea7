//! A request as a handler sees it: the parts of its path, its query, its body.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use model::ids::JobKey;
use serde::de::DeserializeOwned;

use crate::api::{AgentFacts, Api};
use crate::error::Failure;

/// The largest request body: a job with its inlined templates is far below it.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// One request.
pub(crate) struct Request {
    pub api: Api,
    /// The parts of the path that stand for something, decoded, by name.
    pub path: BTreeMap<String, String>,
    pub query: Query,
    pub body: Bytes,
}

impl Request {
    /// The named part of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The server of this agent. A client agent hands server requests on before they get here.
    pub(crate) fn server(&self) -> Result<&server::Server, Failure> {
        self.api
            .inner
            .server
            .as_ref()
            .ok_or_else(|| Failure::internal("no server runs in this agent"))
    }

    pub(crate) fn facts(&self) -> &AgentFacts {
        &self.api.inner.facts
    }

    /// The job that the path names, in the namespace that the query names.
    pub(crate) fn job_key(&self) -> JobKey {
        JobKey::new(self.query.namespace(), self.part("job"))
    }

    /// The body as a wire type.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        if self.body.is_empty() {
            return Err(Failure::bad("EOF"));
        }
        let mut value: serde_json::Value = serde_json::from_slice(&self.body)
            .map_err(|error| Failure::bad(syntax_error(&error, &self.body)))?;
        model::wire::strip_nulls(&mut value);
        serde_path_to_error::deserialize(value)
            .map_err(|error| Failure::bad(type_error(error.path(), error.inner())))
    }

    /// The body as a wire type, or its default when there is none.
    pub(crate) fn body_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Failure> {
        if self.body.is_empty() { Ok(T::default()) } else { self.body() }
    }
}

/// Which member has the wrong type, in the words that scripts know:
/// `json: cannot unmarshal string into Go struct field Job.Job.Priority of type int`, where the
/// first name is that of the object around the member and the rest is the way to it.
fn type_error(path: &serde_path_to_error::Path, error: &serde_json::Error) -> String {
    use serde_path_to_error::Segment;
    let members: Vec<&str> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.as_str()),
            _ => None,
        })
        .collect();
    let text = error.to_string();
    let Some((found, wanted)) =
        text.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    else {
        return format!("json: {path}: {text}");
    };
    let found = match found.split(' ').next().unwrap_or_default() {
        "string" => "string",
        "boolean" => "bool",
        "integer" | "floating" => "number",
        "sequence" => "array",
        _ => "object",
    };
    let wanted = match wanted {
        "i64" | "i32" | "u64" | "u32" | "u16" | "u8" => "int",
        "f64" => "float64",
        "a string" | "a borrowed string" => "string",
        "a boolean" => "bool",
        "a sequence" => "array",
        other => other,
    };
    match members.as_slice() {
        [] => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
        [.., around, _] => format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            around.strip_suffix('s').unwrap_or(around),
            members.join("."),
        ),
        [one] => {
            format!("json: cannot unmarshal {found} into Go struct field .{one} of type {wanted}")
        }
    }
}

/// What makes a body no JSON.
fn syntax_error(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected EOF".to_owned();
    }
    let text = String::from_utf8_lossy(body);
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.chars().nth(error.column().saturating_sub(1)).unwrap_or(' ');
    let wanted = match error.to_string() {
        e if e.starts_with("key must be a string") => "object key string",
        e if e.starts_with("expected value") => "value",
        e => return format!("invalid JSON: {e}"),
    };
    format!("invalid character '{found}' looking for beginning of {wanted}")
}

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                (decode(key), decode(value))
            })
            .collect();
        Self { pairs }
    }

    /// The first value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The first value of a key that is not empty.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|v| !v.is_empty())
    }

    /// Whether a key is there, with any value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// A yes or no; absent is no.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, Failure> {
        match self.get(key) {
            None | Some("") => Ok(false),
            Some(text) => parse_bool(text).ok_or_else(|| {
                Failure::internal(format!(
                    "Failed to parse value of {key:?} ({text}) as a bool: strconv.ParseBool: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }

    /// A whole number.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, Failure> {
        match self.text(key) {
            None => Ok(None),
            Some(text) => {
                let parsed = text.parse().map_err(|_| {
                    Failure::bad(format!("Failed to parse value of {key:?} ({text}) as a number"))
                });
                parsed.map(Some)
            }
        }
    }

    /// The namespace asked for.
    pub(crate) fn namespace(&self) -> &str {
        self.text("namespace").unwrap_or(model::job::DEFAULT_NAMESPACE)
    }

    /// Whether an object's namespace is asked for.
    pub(crate) fn wants_namespace(&self, namespace: &str) -> bool {
        matches!(self.namespace(), "*") || self.namespace() == namespace
    }

    /// The index a blocking query waits to pass; 0 does not block.
    pub(crate) fn index(&self) -> Result<u64, Failure> {
        match self.text("index") {
            None => Ok(0),
            Some(text) => text.parse().map_err(|_| Failure::bad("Invalid index")),
        }
    }

    /// How long a blocking query waits.
    pub(crate) fn wait(&self) -> Result<Duration, Failure> {
        match self.text("wait") {
            None => Ok(server::watch::WAIT_DEFAULT),
            Some(text) => parse_duration(text).ok_or_else(|| Failure::bad("Invalid wait time")),
        }
    }
}

/// Go's idea of a boolean.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A duration such as `1m30s`, `500ms`, `2h`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit_end] {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    (!text.is_empty() && total.is_finite()).then(|| Duration::from_secs_f64(total))
}

/// Undoes percent-encoding; `+` is a blank. What cannot be decoded stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'+' => out.push(b' '),
            b'%' => match text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok())
            {
                Some(byte) => {
                    out.push(byte);
                    at += 2;
                }
                None => out.push(b'%'),
            },
            byte => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_writes_them() {
        assert_eq!(parse_duration("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("5"), None);
        assert_eq!(parse_duration("5x"), None);
    }

    #[test]
    fn a_member_of_the_wrong_type_is_named() {
        let refused = |body: &str| {
            let value: serde_json::Value = serde_json::from_str(body).unwrap();
            let error =
                serde_path_to_error::deserialize::<_, model::api::JobRegisterRequest>(value)
                    .unwrap_err();
            type_error(error.path(), error.inner())
        };
        assert_eq!(
            refused(r#"{"Job": {"Priority": "high"}}"#),
            "json: cannot unmarshal string into Go struct field Job.Job.Priority of type int"
        );
        assert_eq!(
            refused(r#"{"Job": {"TaskGroups": [{"Count": true}]}}"#),
            "json: cannot unmarshal bool into Go struct field TaskGroup.Job.TaskGroups.Count of type int"
        );
    }

    #[test]
    fn query_values_are_decoded() {
        let query = Query::parse("prefix=a%2Fb+c&stale&wait=");
        assert_eq!(query.text("prefix"), Some("a/b c"));
        assert!(query.has("stale"));
        assert_eq!(query.text("wait"), None);
    }
}
