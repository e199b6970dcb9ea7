//! `${...}` in what a job says: replaced by variables of the task and facts of the node.

use std::collections::BTreeMap;

use serde_json::Value;

/// What references may name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values<'a> {
    /// Variables of the task, by name.
    pub(crate) env: BTreeMap<String, String>,
    /// `attr.…`, `meta.…` and `node.…`.
    pub(crate) node: Option<&'a BTreeMap<String, String>>,
}

/// The names before the first point that stand for a set of values.
const OBJECTS: [&str; 4] = ["attr", "env", "meta", "node"];

impl Values<'_> {
    /// Leaves what it does not know as it is: environment, meta, user.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.replace(text, false, &mut |reference| format!("${{{reference}}}"))
    }

    /// What it does not know is a mistake in the job: the driver's configuration.
    pub(crate) fn fill_config(&self, value: &Value, problems: &mut Vec<String>) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace(text, true, &mut |reference| {
                problems.push(unknown(reference));
                String::new()
            })),
            Value::Array(items) => {
                items.iter().map(|item| self.fill_config(item, problems)).collect()
            }
            Value::Object(members) => {
                let filled = members.iter();
                let filled =
                    filled.map(|(name, value)| (name.clone(), self.fill_config(value, problems)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    fn replace(
        &self,
        text: &str,
        escapes: bool,
        on_unknown: &mut dyn FnMut(&str) -> String,
    ) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let escaped = escapes && rest[..start].ends_with('$');
            let Some(length) = rest[start..].find('}') else { break };
            let (before, reference) = (&rest[..start], &rest[start + 2..start + length]);
            if escaped {
                out.push_str(&before[..before.len() - 1]);
                out.push_str(&rest[start..=start + length]);
            } else {
                out.push_str(before);
                match self.look_up(reference) {
                    Some(value) => out.push_str(value),
                    None => out.push_str(&on_unknown(reference)),
                }
            }
            rest = &rest[start + length + 1..];
        }
        out.push_str(rest);
        out
    }

    fn look_up(&self, reference: &str) -> Option<&str> {
        let name = plain(reference.trim());
        let node = || self.node.and_then(|node| node.get(&name));
        let in_env = || self.env.get(name.strip_prefix("env.")?);
        self.env.get(&name).or_else(node).or_else(in_env).map(String::as_str)
    }
}

/// `env["a.b"]` is `env.a.b`.
fn plain(reference: &str) -> String {
    let Some((object, index)) = reference.split_once('[') else { return reference.to_owned() };
    let key = index.trim_end_matches(']').trim().trim_matches('"');
    format!("{object}.{key}")
}

fn unknown(reference: &str) -> String {
    let name = plain(reference.trim());
    match name.split_once('.') {
        Some((object, member)) if OBJECTS.contains(&object) => {
            let member = member.rsplit('.').next().unwrap_or(member);
            format!(
                "Unsupported attribute: This object does not have an attribute named \"{member}\"."
            )
        }
        first => {
            let object = first.map_or(name.as_str(), |(object, _)| object);
            format!("Unknown variable: There is no variable named \"{object}\".")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> BTreeMap<String, String> {
        let facts = [("attr.kernel.name", "linux"), ("meta.rack", "r1"), ("node.class", "gold")];
        facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn env() -> BTreeMap<String, String> {
        let env = [("OWN", "v-r1"), ("a.b", "dotted"), ("NOMAD_TASK_NAME", "t")];
        env.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn check_config(text: &str, expected: &str, expected_problems: &[&str]) {
        let node = node();
        let values = Values { env: env(), node: Some(&node) };
        let mut problems = Vec::new();
        let filled = values.fill_config(&Value::String(text.to_owned()), &mut problems);
        assert_eq!(filled, expected);
        assert_eq!(problems, expected_problems);
    }

    #[test]
    fn references_of_a_driver_config_are_replaced_or_named_as_mistakes() {
        check_config("a=${NOMAD_TASK_NAME}", "a=t", &[]);
        check_config("${attr.kernel.name}-${meta.rack}-${node.class}", "linux-r1-gold", &[]);
        check_config("r=$${escaped} ${OWN}", "r=${escaped} v-r1", &[]);
        check_config("${env[\"OWN\"]} ${env[\"a.b\"]} ${env.OWN}", "v-r1 dotted v-r1", &[]);
        check_config("w=$NOMAD_TASK_NAME ${open", "w=$NOMAD_TASK_NAME ${open", &[]);
        check_config(
            "${nothing.here}${meta.absent}",
            "",
            &[
                "Unknown variable: There is no variable named \"nothing\".",
                "Unsupported attribute: This object does not have an attribute named \"absent\".",
            ],
        );
    }

    #[test]
    fn elsewhere_the_unknown_stays_as_it_is() {
        let node = node();
        let values = Values { env: env(), node: Some(&node) };
        assert_eq!(values.fill("${meta.rack} ${meta.none} ${X}"), "r1 ${meta.none} ${X}");
    }
}
