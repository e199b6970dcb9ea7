//! The canonical form of a file's text: indentation, spaces, and columns of equals signs and
//! comments. Works on tokens and touches the blanks between them only, so that comments, texts and
//! heredocs stay as they are, byte for byte.

mod tokens;

use crate::diagnostic::{Diagnostic, Source};
use crate::limits::Limits;
use crate::syntax::{self, Body};
use hcl_edit::expr::{Array, FuncArgs, Object};
use hcl_edit::structure;
use hcl_edit::visit_mut::{self, VisitMut};
use tokens::{Kind, Token, tokens};

/// The blanks of one level.
const INDENT: usize = 2;
/// Words that no call and no index follows.
const KEYWORDS: [&str; 3] = ["in", "if", "for"];

/// Formats a file. The result is its own formatted form.
///
/// # Errors
/// The syntax error, if the file has one.
pub fn format(file: &str, text: &str, limits: &Limits) -> Result<String, Vec<Diagnostic>> {
    let body = syntax::parse(file, text, limits)?;
    let formatted = layout(text);
    // That the meaning stays is checked on the result itself: a formatter must never harm a file.
    let limits = Limits { source_bytes: usize::MAX, ..*limits };
    let same_tree = syntax::parse(file, &formatted, &limits)
        .is_ok_and(|parsed| without_blanks(&parsed) == without_blanks(&body));
    if same_tree && same_tokens(text, &formatted) {
        return Ok(formatted);
    }
    let detail = "The file is valid, but formatting it would change what it means; it is left as it \
                  is. This is a fault of the formatter: please report it with the file.";
    Err(vec![Source::new(file, text).error(0..0, "Cannot format the file", detail)])
}

/// The tree without the blanks that it counts as part of lists and objects.
fn without_blanks(body: &Body) -> structure::Body {
    struct Clearing;
    impl VisitMut for Clearing {
        fn visit_object_mut(&mut self, node: &mut Object) {
            node.set_trailing("");
            visit_mut::visit_object_mut(self, node);
        }

        fn visit_array_mut(&mut self, node: &mut Array) {
            node.set_trailing("");
            visit_mut::visit_array_mut(self, node);
        }

        fn visit_func_args_mut(&mut self, node: &mut FuncArgs) {
            node.set_trailing("");
            visit_mut::visit_func_args_mut(self, node);
        }
    }
    let mut tree = body.inner().clone();
    Clearing.visit_body_mut(&mut tree);
    tree
}

fn same_tokens(one: &str, other: &str) -> bool {
    let list = |text: &str| -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text.to_owned()).collect()
    };
    list(one) == list(other)
}

/// One line: what stands before its equals sign, that sign with the value, and a comment behind.
#[derive(Default)]
struct Line<'t> {
    indent: usize,
    lead: String,
    assign: String,
    comment: &'t str,
    end: &'t str,
}

impl Line<'_> {
    /// Columns up to the comment.
    fn width(&self) -> usize {
        let assign = self.assign.chars().count();
        self.lead_width() + if assign == 0 { 0 } else { 1 + assign }
    }

    fn lead_width(&self) -> usize {
        self.indent + self.lead.chars().count()
    }
}

fn layout(text: &str) -> String {
    let all = tokens(text);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for raw in all.split_inclusive(|token| token.kind == Kind::Newline) {
        lines.push(line(raw, &mut open));
    }
    align(
        &mut lines,
        |line| !line.assign.is_empty(),
        |line| line.lead_width(),
        |line, pad| {
            line.lead.push_str(&" ".repeat(pad));
        },
    );
    align(
        &mut lines,
        |line| !line.comment.is_empty(),
        |line| line.width(),
        |line, pad| {
            let cell = if line.assign.is_empty() { &mut line.lead } else { &mut line.assign };
            cell.push_str(&" ".repeat(pad));
        },
    );
    let mut out = String::with_capacity(text.len());
    for line in lines {
        let has_content = !(line.lead.is_empty() && line.comment.is_empty());
        if has_content {
            out.push_str(&" ".repeat(line.indent));
        }
        out.push_str(&line.lead);
        if !line.assign.is_empty() {
            out.push(' ');
            out.push_str(&line.assign);
        }
        if !line.comment.is_empty() {
            out.push(' ');
            out.push_str(line.comment);
        }
        out.push_str(line.end);
    }
    out
}

/// Pads neighbouring lines that have a cell, so that it starts in one column.
fn align(
    lines: &mut [Line<'_>],
    has_cell: impl Fn(&Line<'_>) -> bool,
    width: impl Fn(&Line<'_>) -> usize,
    pad: impl Fn(&mut Line<'_>, usize),
) {
    for chain in lines.chunk_by_mut(|one, next| has_cell(one) == has_cell(next)) {
        if chain.first().is_none_or(|line| !has_cell(line)) {
            continue;
        }
        let column = chain.iter().map(&width).max().unwrap_or(0);
        for line in chain {
            let missing = column - width(line);
            pad(line, missing);
        }
    }
}

/// Lays out one line. `open` holds how many brackets each line that opened some has left open;
/// each such line indents what follows by one level, however many brackets it opened.
fn line<'t>(raw: &[Token<'t>], open: &mut Vec<usize>) -> Line<'t> {
    let mut line = Line::default();
    let mut content = raw;
    if let Some((last, before)) = content.split_last()
        && last.kind == Kind::Newline
    {
        line.end = last.text;
        content = before;
    }
    let (opened, closed) = brackets(content);
    let mut left = closed.saturating_sub(opened);
    while left > 0
        && let Some(top) = open.last_mut()
    {
        let taken = left.min(*top);
        *top -= taken;
        left -= taken;
        if *top == 0 {
            open.pop();
        }
    }
    line.indent = INDENT * open.len();
    if opened > closed {
        open.push(opened - closed);
    }
    if content.len() > 1
        && let Some((last, before)) = content.split_last()
        && last.kind == Kind::Comment
    {
        line.comment = last.text;
        content = before;
    }
    let equal = content.iter().skip(1).position(|token| token.kind == Kind::Equal);
    let (lead, assign) = match equal.map(|at| content.split_at(at + 1)) {
        // A value that goes on in the next lines stands right behind its name.
        Some((lead, assign)) if is_balanced(assign) => (lead, assign),
        _ => (content, &[][..]),
    };
    line.lead = spaced(lead);
    line.assign = spaced(assign);
    line
}

fn brackets(tokens: &[Token<'_>]) -> (usize, usize) {
    let count = |kind| tokens.iter().filter(|token| token.kind == kind).count();
    (count(Kind::Open), count(Kind::Close))
}

fn is_balanced(tokens: &[Token<'_>]) -> bool {
    let (opened, closed) = brackets(tokens);
    opened == closed
}

fn spaced(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| tokens[at]);
        let earlier = at.checked_sub(2).map(|at| tokens[at]);
        if let Some(before) = before
            && needs_space(earlier, before, *token)
        {
            out.push(' ');
        }
        out.push_str(token.text);
    }
    out
}

fn needs_space(earlier: Option<Token<'_>>, before: Token<'_>, token: Token<'_>) -> bool {
    let keyword = |token: Token<'_>| token.kind == Kind::Word && KEYWORDS.contains(&token.text);
    match (before.kind, token.kind) {
        (Kind::Comment, _) | (_, Kind::Comment) => true,
        (Kind::Tight, Kind::Close) => before.text == "..." && token.text == "}",
        (Kind::Tight, _) => before.text == "...",
        (_, Kind::Tight | Kind::Comma) => false,
        (Kind::Comma, _) => true,
        (Kind::Open, Kind::Close) => false,
        (Kind::Open, _) => before.text == "{",
        (_, Kind::Close) => token.text == "}",
        _ if is_unary(earlier, before) => false,
        (Kind::Word | Kind::Text | Kind::Close, Kind::Open) => {
            let follows = match token.text {
                "(" => before.kind == Kind::Word,
                "[" => true,
                _ => false,
            };
            !follows || keyword(before)
        }
        _ => true,
    }
}

/// Whether an operator stands before its only operand.
fn is_unary(earlier: Option<Token<'_>>, operator: Token<'_>) -> bool {
    if operator.kind != Kind::Operator || !matches!(operator.text, "-" | "!") {
        return false;
    }
    let Some(earlier) = earlier else { return true };
    match earlier.kind {
        Kind::Word => KEYWORDS.contains(&earlier.text),
        Kind::Number | Kind::Text | Kind::Heredoc | Kind::Close => false,
        // Behind the star of a splat a minus has two operands; a splat ends in a bracket or dot.
        _ => true,
    }
}

#[cfg(test)]
mod tests;
