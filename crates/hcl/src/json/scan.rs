//! JSON text to a tree in which every name and value knows its place. Strict: no comments, no
//! trailing commas.

use crate::diagnostic::{Diagnostic, Source};
use std::ops::Range;

type Scanned<T> = Result<T, Box<Diagnostic>>;

/// A value with its place.
pub(super) struct Item {
    pub(super) node: Node,
    pub(super) span: Range<usize>,
}

/// What a value is. Numbers and the three words are kept as written: `span` says where.
pub(super) enum Node {
    Plain,
    Text(String),
    List(Vec<Item>),
    Object(Vec<Member>),
}

/// A member of an object.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    pub(super) value: Item,
}

/// Reads a whole text as one object.
pub(super) fn scan(source: &Source, depth_max: usize) -> Scanned<Vec<Member>> {
    let mut scanner = Scanner { source, at: 0, depth_max };
    if source.text().starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    let item = scanner.item(0)?;
    scanner.blanks();
    if scanner.at < source.text().len() {
        return scanner.fail("Nothing may follow the closing brace of the file.");
    }
    match item.node {
        Node::Object(members) => Ok(members),
        _ => scanner.fail_at(item.span, "The file must consist of one object in braces."),
    }
}

struct Scanner<'s> {
    source: &'s Source,
    at: usize,
    depth_max: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.source.text()[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn fail<T>(&self, detail: &str) -> Scanned<T> {
        match self.rest().chars().next() {
            Some(c) => self.fail_at(self.at..self.at + c.len_utf8(), detail),
            None => {
                // The end has no character of its own to point at.
                let text = self.source.text();
                let last = text.trim_end().char_indices().next_back();
                let span = last.map_or(0..0, |(at, c)| at..at + c.len_utf8());
                let detail = format!("The file ends too early. {detail}");
                Err(Box::new(self.source.error(span, "Unexpected end of file", detail)))
            }
        }
    }

    fn fail_at<T>(&self, span: Range<usize>, detail: &str) -> Scanned<T> {
        Err(Box::new(self.source.error(span, "Invalid JSON", detail)))
    }

    fn skip(&mut self, mark: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(mark);
        self.at += usize::from(found);
        found
    }

    fn refuse_trailing_comma(&mut self, close: char) -> Scanned<()> {
        let comma = self.at - 1;
        self.blanks();
        if self.rest().starts_with(close) {
            let detail = "JSON allows no comma behind the last item; remove it.";
            return self.fail_at(comma..comma + 1, detail);
        }
        Ok(())
    }

    fn item(&mut self, depth: usize) -> Scanned<Item> {
        self.blanks();
        let start = self.at;
        if depth > self.depth_max {
            let detail = format!("Nesting is allowed {} levels deep.", self.depth_max);
            return Err(Box::new(self.source.error(start..start + 1, "Nesting too deep", detail)));
        }
        let node = match self.rest().as_bytes().first() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Node::Text(self.text()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => {
                let rest = self.rest();
                let Some(word) =
                    ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word))
                else {
                    return self.fail(
                        "A value is required here: a text in quotes, a number, true, false, null, a \
                         list or an object.",
                    );
                };
                self.at += word.len();
                Node::Plain
            }
        };
        Ok(Item { node, span: start..self.at })
    }

    fn object(&mut self, depth: usize) -> Scanned<Node> {
        self.at += 1;
        let mut members = Vec::new();
        if self.skip('}') {
            return Ok(Node::Object(members));
        }
        loop {
            self.blanks();
            let start = self.at;
            if !self.rest().starts_with('"') {
                return self.fail("A name in quotes is required here.");
            }
            let name = self.text()?;
            let name_span = start..self.at;
            if !self.skip(':') {
                return self.fail("A colon is required here.");
            }
            members.push(Member { name, name_span, value: self.item(depth + 1)? });
            if self.skip('}') {
                return Ok(Node::Object(members));
            }
            if !self.skip(',') {
                return self.fail("A comma or a closing brace is required here.");
            }
            self.refuse_trailing_comma('}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Scanned<Node> {
        self.at += 1;
        let mut items = Vec::new();
        if self.skip(']') {
            return Ok(Node::List(items));
        }
        loop {
            items.push(self.item(depth + 1)?);
            if self.skip(']') {
                return Ok(Node::List(items));
            }
            if !self.skip(',') {
                return self.fail("A comma or a closing bracket is required here.");
            }
            self.refuse_trailing_comma(']')?;
        }
    }

    /// Numbers and texts have their rules in serde_json; here only their ends are looked for.
    fn number(&mut self) -> Scanned<Node> {
        let rest = self.rest();
        let part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let span = self.at..self.at + end;
        if serde_json::from_str::<serde_json::Number>(&rest[..end]).is_err() {
            return self.fail_at(span, "This is not a number as JSON writes it.");
        }
        self.at = span.end;
        Ok(Node::Plain)
    }

    fn text(&mut self) -> Scanned<String> {
        let start = self.at;
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(b'\n') | None => {
                    return self.fail_at(
                        start..start + 1,
                        "The text is not closed in its line: a quotation mark is missing.",
                    );
                }
                Some(_) => end += 1,
            }
        }
        let span = start..start + end + 1;
        match serde_json::from_str(self.source.slice(span.clone())) {
            Ok(text) => {
                self.at = span.end;
                Ok(text)
            }
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split(" at line").next().unwrap_or(&reason);
                self.fail_at(span, &format!("The text is not written as JSON asks: {reason}."))
            }
        }
    }
}
