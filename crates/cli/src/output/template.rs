//! `-t`: Go templates over the JSON of an answer.

use std::collections::HashMap;

use gtmpl_ng::{Context, Func, FuncError, Template, Value as Item};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::json;

/// The most a template may write.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// Renders `template` over `value`.
pub(crate) fn render(template: &str, value: &Value) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("Error formatting the data with the template: {error}"))
    };
    let limits = gtmpl_ng::Limits::default().with_output_bytes(OUTPUT_BYTES_MAX);
    let mut parsed = Template::with_limits(limits);
    parsed.add_funcs(&[("json", to_json as Func), ("toPrettyJSON", to_json as Func)]);
    parsed.parse(template).map_err(|error| failed(&error))?;
    parsed.render(&Context::from(item(value))).map_err(|error| failed(&error))
}

fn item(value: &Value) -> Item {
    match value {
        Value::Null => Item::Nil,
        Value::Bool(flag) => Item::Bool(*flag),
        Value::String(text) => Item::String(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Item::from(number),
            (None, Some(number)) => Item::from(number),
            (None, None) => Item::from(number.as_f64().unwrap_or_default()),
        },
        Value::Array(items) => Item::Array(items.iter().map(item).collect()),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| (key.clone(), item(value));
            Item::Map(map.iter().map(entry).collect::<HashMap<_, _>>())
        }
    }
}

fn to_json(arguments: &[Item]) -> Result<Item, FuncError> {
    let first = arguments.first().unwrap_or(&Item::Nil);
    Ok(Item::String(json::pretty(&plain(first))))
}

fn plain(item: &Item) -> Value {
    match item {
        Item::Bool(flag) => Value::Bool(*flag),
        Item::String(text) => Value::String(text.clone()),
        Item::Array(items) => items.iter().map(plain).collect(),
        Item::Map(map) | Item::Object(map) => {
            let sorted: std::collections::BTreeMap<_, _> = map.iter().collect();
            sorted.into_iter().map(|(key, item)| (key.clone(), plain(item))).collect()
        }
        Item::Number(number) => serde_json::from_str(&number.to_string()).unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(template: &str, expected: &str) {
        let value = json!({"ID": "web", "N": 3, "F": 1.5, "Tasks": [{"Name": "a"}, {"Name": "b"}]});
        assert_eq!(render(template, &value).unwrap(), expected, "{template}");
    }

    #[test]
    fn fields_loops_and_functions_work_over_the_answer() {
        check("{{.ID}} {{.N}} {{.F}}", "web 3 1.5");
        check("{{range .Tasks}}{{.Name}},{{end}}", "a,b,");
        check(r#"{{if eq .ID "web"}}{{printf "%s-%d" .ID .N}}{{end}}"#, "web-3");
        check("{{with index .Tasks 1}}{{.Name}}{{end}}", "b");
        check("{{ .Tasks | len }}", "2");
        check("{{ json .N }}", "3");
    }

    #[test]
    fn a_broken_template_is_an_error_that_says_so() {
        let failure = render("{{.ID", &json!({})).unwrap_err();
        assert!(failure.text.starts_with("Error formatting the data"), "{}", failure.text);
    }
}
