//! The JSON spelling of HCL: blocks as nested objects, labels as their names, lists for repeated
//! blocks, and texts that are templates.
//!
//! The tree is written out again in the native spelling, beside a table that leads from each piece
//! back to its place in the JSON. So expressions, `dynamic` blocks, variables and every check have
//! one implementation, and problems still show the text that the user wrote.

mod scan;

use crate::diagnostic::{Diagnostic, Piece, Source};
use crate::dynamic;
use crate::limits::{ITEMS_PER_BODY, Limits};
use crate::schema::{BlockSchema, Content, Schema};
use crate::syntax::{self, Body, Skipper};
use scan::{Item, Member, Node};
use std::ops::Range;
use std::sync::Arc;

/// The name whose members are remarks.
const COMMENT: &str = "//";
/// How much longer than the JSON the native spelling may be: a control character takes six bytes.
const GROWTH_MAX: usize = 8;

/// Whether a text is meant as JSON. No HCL text begins with a brace.
pub fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Parses a file in the JSON spelling. `schema` says which names are blocks.
///
/// # Errors
/// The first mistake in the JSON, or everything that cannot be a name or an expression.
pub fn parse_json(
    file: &str,
    text: &str,
    schema: &Schema,
    limits: &Limits,
) -> Result<Body, Vec<Diagnostic>> {
    let source = Source::new(file, text);
    if text.len() > limits.source_bytes {
        let detail = format!(
            "The file has {} bytes; at most {} are allowed.",
            text.len(),
            limits.source_bytes
        );
        return Err(vec![source.error(0..0, "File too large", detail)]);
    }
    let members = scan::scan(&source, limits.nesting_depth).map_err(|problem| vec![*problem])?;
    let mut writer = Writer {
        source: &source,
        limits,
        out: String::with_capacity(text.len()),
        pieces: Vec::new(),
        problems: Vec::new(),
    };
    writer.body(&members, schema);
    let Writer { out, pieces, problems, .. } = writer;
    if !problems.is_empty() {
        return Err(problems);
    }
    let native = Source::derived(&source, out, pieces);
    let limits = Limits { source_bytes: limits.source_bytes.saturating_mul(GROWTH_MAX), ..*limits };
    syntax::parse_source(native, &limits)
}

struct Writer<'s> {
    source: &'s Arc<Source>,
    limits: &'s Limits,
    out: String,
    pieces: Vec<Piece>,
    problems: Vec<Diagnostic>,
}

impl Writer<'_> {
    /// Writes a piece and remembers where it came from.
    fn piece(&mut self, text: &str, written: &Range<usize>) {
        let start = self.out.len();
        self.out.push_str(text);
        self.pieces.push(Piece { derived: start..self.out.len(), written: written.clone() });
    }

    fn problem(&mut self, span: Range<usize>, summary: &str, detail: impl Into<String>) {
        if self.problems.len() < crate::limits::DIAGNOSTICS {
            self.problems.push(self.source.error(span, summary, detail));
        }
    }

    fn body(&mut self, members: &[Member], schema: &Schema) {
        for member in members {
            let name = member.name.as_str();
            if name == COMMENT {
                continue;
            }
            if name == dynamic::KEYWORD && !schema.attributes.contains(name) {
                self.dynamic(member, schema);
                continue;
            }
            match schema.blocks.get(name) {
                Some(block) if block.content != Content::Value => {
                    self.blocks(member, block, &mut Vec::new(), &member.value);
                }
                Some(_) => self.value(member),
                None if schema.expressions.contains(name) => self.bare(member),
                None => self.attribute(member, &member.value),
            }
        }
    }

    fn attribute(&mut self, member: &Member, value: &Item) {
        if !is_name(&member.name) {
            let detail = format!(
                "{:?} cannot be the name of an argument: it must start with a letter or underscore and \
                 may contain only letters, digits, underscores, and dashes.",
                member.name
            );
            self.problem(member.name_span.clone(), "Invalid argument name", detail);
            return;
        }
        self.piece(&member.name, &member.name_span);
        self.out.push_str(" = ");
        self.expression(value);
        self.out.push('\n');
    }

    /// A block that is one value: an object, or a list with one for those used to older files.
    fn value(&mut self, member: &Member) {
        match &member.value.node {
            Node::List(items) if items.iter().all(|item| matches!(item.node, Node::Object(_))) => {
                for item in items {
                    self.attribute(member, item);
                }
            }
            _ => self.attribute(member, &member.value),
        }
    }

    /// An argument whose value is an expression and not a template: a type, the name of an iterator.
    fn bare(&mut self, member: &Member) {
        let Node::Text(text) = &member.value.node else {
            self.attribute(member, &member.value);
            return;
        };
        let text = text.trim();
        if text.contains(['\n', '#']) || text.contains("//") {
            let detail = "The text must be one expression in one line, without comments.";
            self.problem(member.value.span.clone(), "Invalid expression", detail);
        } else if self.check(text, &member.value.span).is_ok() {
            self.piece(&member.name, &member.name_span);
            self.out.push_str(" = ");
            self.piece(text, &member.value.span);
            self.out.push('\n');
        }
    }

    /// Goes down through the labels to the content of each block.
    fn blocks<'m>(
        &mut self,
        member: &'m Member,
        schema: &BlockSchema,
        labels: &mut Vec<&'m Member>,
        value: &'m Item,
    ) {
        match &value.node {
            Node::List(items) => {
                for item in items {
                    self.blocks(member, schema, labels, item);
                }
            }
            Node::Object(members) => {
                let labelled = labels.len() < schema.labels
                    || (labels.len() < schema.labels + schema.optional_labels
                        && is_label(members, &schema.content));
                if !labelled {
                    self.block(member, labels, members, &schema.content);
                    return;
                }
                for label in members.iter().filter(|label| label.name != COMMENT) {
                    labels.push(label);
                    self.blocks(member, schema, labels, &label.value);
                    labels.pop();
                }
            }
            Node::Plain if self.source.slice(value.span.clone()) == "null" => {}
            _ => {
                let missing = schema.labels.saturating_sub(labels.len());
                let form = match missing {
                    0 => "an object with its content, or a list of them",
                    _ => "an object whose names are the labels of the blocks",
                };
                let detail = format!("{:?} is a block; its value must be {form}.", member.name);
                self.problem(value.span.clone(), "Incorrect JSON value type", detail);
            }
        }
    }

    fn block(&mut self, member: &Member, labels: &[&Member], content: &[Member], kind: &Content) {
        self.piece(&member.name, &member.name_span);
        for label in labels {
            self.out.push(' ');
            self.piece(&quoted(&label.name), &label.name_span);
        }
        self.out.push_str(" {\n");
        match kind {
            Content::Fields(schema) => self.body(content, schema),
            Content::Arguments | Content::Value => {
                for member in content.iter().filter(|member| member.name != COMMENT) {
                    self.attribute(member, &member.value);
                }
            }
        }
        self.out.push_str("}\n");
    }

    /// `{"dynamic": {"service": {"for_each": ..., "content": {...}}}}`.
    fn dynamic(&mut self, member: &Member, schema: &Schema) {
        let Node::Object(kinds) = &member.value.node else {
            let detail = "The value of \"dynamic\" must be an object whose names are the types of the \
                          blocks to produce.";
            self.problem(member.value.span.clone(), "Incorrect JSON value type", detail);
            return;
        };
        for kind in kinds.iter().filter(|kind| kind.name != COMMENT) {
            let content = match schema.blocks.get(kind.name.as_str()) {
                Some(block) => block.content.clone(),
                // Refused by name once it is read.
                None => Content::Arguments,
            };
            let content = BlockSchema { labels: 0, optional_labels: 0, content };
            let generator = Schema {
                attributes: ["for_each", "iterator", "labels"].into(),
                expressions: ["iterator"].into(),
                blocks: [("content", content)].into(),
            };
            let block =
                BlockSchema { labels: 1, optional_labels: 0, content: Content::Fields(generator) };
            self.blocks(member, &block, &mut vec![kind], &kind.value);
        }
    }

    fn expression(&mut self, item: &Item) {
        match &item.node {
            Node::Plain => {
                let text = self.source.slice(item.span.clone()).to_owned();
                self.piece(&text, &item.span);
            }
            Node::Text(text) => self.template(text, &item.span),
            Node::List(items) => {
                self.piece("[", &(item.span.start..item.span.start + 1));
                for item in items {
                    self.expression(item);
                    self.out.push_str(", ");
                }
                self.piece("]", &(item.span.end - 1..item.span.end));
            }
            Node::Object(members) => {
                if members.len() > ITEMS_PER_BODY {
                    let detail =
                        format!("At most {ITEMS_PER_BODY} items may stand in one pair of braces.");
                    self.problem(item.span.clone(), "Too many items", detail);
                    return;
                }
                self.piece("{", &(item.span.start..item.span.start + 1));
                for member in members {
                    self.template(&member.name, &member.name_span);
                    self.out.push_str(" = ");
                    self.expression(&member.value);
                    self.out.push_str(", ");
                }
                self.piece("}", &(item.span.end - 1..item.span.end));
            }
        }
    }

    /// A text, whose `${...}` and `%{...}` keep their meaning.
    fn template(&mut self, text: &str, written: &Range<usize>) {
        let native = quoted(text);
        if (text.contains("${") || text.contains("%{")) && self.check(&native, written).is_err() {
            return;
        }
        self.piece(&native, written);
    }

    /// Makes sure that a text is one expression, so that it cannot run into what follows it.
    fn check(&mut self, text: &str, written: &Range<usize>) -> Result<(), ()> {
        let alone = Source::new(self.source.file(), text);
        let limits = Limits { source_bytes: self.limits.source_bytes * GROWTH_MAX, ..*self.limits };
        match syntax::parse_expression(&alone, &limits) {
            Ok(_) => Ok(()),
            Err(found) => {
                self.problem(written.clone(), &found.summary, found.detail);
                Err(())
            }
        }
    }
}

/// Whether an object under an optional label is that label: none of its names is a field.
fn is_label(members: &[Member], content: &Content) -> bool {
    let Content::Fields(schema) = content else { return false };
    let mut names = members.iter().map(|member| member.name.as_str());
    !members.is_empty()
        && names.all(|name| !schema.attributes.contains(name) && !schema.blocks.contains_key(name))
}

/// Whether HCL takes a text as a name.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// A text in the native spelling; what stands within `${...}` and `%{...}` is left as it is.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if rest.starts_with("$${") || rest.starts_with("%%{") {
            out.push_str(&rest[..3]);
            at += 3;
            continue;
        }
        if rest.starts_with("${") || rest.starts_with("%{") {
            let end = Skipper::interpolation_length(rest);
            out.push_str(&rest[..end]);
            at += end;
            continue;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
        at += c.len_utf8();
    }
    out.push('"');
    out
}
