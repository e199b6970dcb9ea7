//! Reading a body by its schema: one line per field, all problems at once.
//!
//! A reader is a function from [`Fields`] to a value of the caller's. Each line names a field; what
//! the body holds beyond the named fields is reported when the function returns.

use crate::context::{EvalContext, Scope};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::duration::parse_duration;
use crate::dynamic::{self, Instance};
use crate::eval;
use crate::limits;
use crate::schema::{BlockSchema, Content, Schema};
use crate::suggest;
use crate::syntax::{Attribute, Block, Body};
use crate::value::Value;
use hcl_edit::Span;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::structure;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// The fields of one body: the file's, or a block's.
pub struct Fields<'f> {
    body: &'f structure::Body,
    scope: &'f Scope<'f>,
    problems: &'f RefCell<Diagnostics>,
    labels: Vec<(String, Range<usize>)>,
    span: Range<usize>,
    known_attributes: Vec<&'static str>,
    known_blocks: Vec<&'static str>,
    /// Everything is read, so nothing is unknown.
    open: bool,
    /// Where the names asked for are noted, when that is all that is wanted.
    recorder: Option<&'f RefCell<Schema>>,
}

/// Reads a whole file; gives what `read` made of it, and every problem.
pub fn read<T>(
    body: &Body,
    ctx: &EvalContext<'_>,
    read: impl FnOnce(&mut Fields<'_>) -> T,
) -> (T, Diagnostics) {
    let problems = RefCell::new(Vec::new());
    let scope = Scope::root(ctx);
    let mut fields = Fields::new(body.inner(), Vec::new(), 0..0, &scope, &problems);
    let result = read(&mut fields);
    fields.report_unknown();
    drop(fields);
    (result, problems.into_inner())
}

impl<'f> Fields<'f> {
    fn new(
        body: &'f structure::Body,
        labels: Vec<(String, Range<usize>)>,
        span: Range<usize>,
        scope: &'f Scope<'f>,
        problems: &'f RefCell<Diagnostics>,
    ) -> Fields<'f> {
        Fields {
            body,
            scope,
            problems,
            labels,
            span,
            known_attributes: Vec::new(),
            known_blocks: Vec::new(),
            open: false,
            recorder: None,
        }
    }

    /// Fields of an empty body that only note what is asked for.
    pub(crate) fn recording(
        body: &'f structure::Body,
        scope: &'f Scope<'f>,
        problems: &'f RefCell<Diagnostics>,
        recorder: &'f RefCell<Schema>,
    ) -> Fields<'f> {
        let mut fields = Fields::new(body, Vec::new(), 0..0, scope, problems);
        fields.recorder = Some(recorder);
        fields
    }

    fn know(&mut self, attribute: &'static str) {
        if let Some(recorder) = self.recorder {
            recorder.borrow_mut().attributes.insert(attribute);
        }
        self.known_attributes.push(attribute);
    }

    fn note_block(&self, kind: &'static str, labels: &[&str], content: Content) {
        if let Some(recorder) = self.recorder {
            let optional_labels = labels.iter().filter(|label| label.ends_with('?')).count();
            let labels = labels.len() - optional_labels;
            let block = BlockSchema { labels, optional_labels, content };
            recorder.borrow_mut().blocks.insert(kind, block);
        }
    }

    /// A label of the block; empty if it is missing, which is reported already.
    pub fn label(&self, index: usize) -> String {
        self.labels.get(index).map_or_else(String::new, |(label, _)| label.clone())
    }

    /// A label that may be left out.
    pub fn optional_label(&self, index: usize) -> Option<String> {
        self.labels.get(index).map(|(label, _)| label.clone())
    }

    /// Where the block starts: its first word.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Where the value of an attribute stands, if it is there.
    pub fn value_span(&self, name: &str) -> Option<Range<usize>> {
        self.find(name).map(|attribute| attribute.value_span())
    }

    /// Whether the attribute is written, even as null.
    pub fn is_set(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Reports an error of the caller's.
    pub fn error(&self, span: Range<usize>, summary: &str, detail: impl Into<String>) {
        self.report(self.scope.ctx().source().error(span, summary, detail));
    }

    /// Reports a warning of the caller's.
    pub fn warning(&self, span: Range<usize>, summary: &str, detail: impl Into<String>) {
        self.report(self.scope.ctx().source().warning(span, summary, detail));
    }

    /// Reports that the value of an attribute will not do; at the block if it is not there.
    pub fn reject(&self, name: &str, detail: impl Into<String>) {
        let span = self.value_span(name).unwrap_or_else(|| self.span());
        self.error(span, "Unsuitable value", detail);
    }

    fn report(&self, problem: Diagnostic) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < limits::DIAGNOSTICS && !problem.is_consequence() {
            problems.push(problem);
        }
    }

    fn find(&self, name: &str) -> Option<Attribute<'f>> {
        self.body.get_attribute(name).map(Attribute::new)
    }

    /// Any value, null included; none if the attribute is absent or its expression fails.
    pub fn value_or_null(&mut self, name: &'static str) -> Option<Value> {
        self.know(name);
        let attribute = self.find(name)?;
        match eval::expression(attribute.expr(), self.scope) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.report(*problem);
                None
            }
        }
    }

    /// Any value but null, which counts as absent.
    pub fn value(&mut self, name: &'static str) -> Option<Value> {
        self.value_or_null(name).filter(|value| !value.is_null())
    }

    /// Reads a value by a conversion of the caller's, whose error says what is required.
    pub fn convert<T>(
        &mut self,
        name: &'static str,
        convert: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(name)?;
        match convert(&value) {
            Ok(result) => Some(result),
            Err(reason) => {
                let span = self.value_span(name).unwrap_or_else(|| self.span());
                let detail = format!("Unsuitable value for {name:?}: {reason}");
                self.error(span, "Unsuitable value type", detail);
                None
            }
        }
    }

    /// A text; numbers and bools are converted.
    pub fn string(&mut self, name: &'static str) -> Option<String> {
        self.convert(name, |value| {
            value.to_text().ok_or_else(|| format!("string required, not {}", value.described()))
        })
    }

    /// A bool; the texts `true` and `false` are converted.
    pub fn bool(&mut self, name: &'static str) -> Option<bool> {
        self.convert(name, |value| {
            value.to_bool().ok_or_else(|| {
                format!("a bool is required, true or false, not {}", value.described())
            })
        })
    }

    /// A whole number.
    pub fn int(&mut self, name: &'static str) -> Option<i64> {
        self.int_within(name, i64::MIN, i64::MAX)
    }

    /// A whole number within bounds.
    pub fn int_within(&mut self, name: &'static str, least: i64, most: i64) -> Option<i64> {
        self.convert(name, |value| {
            let number = value.to_number().ok_or_else(|| no_number(value))?;
            let int = number.as_i64().filter(|int| (least..=most).contains(int));
            int.ok_or_else(|| match (least, most) {
                (i64::MIN, i64::MAX) => "value must be a whole number".to_owned(),
                _ => format!("value must be a whole number, between {least} and {most}"),
            })
        })
    }

    /// A number.
    pub fn float(&mut self, name: &'static str) -> Option<f64> {
        self.convert(name, |value| {
            value.to_number().map(|n| n.as_f64()).ok_or_else(|| no_number(value))
        })
    }

    /// A duration in nanoseconds: `"1h30m"`, or a whole number of nanoseconds.
    pub fn duration(&mut self, name: &'static str) -> Option<i64> {
        self.convert(name, |value| match value {
            Value::Number(number) => number
                .as_i64()
                .ok_or_else(|| "a whole number of nanoseconds is required".to_owned()),
            Value::String(text) => parse_duration(text).ok_or_else(|| no_duration(text)),
            _ => Err("a duration such as \"1h30m\" is required".to_owned()),
        })
    }

    /// A list of texts.
    pub fn string_list(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.convert(name, |value| match value {
            Value::List(items) => items
                .iter()
                .map(|item| item.to_text().ok_or_else(|| "list of string required".to_owned()))
                .collect(),
            other => {
                Err(format!("list of string required, such as [\"a\"], not {}", other.described()))
            }
        })
    }

    /// A map of texts, written as an attribute (`meta = { ... }`) or as a block (`meta { ... }`).
    /// Entries that are null are left out.
    pub fn string_map(&mut self, name: &'static str) -> Option<BTreeMap<String, String>> {
        let from_block = self.value_block(name);
        let is_set = self.is_set(name);
        let from_attribute = self.convert(name, text_map);
        match (from_block, from_attribute) {
            (Some(_), _) if is_set => {
                let detail = format!("{name:?} is given both as an argument and as a block.");
                let span = self.value_span(name).unwrap_or_else(|| self.span());
                self.error(span, "Attribute redefined", detail);
                None
            }
            (Some(value), _) => text_map(&value)
                .map_err(|reason| {
                    let span = self.first_block(name).map_or(self.span(), |b| b.kind_span());
                    let detail = format!("Unsuitable value in {name:?}: {reason}");
                    self.error(span, "Unsuitable value type", detail);
                })
                .ok(),
            (None, from_attribute) => from_attribute,
        }
    }

    fn first_block(&self, kind: &str) -> Option<Block<'f>> {
        self.body.blocks().map(Block::new).find(|block| dynamic::kind_of(*block).0 == kind)
    }

    /// Where an argument or the first block of a name stands, if there is one.
    pub fn place(&self, name: &str) -> Option<Range<usize>> {
        let attribute = self.find(name).map(|attribute| attribute.name_span());
        attribute.or_else(|| self.first_block(name).map(|block| block.kind_span()))
    }

    /// Where a name stands in a map that is written as a block or as an attribute; at the map, or at
    /// this block, if it is not written there.
    pub fn place_in(&self, map: &str, name: &str) -> Range<usize> {
        if let Some(block) = self.first_block(map) {
            let attribute = block.attributes().find(|attribute| attribute.name() == name);
            let inner = || block.blocks().find(|block| dynamic::kind_of(*block).0 == name);
            return attribute
                .map(|attribute| attribute.name_span())
                .or_else(|| inner().map(|block| dynamic::kind_of(block).1))
                .unwrap_or_else(|| block.kind_span());
        }
        let Some(attribute) = self.find(map) else { return self.span() };
        if let Expression::Object(items) = attribute.expr() {
            let is_named = |key: &ObjectKey| match key {
                ObjectKey::Ident(ident) => ident.as_str() == name,
                ObjectKey::Expression(Expression::String(text)) => text.value() == name,
                ObjectKey::Expression(_) => false,
            };
            let key = items.iter().map(|(key, _)| key).find(|key| is_named(key));
            if let Some(span) = key.and_then(Span::span) {
                return span;
            }
        }
        attribute.name_span()
    }

    /// Reports attributes that must be there and are not.
    pub fn require(&self, names: &[&str]) {
        for name in names {
            if !self.is_set(name) {
                let detail =
                    format!("The argument {name:?} is required, but no definition was found.");
                self.error(self.span(), "Missing required argument", detail);
            }
        }
    }

    /// All blocks of a kind, in the order written, with `dynamic` blocks expanded. `labels` names
    /// the labels; one that ends in `?` may be left out.
    pub fn blocks<T>(
        &mut self,
        kind: &'static str,
        labels: &[&str],
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Vec<T> {
        let mut results = Vec::new();
        let problems = self.problems;
        if self.recorder.is_some() {
            let inner = RefCell::default();
            read(&mut Fields::recording(self.body, self.scope, problems, &inner));
            self.note_block(kind, labels, Content::Fields(inner.into_inner()));
            return results;
        }
        self.each(kind, &mut |instance| {
            let Instance { body, labels: given, span, scope } = instance;
            let mut fields = Fields::new(body, given, span, scope, problems);
            fields.check_labels(kind, labels);
            results.push(read(&mut fields));
            fields.report_unknown();
        });
        results
    }

    /// The one block of a kind that may be there; a second is reported.
    pub fn block<T>(
        &mut self,
        kind: &'static str,
        labels: &[&str],
        mut read: impl FnMut(&mut Fields<'_>) -> T,
    ) -> Option<T> {
        let mut first: Option<Range<usize>> = None;
        let results = self.blocks(kind, labels, |fields| {
            match &first {
                None => first = Some(fields.span()),
                Some(first) => {
                    let source = fields.scope.ctx().source();
                    let at = source.position(first.start);
                    let detail = format!(
                        "Only one {kind} block is allowed. Another was defined at {}:{},{}.",
                        source.file(),
                        at.line,
                        at.column
                    );
                    fields.error(fields.span(), &format!("Duplicate {kind} block"), detail);
                }
            }
            read(fields)
        });
        results.into_iter().next()
    }

    /// A block without a schema as an object: attributes that are not null, and nested blocks as
    /// lists of objects, those with labels under their labels.
    pub fn value_block(&mut self, kind: &'static str) -> Option<Value> {
        let mut result: Option<(Value, Range<usize>)> = None;
        let problems = self.problems;
        self.note_block(kind, &[], Content::Value);
        self.each(kind, &mut |instance| {
            let mut fields = Fields::new(
                instance.body,
                instance.labels,
                instance.span,
                instance.scope,
                problems,
            );
            fields.check_labels(kind, &[]);
            let value = fields.everything();
            match &result {
                None => result = Some((value, fields.span())),
                Some(_) => {
                    let detail = format!("Only one {kind} block is allowed.");
                    fields.error(fields.span(), &format!("Duplicate {kind} block"), detail);
                }
            }
        });
        result.map(|(value, _)| value)
    }

    /// All fields without a schema, in the form of [`Fields::value_block`].
    pub fn everything(&mut self) -> Value {
        self.open = true;
        let mut object = BTreeMap::new();
        for attribute in self.body.attributes().map(Attribute::new) {
            match eval::expression(attribute.expr(), self.scope) {
                Ok(Value::Null) => {}
                Ok(value) => {
                    object.insert(attribute.name().to_owned(), value);
                }
                Err(problem) => self.report(*problem),
            }
        }
        for block in self.body.blocks().map(Block::new) {
            let (kind, _) = dynamic::kind_of(block);
            let problems = self.problems;
            let outcome = dynamic::instances(block, self.scope, &mut |instance| {
                let Instance { body, labels, span, scope } = instance;
                let mut fields = Fields::new(body, Vec::new(), span, scope, problems);
                let inner =
                    labels.into_iter().rev().fold(fields.everything(), |inner, (label, _)| {
                        Value::Object(BTreeMap::from([(label, Value::List(vec![inner]))]))
                    });
                match object.entry(kind.clone()).or_insert_with(|| Value::List(Vec::new())) {
                    Value::List(items) => items.push(inner),
                    _ => {
                        let detail =
                            format!("{kind:?} is given both as an argument and as a block.");
                        fields.error(fields.span(), "Attribute redefined", detail);
                    }
                }
            });
            if let Err(problem) = outcome {
                self.report(*problem);
            }
        }
        Value::Object(object)
    }

    /// Names blocks that somebody else reads.
    pub fn ignore_blocks(&mut self, kinds: &[&'static str]) {
        self.known_blocks.extend(kinds);
    }

    /// Names attributes that somebody else reads, or that have no meaning any more.
    pub fn ignore_attributes(&mut self, names: &[&'static str]) {
        names.iter().for_each(|name| self.know(name));
    }

    fn each(&mut self, kind: &'static str, each: &mut dyn FnMut(Instance<'_, 'f>)) {
        self.known_blocks.push(kind);
        for block in self.body.blocks().map(Block::new) {
            if dynamic::kind_of(block).0 != kind {
                continue;
            }
            if let Err(problem) = dynamic::instances(block, self.scope, each) {
                self.report(*problem);
            }
        }
    }

    fn check_labels(&self, kind: &str, names: &[&str]) {
        let needed = names.iter().filter(|name| !name.ends_with('?')).count();
        let list: Vec<&str> = names.iter().map(|name| name.trim_end_matches('?')).collect();
        let list = list.join(", ");
        if let Some(missing) = names[..needed].get(self.labels.len()) {
            let places: Vec<String> =
                names[..needed].iter().map(|name| format!("{name:?}")).collect();
            let detail = format!(
                "All {kind} blocks must have {needed} labels ({list}): {kind} {} {{ ... }}.",
                places.join(" ")
            );
            self.error(self.span(), &format!("Missing {missing} for {kind}"), detail);
        }
        if let Some((_, span)) = self.labels.get(names.len()) {
            let detail = match names.len() {
                0 => format!("No labels are expected for {kind} blocks."),
                count => format!("Only {count} labels ({list}) are expected for {kind} blocks."),
            };
            self.error(span.clone(), &format!("Extraneous label for {kind}"), detail);
        }
    }

    /// Reports what no line of the reader has named.
    fn report_unknown(&self) {
        if self.open {
            return;
        }
        for attribute in self.body.attributes().map(Attribute::new) {
            let name = attribute.name();
            if self.known_attributes.contains(&name) {
                continue;
            }
            let hint = if self.known_blocks.contains(&name) {
                format!(" Did you mean to define a block of type {name:?}?")
            } else {
                let attributes = self.known_attributes.iter().copied();
                suggest::hint(name, attributes.chain(self.known_blocks.iter().copied()))
            };
            let detail = format!("An argument named {name:?} is not expected here.{hint}");
            self.error(attribute.name_span(), "Unsupported argument", detail);
        }
        for block in self.body.blocks().map(Block::new) {
            let (kind, span) = dynamic::kind_of(block);
            if self.known_blocks.contains(&kind.as_str()) {
                continue;
            }
            let hint = if self.known_attributes.contains(&kind.as_str()) {
                format!(" Did you mean to define argument {kind:?}? If so, use the equals sign.")
            } else {
                suggest::hint(&kind, self.known_blocks.iter().copied())
            };
            let detail = format!("Blocks of type {kind:?} are not expected here.{hint}");
            self.error(span, "Unsupported block type", detail);
        }
    }
}

fn no_number(value: &Value) -> String {
    let text = value.to_text().unwrap_or_default();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    match &text[..digits] {
        "" => format!("a number is required, not {}", value.described()),
        number => format!(
            "a number is required, not {}; write it without a unit: {number}",
            value.described()
        ),
    }
}

fn no_duration(text: &str) -> String {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let advice = match (number.parse::<u32>(), unit) {
        (Ok(number), "") => format!("a unit is missing; write for example \"{number}s\""),
        (Ok(days), "d" | "day" | "days") => {
            format!("the longest unit is the hour; write \"{}h\"", u64::from(days) * 24)
        }
        _ => "write for example \"1h30m\" or \"45s\"; units are h, m, s, ms, us and ns".to_owned(),
    };
    format!("invalid duration {text:?}; {advice}")
}

fn text_map(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let Value::Object(items) = value else {
        return Err(format!(
            "map of string required, such as {{ name = \"value\" }}, not {}",
            value.described()
        ));
    };
    let present = items.iter().filter(|(_, item)| !item.is_null());
    present
        .map(|(key, item)| match item.to_text() {
            Some(text) => Ok((key.clone(), text)),
            None => Err(format!("element {key:?}: string required")),
        })
        .collect()
}
