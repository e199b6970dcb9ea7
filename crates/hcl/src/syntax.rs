//! Text to tree: a view of `hcl-edit`'s tree with spans, behind checks that bound the parser's work.

mod explain;

use crate::diagnostic::{Diagnostic, Source};
use crate::limits::{ITEMS_PER_BODY, Limits};
use explain::syntax_error;
use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::structure;
use std::ops::Range;
use std::sync::Arc;

/// A parsed file, or the content of a block in it.
#[derive(Debug, Clone)]
pub struct Body {
    source: Arc<Source>,
    inner: Arc<structure::Body>,
}

/// An attribute: `name = expression`.
#[derive(Debug, Clone, Copy)]
pub struct Attribute<'b> {
    inner: &'b structure::Attribute,
}

/// A block: `kind "label" { ... }`.
#[derive(Debug, Clone, Copy)]
pub struct Block<'b> {
    inner: &'b structure::Block,
}

/// Parses the text of an HCL file. A syntax error is reported alone, since what follows it cannot
/// be trusted.
pub fn parse(file: &str, text: &str, limits: &Limits) -> Result<Body, Vec<Diagnostic>> {
    parse_source(Source::new(file, text), limits)
}

/// The same for a text that is held already.
pub(crate) fn parse_source(source: Arc<Source>, limits: &Limits) -> Result<Body, Vec<Diagnostic>> {
    check_size(&source, limits).map_err(|problem| vec![problem])?;
    match hcl_edit::parser::parse_body(source.text()) {
        Ok(inner) => Ok(Body { source, inner: Arc::new(inner) }),
        Err(error) => Err(vec![syntax_error(&source, &error)]),
    }
}

/// Parses one expression that stands alone, such as the value of a `-var` flag.
pub(crate) fn parse_expression(
    source: &Arc<Source>,
    limits: &Limits,
) -> Result<Expression, Diagnostic> {
    check_size(source, limits)?;
    hcl_edit::parser::parse_expr(source.text()).map_err(|error| syntax_error(source, &error))
}

impl Body {
    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    pub(crate) fn inner(&self) -> &structure::Body {
        &self.inner
    }

    /// The attributes in the order written.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'_>> {
        self.inner.attributes().map(|inner| Attribute { inner })
    }

    /// The blocks in the order written.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.inner.blocks().map(|inner| Block { inner })
    }

    /// True if there is neither an attribute nor a block.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl<'b> Attribute<'b> {
    pub(crate) fn new(inner: &'b structure::Attribute) -> Attribute<'b> {
        Attribute { inner }
    }

    /// The name.
    pub fn name(&self) -> &'b str {
        self.inner.key.as_str()
    }

    /// Where the name stands.
    pub fn name_span(&self) -> Range<usize> {
        self.inner.key.span().unwrap_or_default()
    }

    /// Where the expression stands.
    pub fn value_span(&self) -> Range<usize> {
        self.inner.value.span().unwrap_or_default()
    }

    pub(crate) fn expr(&self) -> &'b Expression {
        &self.inner.value
    }
}

impl<'b> Block<'b> {
    pub(crate) fn new(inner: &'b structure::Block) -> Block<'b> {
        Block { inner }
    }

    pub(crate) fn body(&self) -> &'b structure::Body {
        &self.inner.body
    }

    /// The word it starts with.
    pub fn kind(&self) -> &'b str {
        self.inner.ident.as_str()
    }

    /// Where that word stands.
    pub fn kind_span(&self) -> Range<usize> {
        self.inner.ident.span().unwrap_or_default()
    }

    /// The labels and where they stand.
    pub fn labels(&self) -> Vec<(String, Range<usize>)> {
        let labels = self.inner.labels.iter();
        labels.map(|label| (label.as_str().to_owned(), label.span().unwrap_or_default())).collect()
    }

    /// Where the content stands, without a closing brace that may follow.
    pub fn body_span(&self) -> Range<usize> {
        self.inner.body.span().unwrap_or_default()
    }

    /// The attributes in the order written.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'b>> {
        self.inner.body.attributes().map(|inner| Attribute { inner })
    }

    /// The blocks in the order written.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'b>> {
        self.inner.body.blocks().map(|inner| Block { inner })
    }
}

/// One pair of brackets, quotes or heredoc markers that is open.
enum Open<'t> {
    Bracket { items: usize, brace: bool },
    Quoted,
    Heredoc(&'t str),
}

/// Walks over the tokens once, in linear time, and refuses what would cost the parser more.
fn check_size(source: &Source, limits: &Limits) -> Result<(), Diagnostic> {
    let text = source.text();
    if text.len() > limits.source_bytes {
        let detail = format!(
            "The file has {} bytes; at most {} are allowed.",
            text.len(),
            limits.source_bytes
        );
        return Err(source.error(0..0, "File too large", detail));
    }
    let bytes = text.as_bytes();
    let mut open: Vec<Open<'_>> = vec![Open::Bracket { items: 0, brace: true }];
    let mut at = 0;
    while at < bytes.len() {
        if let Some(Open::Bracket { items, brace: true }) = open.last_mut()
            && matches!(bytes[at], b'=' | b':')
        {
            *items += 1;
            if *items > ITEMS_PER_BODY {
                let detail =
                    format!("At most {ITEMS_PER_BODY} items may stand in one pair of braces.");
                return Err(source.error(at..at + 1, "Too many items", detail));
            }
        }
        let step = step(&mut open, text, at);
        if open.len() > limits.nesting_depth {
            let detail = format!("Nesting is allowed {} levels deep.", limits.nesting_depth);
            return Err(source.error(at..at + 1, "Nesting too deep", detail));
        }
        at += step;
    }
    Ok(())
}

/// One step through whatever is open; gives its length.
fn step<'t>(open: &mut Vec<Open<'t>>, text: &'t str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match open.last() {
        Some(Open::Quoted) => match bytes[at] {
            b'"' => close(open),
            b'\\' => 2,
            _ => template_step(open, &bytes[at..]),
        },
        Some(Open::Heredoc(marker)) => {
            let line_start = at == 0 || bytes[at - 1] == b'\n';
            if line_start && ends_heredoc(text, at, marker) {
                close(open)
            } else {
                template_step(open, &bytes[at..])
            }
        }
        Some(Open::Bracket { .. }) | None => bracket_step(open, text, at),
    }
}

fn close(open: &mut Vec<Open<'_>>) -> usize {
    // The outermost body stays: a closing brace too many is the parser's to report.
    if open.len() > 1 {
        open.pop();
    }
    1
}

/// One step in literal text, where `${` and `%{` open an expression.
fn template_step(open: &mut Vec<Open<'_>>, rest: &[u8]) -> usize {
    if rest.starts_with(b"$${") || rest.starts_with(b"%%{") {
        return 3;
    }
    if rest.starts_with(b"${") || rest.starts_with(b"%{") {
        open.push(Open::Bracket { items: 0, brace: false });
        return 2;
    }
    1
}

/// One step outside of literal text.
fn bracket_step<'t>(open: &mut Vec<Open<'t>>, text: &'t str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    match rest[0] {
        b'{' => open.push(Open::Bracket { items: 0, brace: true }),
        b'[' | b'(' => open.push(Open::Bracket { items: 0, brace: false }),
        b'}' | b']' | b')' => return close(open),
        b'"' => open.push(Open::Quoted),
        b'#' => return line_length(rest),
        b'/' if rest.starts_with(b"//") => return line_length(rest),
        b'/' if rest.starts_with(b"/*") => {
            return text
                .get(at..)
                .and_then(|rest| rest.find("*/"))
                .map_or(rest.len(), |end| end + 2);
        }
        b'<' => {
            if let Some(marker) = text.get(at..).and_then(heredoc_marker) {
                open.push(Open::Heredoc(marker));
                return line_length(rest) + 1;
            }
        }
        _ => {}
    }
    1
}

/// The marker of a heredoc that starts here.
fn heredoc_marker(text: &str) -> Option<&str> {
    let line = text.strip_prefix("<<")?.lines().next()?;
    let marker = line.strip_prefix('-').unwrap_or(line).trim();
    let ident = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    (!marker.is_empty() && marker.chars().all(ident)).then_some(marker)
}

/// Tells how far texts and heredocs reach, by the steps that the check of sizes takes.
pub(crate) struct Skipper;

impl Skipper {
    /// How far an interpolation reaches, with the texts and braces in it.
    pub(crate) fn interpolation_length(text: &str) -> usize {
        // True for an open text, false for an open brace.
        let mut open = vec![false];
        let bytes = text.as_bytes();
        let mut at = 2;
        while at < bytes.len() {
            let in_text = open.last() == Some(&true);
            match bytes[at] {
                b'\\' if in_text => at += 1,
                b'"' if in_text => drop(open.pop()),
                b'"' => open.push(true),
                b'$' | b'%' if in_text && bytes.get(at + 1) == Some(&b'{') => {
                    open.push(false);
                    at += 1;
                }
                b'{' if !in_text => open.push(false),
                b'}' if !in_text => drop(open.pop()),
                _ => {}
            }
            at += 1;
            if open.is_empty() {
                return at;
            }
        }
        text.len()
    }

    /// The length of the text in quotes that starts here.
    pub(crate) fn text_length(text: &str) -> usize {
        Skipper::length(text, 1, Open::Quoted)
    }

    /// The length of a heredoc, up to the end of its marker, if one starts here.
    pub(crate) fn heredoc_length(text: &str) -> Option<usize> {
        let marker = heredoc_marker(text)?;
        let start = (line_length(text.as_bytes()) + 1).min(text.len());
        let end = Skipper::length(text, start, Open::Heredoc(marker));
        // The step at the closing marker is one byte; the line belongs to the heredoc.
        let line = text.get(end..).map_or(0, |rest| line_length(rest.as_bytes()));
        let close = text.get(end - 1..end + line).unwrap_or("").trim_end();
        Some((end - 1 + close.len()).min(text.len()))
    }

    fn length<'t>(text: &'t str, start: usize, first: Open<'t>) -> usize {
        let bytes = text.as_bytes();
        let mut open = vec![Open::Bracket { items: 0, brace: true }, first];
        let mut at = start;
        while at < bytes.len() && open.len() > 1 {
            at += step(&mut open, text, at);
        }
        (at.min(text.len())..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len())
    }
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

fn ends_heredoc(text: &str, at: usize, marker: &str) -> bool {
    let Some(rest) = text.get(at..) else { return false };
    let rest = rest.trim_start_matches([' ', '\t']);
    rest.strip_prefix(marker).is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        match parse("t", text, &Limits::default()) {
            Ok(_) => "fine".to_owned(),
            Err(problems) => problems[0].summary.clone(),
        }
    }

    #[test]
    fn hostile_texts_are_refused_before_the_parser_sees_them() {
        assert_eq!(problem(&format!("a = {}", "[".repeat(100_000))), "Nesting too deep");
        assert_eq!(problem(&"a {".repeat(1000)), "Nesting too deep");
        assert_eq!(problem(&format!("a = {}", "\"${".repeat(1000))), "Nesting too deep");
        let items: String = (0..5000).map(|i| format!("k{i}=1,")).collect();
        assert_eq!(problem(&format!("a = {{{items}}}")), "Too many items");
        assert_eq!(problem(&" ".repeat(2 << 20)), "File too large");
        assert_eq!(problem(&format!("a = \"{}\"", "{[=:".repeat(50_000))), "fine");
        assert_eq!(problem(&format!("a = <<E\n{}\n  E\n", "{[=:\"".repeat(50_000))), "fine");
    }

    #[test]
    fn deepest_allowed_nesting_fits_the_stack_of_a_test_thread() {
        let depth = crate::limits::NESTING_DEPTH - 2;
        assert_eq!(problem(&format!("a = {}{}", "[".repeat(depth), "]".repeat(depth))), "fine");
        assert_eq!(problem(&format!("a = {}1{}", "(".repeat(depth), ")".repeat(depth))), "fine");
    }
}
