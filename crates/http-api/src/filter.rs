//! Filter expressions of lists: `Status == "running" and not (Type in ["batch"])`.
//!
//! The language is that of the documented `filter` parameter: `==`, `!=`, `in`, `not in`,
//! `contains`, `not contains`, `matches`, `not matches`, `is empty`, `is not empty`, `and`, `or`,
//! `not`, parentheses; selectors are dotted paths or `Meta["key"]`.

use serde_json::Value;

/// The deepest nesting an expression may have.
const DEPTH_MAX: usize = 64;
/// The longest expression, in bytes.
const BYTES_MAX: usize = 4096;

/// A parsed expression.
#[derive(Debug)]
pub(crate) enum Filter {
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    Test(Vec<String>, Test),
}

/// One test of a selected value.
#[derive(Debug)]
pub(crate) enum Test {
    Equals(String),
    /// The selected collection or text has it.
    Contains(String),
    Matches(regex::Regex),
    Empty,
}

impl Filter {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("the expression is longer than {BYTES_MAX} bytes"));
        }
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens, at: 0, depth: 0 };
        let filter = parser.or()?;
        match parser.peek() {
            None => Ok(filter),
            Some(token) => Err(format!("unexpected {token}")),
        }
    }

    pub(crate) fn matches(&self, row: &Value) -> Result<bool, String> {
        match self {
            Self::And(a, b) => Ok(a.matches(row)? && b.matches(row)?),
            Self::Or(a, b) => Ok(a.matches(row)? || b.matches(row)?),
            Self::Not(a) => Ok(!a.matches(row)?),
            Self::Test(path, test) => {
                let value = select(row, path)?;
                Ok(test.holds(value.unwrap_or(&Value::Null)))
            }
        }
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Equals(wanted) => text_of(value) == *wanted,
            Self::Contains(wanted) => match value {
                Value::Array(items) => items.iter().any(|i| text_of(i) == *wanted),
                Value::Object(members) => members.contains_key(wanted),
                other => text_of(other).contains(wanted),
            },
            Self::Matches(regex) => regex.is_match(&text_of(value)),
            Self::Empty => match value {
                Value::Null => true,
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
                other => text_of(other).is_empty(),
            },
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn select<'v>(row: &'v Value, path: &[String]) -> Result<Option<&'v Value>, String> {
    let mut value = row;
    for (depth, part) in path.iter().enumerate() {
        match value {
            Value::Object(members) => match members.get(part) {
                Some(inner) => value = inner,
                None if depth == 0 => {
                    return Err(format!(
                        "error finding value in datum: /{part} at part 0: couldn't find key: struct field with name {part:?}"
                    ));
                }
                None => return Ok(None),
            },
            Value::Array(items) => match part.parse::<usize>().ok().and_then(|i| items.get(i)) {
                Some(inner) => value = inner,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
    }
    Ok(Some(value))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Sign(&'static str),
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(w) => write!(f, "{w:?}"),
            Self::Text(t) => write!(f, "text {t:?}"),
            Self::Sign(s) => write!(f, "{s:?}"),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
        } else if let Some(sign) =
            ["==", "!=", "(", ")", "[", "]", ",", "."].iter().find(|s| rest.starts_with(**s))
        {
            out.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if c == '"' || c == '`' {
            let (token, left) = quoted(rest, c)?;
            out.push(Token::Text(token));
            rest = left;
        } else {
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || "_-/+:".contains(c)))
                .unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("unexpected character {c:?}"));
            }
            out.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    Ok(out)
}

fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((out, &text[at + 1..]));
        }
        if c == '\\' && quote == '"' {
            match chars.next() {
                Some((_, escaped)) => out.push(escaped),
                None => break,
            }
        } else {
            out.push(c);
        }
    }
    Err("a quoted text is not closed".to_owned())
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<Filter, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("the expression is nested deeper than {DEPTH_MAX}"));
        }
        let mut left = self.and()?;
        while self.take_word("or") {
            left = Filter::Or(Box::new(left), Box::new(self.and()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Filter, String> {
        let mut left = self.unary()?;
        while self.take_word("and") {
            left = Filter::And(Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Filter, String> {
        if self.take_word("not") {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(format!("the expression is nested deeper than {DEPTH_MAX}"));
            }
            let inner = self.unary()?;
            self.depth -= 1;
            return Ok(Filter::Not(Box::new(inner)));
        }
        if self.take_sign("(") {
            let inner = self.or()?;
            if !self.take_sign(")") {
                return Err("a parenthesis is not closed".to_owned());
            }
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Filter, String> {
        // `"value" in Selector` reads the other way round.
        if let Some(Token::Text(value)) = self.peek().cloned() {
            self.at += 1;
            let negated = self.take_word("not");
            if !self.take_word("in") {
                return Err("expected \"in\" after a value".to_owned());
            }
            let path = self.selector()?;
            return Ok(negate(Filter::Test(path, Test::Contains(value)), negated));
        }
        let path = self.selector()?;
        if self.take_sign("==") {
            return Ok(Filter::Test(path, Test::Equals(self.value()?)));
        }
        if self.take_sign("!=") {
            return Ok(Filter::Not(Box::new(Filter::Test(path, Test::Equals(self.value()?)))));
        }
        if self.take_word("is") {
            let negated = self.take_word("not");
            if !self.take_word("empty") {
                return Err("expected \"empty\" after \"is\"".to_owned());
            }
            return Ok(negate(Filter::Test(path, Test::Empty), negated));
        }
        let negated = self.take_word("not");
        if self.take_word("contains") {
            return Ok(negate(Filter::Test(path, Test::Contains(self.value()?)), negated));
        }
        if self.take_word("matches") {
            let pattern = self.value()?;
            let regex = regex::Regex::new(&pattern).map_err(|e| e.to_string())?;
            return Ok(negate(Filter::Test(path, Test::Matches(regex)), negated));
        }
        if self.take_word("in") {
            return Ok(negate(self.member_of(path)?, negated));
        }
        Err(match self.peek() {
            Some(token) => format!("expected an operator, found {token}"),
            None => "expected an operator at the end".to_owned(),
        })
    }

    fn member_of(&mut self, path: Vec<String>) -> Result<Filter, String> {
        if !self.take_sign("[") {
            return Err("expected a list after \"in\"".to_owned());
        }
        let mut any: Option<Filter> = None;
        loop {
            let test = Filter::Test(path.clone(), Test::Equals(self.value()?));
            any = Some(match any {
                None => test,
                Some(left) => Filter::Or(Box::new(left), Box::new(test)),
            });
            if !self.take_sign(",") {
                break;
            }
        }
        if !self.take_sign("]") {
            return Err("a list is not closed".to_owned());
        }
        any.ok_or_else(|| "a list is empty".to_owned())
    }

    fn selector(&mut self) -> Result<Vec<String>, String> {
        let Some(Token::Word(first)) = self.peek().cloned() else {
            return Err(match self.peek() {
                Some(token) => format!("expected a field, found {token}"),
                None => "expected a field at the end".to_owned(),
            });
        };
        self.at += 1;
        let mut path = vec![first];
        loop {
            if self.take_sign(".") {
                let Some(Token::Word(next)) = self.peek().cloned() else {
                    return Err("expected a field after \".\"".to_owned());
                };
                self.at += 1;
                path.push(next);
            } else if self.take_sign("[") {
                path.push(self.value()?);
                if !self.take_sign("]") {
                    return Err("an index is not closed".to_owned());
                }
            } else {
                return Ok(path);
            }
        }
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek().cloned() {
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(text)
            }
            Some(Token::Word(word)) => {
                self.at += 1;
                let mut text = word;
                // A decimal number comes in three tokens.
                while self.take_sign(".") {
                    if let Some(Token::Word(more)) = self.peek().cloned() {
                        self.at += 1;
                        text = format!("{text}.{more}");
                    }
                }
                Ok(text)
            }
            _ => Err("expected a value".to_owned()),
        }
    }
}

fn negate(filter: Filter, negated: bool) -> Filter {
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_select_rows() {
        let row = serde_json::json!({
            "ID": "web", "Status": "running", "Priority": 50, "Stop": false,
            "Datacenters": ["dc1", "dc2"], "Meta": {"team": "a"}, "Empty": null,
        });
        for (text, expected) in [
            (r#"Status == "running""#, true),
            (r#"Status != running"#, false),
            (r#"Priority == 50 and Stop == false"#, true),
            (r#"not Status == "dead" and (ID == "x" or ID matches "^w")"#, true),
            (r#""dc2" in Datacenters"#, true),
            (r#"Datacenters contains "dc3""#, false),
            (r#"Datacenters not contains dc3"#, true),
            (r#"Meta["team"] == "a""#, true),
            (r#"Meta.team == b"#, false),
            (r#"Empty is empty"#, true),
            (r#"Meta is not empty"#, true),
            (r#"ID in ["a", "web"]"#, true),
        ] {
            let filter = Filter::parse(text).expect(text);
            assert_eq!(filter.matches(&row), Ok(expected), "{text}");
        }
        for wrong in ["", "Status ==", "Status", "(Status == a", "Status == \"a", "== b"] {
            assert!(Filter::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Filter::parse("Nothing == 1").expect("parses").matches(&row).is_err());
    }
}
