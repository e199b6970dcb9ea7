//! The quirks of the wire: `null` for an absent list, times as text or nanoseconds, base64.
//!
//! Everything here exists so that the JSON is the one existing clients read and write.
//! The log and the RPC use named msgpack, where times are integers and ids are bytes.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A duration or a point in time, in nanoseconds, as the wire has it.
pub type Nanos = i64;

/// One second.
pub const SECOND: Nanos = 1_000_000_000;

/// A list that is `null` on the wire when it is empty, and may be `null` when read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() { out.serialize_none() } else { self.0.serialize(out) }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<Vec<T>>::deserialize(input)?.unwrap_or_default()))
    }
}

/// A map with text keys that is `null` on the wire when it is empty, and may be `null` when read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Map<T>(pub BTreeMap<String, T>);

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Deref for Map<T> {
    type Target = BTreeMap<String, T>;
    fn deref(&self) -> &BTreeMap<String, T> {
        &self.0
    }
}

impl<T> DerefMut for Map<T> {
    fn deref_mut(&mut self) -> &mut BTreeMap<String, T> {
        &mut self.0
    }
}

impl<T> From<BTreeMap<String, T>> for Map<T> {
    fn from(items: BTreeMap<String, T>) -> Self {
        Self(items)
    }
}

impl<T> FromIterator<(String, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a Map<T> {
    type Item = (&'a String, &'a T);
    type IntoIter = std::collections::btree_map::Iter<'a, String, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() { out.serialize_none() } else { self.0.serialize(out) }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Map<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<BTreeMap<String, T>>::deserialize(input)?.unwrap_or_default()))
    }
}

/// Bytes that travel as base64 text in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        STANDARD.encode(&self.0).serialize(out)
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        STANDARD.decode(text.as_bytes()).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A point in time as nanoseconds since 1970; RFC 3339 text in JSON, an integer in msgpack.
/// Zero stands for "never" and is written as the zero time of the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Nanos);

/// How the wire writes "never".
pub const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

impl Time {
    /// Whether this is "never".
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// RFC 3339 text in UTC.
    pub fn to_text(self) -> String {
        if self.0 == 0 {
            return ZERO_TIME.to_owned();
        }
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(stamp) => stamp.to_string(),
            Err(_) => ZERO_TIME.to_owned(),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if out.is_human_readable() { self.to_text().serialize(out) } else { self.0.serialize(out) }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        if !input.is_human_readable() {
            return i64::deserialize(input).map(Self);
        }
        let Some(text) = Option::<String>::deserialize(input)? else { return Ok(Self(0)) };
        if text.is_empty() || text.starts_with("0001-01-01") {
            return Ok(Self(0));
        }
        let stamp: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(i64::try_from(stamp.as_nanosecond()).unwrap_or(0)))
    }
}

/// Serialises a [`Time`] so that "never" is `null` (task states).
pub mod null_time {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Time};

    /// Writes `null` for the zero time.
    pub fn serialize<S: Serializer>(time: &Time, out: S) -> Result<S::Ok, S::Error> {
        if time.is_zero() && out.is_human_readable() {
            out.serialize_none()
        } else {
            time.serialize(out)
        }
    }

    /// Reads `null` as the zero time.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Time, D::Error> {
        Time::deserialize(input)
    }
}

/// Whether a value is the one its type starts with; for fields left out when empty.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Drops `null` members of objects, which clients send for anything they leave unset.
pub fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// Reads a wire type from JSON text as existing clients write it (`null` for what is unset).
///
/// # Errors
/// The JSON is malformed, or a member has another type.
pub fn from_json<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(text)?;
    strip_nulls(&mut value);
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    #[test]
    fn reads_null_for_anything_unset_and_writes_null_for_empty_lists() {
        let job: Job =
            from_json(br#"{"ID":"a","Priority":null,"TaskGroups":[{"Name":"g","Tasks":null}]}"#)
                .expect("valid");
        assert_eq!(job.id(), "a");
        assert_eq!(job.priority(), 50);
        let out = serde_json::to_value(&job).expect("writes");
        assert_eq!(out["Constraints"], Value::Null);
        assert_eq!(out["TaskGroups"][0]["Tasks"], Value::Null);
        assert_eq!(out["TaskGroups"][0]["Count"], Value::Null);
    }

    #[test]
    fn writes_times_as_rfc3339_and_never_as_the_zero_time() {
        assert_eq!(Time(0).to_text(), "0001-01-01T00:00:00Z");
        assert_eq!(Time(1_500_000_000_120_000_000).to_text(), "2017-07-14T02:40:00.12Z");
        let back: Time = serde_json::from_str("\"2017-07-14T02:40:00.12Z\"").expect("reads");
        assert_eq!(back, Time(1_500_000_000_120_000_000));
    }
}
