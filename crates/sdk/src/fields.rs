//! Reading the JSON of answers: what is absent or null reads as empty.
//!
//! Answers stay JSON, so that `-json` prints exactly what came and a field of a newer agent is not
//! lost. These readers never fail: a command shows what there is.

use serde_json::Value;

static NULL: Value = Value::Null;

/// Lenient access to the fields of a JSON object.
pub trait Fields {
    /// The field, or null.
    fn at(&self, key: &str) -> &Value;
    /// A text, or the empty text.
    fn text(&self, key: &str) -> &str;
    /// A whole number, or zero.
    fn int(&self, key: &str) -> i64;
    /// A number, or zero.
    fn number(&self, key: &str) -> f64;
    /// A truth value, or false.
    fn flag(&self, key: &str) -> bool;
    /// The items of a list, or none.
    fn items(&self, key: &str) -> &[Value];
    /// The entries of an object in their order, or none.
    fn entries(&self, key: &str) -> Vec<(&str, &Value)>;
    /// The texts of a list.
    fn texts(&self, key: &str) -> Vec<&str> {
        self.items(key).iter().filter_map(Value::as_str).collect()
    }
    /// True when the field is absent, null, or an empty list or object.
    fn is_empty_at(&self, key: &str) -> bool {
        match self.at(key) {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        }
    }
}

impl Fields for Value {
    fn at(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }

    fn text(&self, key: &str) -> &str {
        self.at(key).as_str().unwrap_or_default()
    }

    fn int(&self, key: &str) -> i64 {
        let value = self.at(key);
        value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)).unwrap_or_default()
    }

    fn number(&self, key: &str) -> f64 {
        self.at(key).as_f64().unwrap_or_default()
    }

    fn flag(&self, key: &str) -> bool {
        self.at(key).as_bool().unwrap_or_default()
    }

    fn items(&self, key: &str) -> &[Value] {
        self.at(key).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn entries(&self, key: &str) -> Vec<(&str, &Value)> {
        let map = self.at(key).as_object();
        map.into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_absent_or_null_reads_as_empty() {
        let value = json!({"ID": "a", "Tasks": null, "N": 3.0, "M": {"x": 1}});
        assert_eq!(value.text("ID"), "a");
        assert_eq!(value.text("Nothing"), "");
        assert!(value.items("Tasks").is_empty());
        assert_eq!(value.int("N"), 3);
        assert_eq!(value.entries("M").len(), 1);
        assert!(value.is_empty_at("Tasks") && !value.is_empty_at("M"));
    }
}
