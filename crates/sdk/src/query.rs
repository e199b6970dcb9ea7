//! Query options: what narrows, pages or blocks a call.

use std::time::Duration;

/// Parameters of one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// No parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets one parameter, in place of an earlier value.
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.pairs.retain(|(known, _)| known != key);
        self.pairs.push((key.to_owned(), value.to_string()));
        self
    }

    /// Sets one parameter unless the value is empty.
    pub fn with_some(self, key: &str, value: &str) -> Self {
        if value.is_empty() { self } else { self.with(key, value) }
    }

    /// Sets a switch.
    pub fn with_flag(self, key: &str, on: bool) -> Self {
        if on { self.with(key, "true") } else { self }
    }

    /// The answer waits until the index has passed `index`, or for `wait`.
    pub fn blocking(self, index: u64, wait: Duration) -> Self {
        self.with("index", index).with("wait", format!("{}ms", wait.as_millis()))
    }

    /// True when the parameter is set.
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(known, _)| known == key)
    }

    /// The text behind the question mark.
    pub fn encode(&self) -> String {
        let pair = |(key, value): &(String, String)| {
            if value.is_empty() {
                encode(key)
            } else {
                format!("{}={}", encode(key), encode(value))
            }
        };
        self.pairs.iter().map(pair).collect::<Vec<_>>().join("&")
    }
}

/// One path segment: a name given by a user, made safe for a URL.
pub fn segment(name: &str) -> String {
    encode(name)
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_values_replace_earlier_ones_and_everything_is_escaped() {
        let query = Query::new()
            .with("namespace", "*")
            .with("filter", "Status == \"ready\"")
            .with("namespace", "a b")
            .with_some("prefix", "")
            .with_flag("purge", true)
            .with_flag("global", false)
            .blocking(7, Duration::from_secs(10));
        assert_eq!(
            query.encode(),
            "filter=Status%20%3D%3D%20%22ready%22&namespace=a%20b&purge=true&index=7&wait=10000ms"
        );
        assert_eq!(segment("job/dispatch-1"), "job%2Fdispatch-1");
    }
}
