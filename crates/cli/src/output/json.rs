//! JSON as the API gave it, indented by four.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// The indented text of a value.
pub(crate) fn pretty(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer =
        Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    "));
    value.serialize(&mut serializer).expect("writing JSON to memory cannot fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_keys_and_indents_by_four() {
        let value = serde_json::from_str(r#"{"b":[1],"a":null}"#).unwrap();
        assert_eq!(pretty(&value), "{\n    \"b\": [\n        1\n    ],\n    \"a\": null\n}");
    }
}
