//! Syntax errors in words that help: the parser says where it gave up, this says what probably
//! went wrong there, and what to write instead.

use super::{Open, Skipper, line_length, step};
use crate::diagnostic::{Diagnostic, Source};
use std::ops::Range;

/// The directives that may follow `%{`.
const DIRECTIVES: [&str; 5] = ["if", "else", "endif", "for", "endfor"];

/// The one problem of a text that cannot be parsed.
pub(super) fn syntax_error(source: &Source, error: &hcl_edit::parser::Error) -> Diagnostic {
    let text = source.text();
    let at = error.location().offset().min(text.len());
    let at = (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    let message = error.message();
    let found = redefined(text, at, message)
        .or_else(|| broken_interpolation(text))
        .or_else(|| open_text(text))
        .or_else(|| at_the_end(source, at, message))
        .or_else(|| around(source, at, message));
    let found = found.unwrap_or_else(|| {
        let detail = format!("{}.", sentence(message));
        (word_at(text, at), "Invalid syntax", detail)
    });
    let (span, summary, detail) = found;
    source.error(span, summary, detail)
}

/// A place, a summary and what to do.
type Found = Option<(Range<usize>, &'static str, String)>;

fn redefined(text: &str, at: usize, message: &str) -> Found {
    if !message.contains("redefined attribute") {
        return None;
    }
    let span = word_at(text, at);
    let name = &text[span.clone()];
    let detail =
        format!("The argument {name:?} was already set. Each argument may be set only once.");
    Some((span, "Attribute redefined", detail))
}

/// The first `${...}` or `%{...}` that holds no expression: most often meant for somebody else.
fn broken_interpolation(text: &str) -> Found {
    let mut walk = Walk::new(text);
    while let Some(at) = walk.next() {
        let in_text = matches!(walk.open.last(), Some(Open::Quoted | Open::Heredoc(_)));
        let rest = &text.as_bytes()[at..];
        if !in_text || !(rest.starts_with(b"${") || rest.starts_with(b"%{")) {
            walk.step();
            continue;
        }
        let end = at + Skipper::interpolation_length(&text[at..]);
        let inside = text.get(at + 2..end.saturating_sub(1)).unwrap_or("");
        let inside = inside.trim_matches('~').trim();
        let holds = if rest[0] == b'%' {
            let word = inside.split_whitespace().next().unwrap_or("");
            DIRECTIVES.contains(&word)
        } else {
            // A hash would make the rest of the line a comment.
            !inside.starts_with('#') && hcl_edit::parser::parse_expr(inside).is_ok()
        };
        if holds {
            walk.step();
            continue;
        }
        let line = at + line_length(rest);
        // What is shown ends at the next brace of the line, whatever was found to belong together.
        let shown = text[at..line].find('}').map_or(line, |brace| at + brace + 1);
        let written = text[at..shown].trim_end();
        let (sign, what) = match rest[0] {
            b'%' => ('%', "a directive: if, else, endif, for or endfor"),
            _ => ('$', "an expression"),
        };
        let detail = format!(
            "Between {sign}{{ and }} stands {what}. If this is meant for a shell or for another program, \
             write {sign}{written}, which gives the text {written}."
        );
        return Some((at..at + written.len(), "Invalid interpolation", detail));
    }
    None
}

/// A text in quotes that its line does not close, or a heredoc that nothing closes.
fn open_text(text: &str) -> Found {
    let mut walk = Walk::new(text);
    while let Some(at) = walk.next() {
        if matches!(walk.open.last(), Some(Open::Quoted)) && text.as_bytes()[at] == b'\n' {
            let start = walk.started()?;
            let detail = "The text that begins here is not closed in its line: a quotation mark is \
                          missing. A text of several lines is written as a heredoc: <<EOF, the lines, \
                          and EOF in a line of its own.";
            return Some((start..start + 1, "Text not closed", detail.to_owned()));
        }
        walk.step();
    }
    let start = walk.started()?;
    match walk.open.last() {
        Some(Open::Heredoc(marker)) => {
            let end = start + line_length(&text.as_bytes()[start..]);
            let detail = format!(
                "The heredoc that begins here does not end: a line with {marker} alone is missing."
            );
            Some((start..end, "Heredoc not closed", detail))
        }
        Some(Open::Quoted) => {
            let detail = "The text that begins here is not closed: a quotation mark is missing.";
            Some((start..start + 1, "Text not closed", detail.to_owned()))
        }
        _ => None,
    }
}

/// The parser reached the end, so something is open.
fn at_the_end(source: &Source, at: usize, message: &str) -> Found {
    let text = source.text();
    if !text[at..].trim().is_empty() {
        return None;
    }
    let last = text.trim_end().char_indices().next_back();
    let last = last.map_or(0..0, |(at, c)| at..at + c.len_utf8());
    let Some(start) = unclosed(text) else {
        return Some((last, "Unexpected end of file", format!("{}.", sentence(message))));
    };
    let (opening, closing) = pair(text.as_bytes()[start]);
    let detail = format!(
        "The {opening} here is not closed: a {closing} is missing before the end of the file (line {}).",
        source.position(last.start).line
    );
    Some((start..start + 1, "Unexpected end of file", detail))
}

fn pair(bracket: u8) -> (char, char) {
    match bracket {
        b'[' => ('[', ']'),
        b'(' => ('(', ')'),
        _ => ('{', '}'),
    }
}

/// The bracket that is not closed. Indentation tells which one was forgotten: the first whose
/// closing line stands further to the left than its opening line.
fn unclosed(text: &str) -> Option<usize> {
    // Each line with its first character that is no blank; looked up, since one line may hold many
    // brackets.
    let mut start = 0;
    let lines: Vec<(usize, usize)> = text
        .split_inclusive('\n')
        .map(|line| {
            let here = start;
            start += line.len();
            (here, here + line.len() - line.trim_start_matches([' ', '\t']).len())
        })
        .collect();
    let line_of = |at: usize| {
        let index = lines.partition_point(|(start, _)| *start <= at);
        lines.get(index.saturating_sub(1)).copied().unwrap_or_default()
    };
    let mut walk = Walk::new(text);
    while let Some(at) = walk.next() {
        let depth = walk.open.len();
        let started = walk.started();
        walk.step();
        if walk.open.len() < depth
            && let Some(start) = started
            && matches!(text.as_bytes()[at], b'}' | b']' | b')')
        {
            let ((opening, opened), (closing, closed)) = (line_of(start), line_of(at));
            if closed == at && closed - closing < opened - opening {
                return Some(start);
            }
        }
    }
    walk.starts.first().copied()
}

/// What stands around the place tells what was meant.
fn around(source: &Source, at: usize, message: &str) -> Found {
    let text = source.text();
    let rest = &text[at..];
    let mut walk = Walk::new(text);
    while walk.next().is_some_and(|next| next < at) {
        walk.step();
    }
    let found = |summary, detail: String| Some((word_at(text, at), summary, detail));
    let line_start = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let before = text[line_start..at].trim();
    if rest.starts_with('}') && walk.starts.is_empty() {
        let detail = "This closing brace has no opening brace; there is one too many.";
        return found("Unexpected brace", detail.to_owned());
    }
    if message.contains("xpected `]`") || message.contains("xpected `)`") {
        return between_items(text, at, walk.started());
    }
    if rest.starts_with('\'') {
        let detail = "Texts stand in double quotes, not in single ones.";
        return found("Invalid quotation mark", detail.to_owned());
    }
    if rest.starts_with(';') {
        let detail = "There are no semicolons: an argument ends with its line.";
        return found("Invalid syntax", detail.to_owned());
    }
    if rest.starts_with(':') && !before.is_empty() {
        let detail = format!(
            "An argument is written with an equals sign, {before} = value, and a block with braces, \
             {before} {{ ... }}."
        );
        return found("Invalid syntax", detail);
    }
    if rest.starts_with('"') && before.is_empty() {
        return quoted_name(text, at);
    }
    if message.contains("Invalid attribute; expected `=`")
        || message.to_lowercase().contains("invalid attribute; expected `=`")
    {
        let detail = "A block that is written in one line may hold one argument, and no block. Put a \
                      line break behind the opening brace.";
        return found("Invalid syntax", detail.to_owned());
    }
    if message.contains("xpected newline") {
        let detail = "An argument ends with its line: what follows belongs in a line of its own. A text \
                      of several words stands in quotes.";
        return found("Missing line break", detail.to_owned());
    }
    if message.contains("xpected `{`") && rest.starts_with(['\n', '\r']) {
        let name = before.split_whitespace().next().unwrap_or("name");
        let detail = format!(
            "If this is an argument, an equals sign is missing: {name} = value. If it is a block, its \
             opening brace must stand in this line."
        );
        let span = line_start + text[line_start..at].find(before).unwrap_or(0)..at;
        return Some((span, "Invalid syntax", detail));
    }
    None
}

fn between_items(text: &str, at: usize, start: Option<usize>) -> Found {
    let next = text[at..].trim_start();
    let is_value = next.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '[' | '{'));
    let same_line = !text[at..].starts_with(['\n', '\r']);
    if is_value && same_line {
        let detail = "A comma is missing between two items.";
        return Some((word_at(text, at), "Missing comma", detail.to_owned()));
    }
    let start = start?;
    let (opening, closing) = pair(text.as_bytes()[start]);
    let detail = format!("The {opening} here is not closed: a {closing} or a comma is missing.");
    Some((start..start + 1, "Missing bracket", detail))
}

/// A line that begins with a text in quotes.
fn quoted_name(text: &str, at: usize) -> Found {
    let line = text[at + 1..].lines().next().unwrap_or("");
    let (name, after) = line.split_once('"')?;
    let span = at..at + name.len() + 2;
    if after.trim_start().starts_with('=') {
        let detail = format!("Argument names must not be quoted: write {name} = value.");
        return Some((span, "Invalid argument name", detail));
    }
    let detail = format!(
        "A block begins with its kind, without quotes, such as job {name:?} or group {name:?}."
    );
    Some((span, "Invalid block", detail))
}

/// The word, number or text that starts here, or one character.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let rest = &text[at..];
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let length = match rest.strip_prefix('"') {
        Some(inside) => {
            let line = line_length(rest.as_bytes());
            inside.find('"').map(|end| end + 2).filter(|end| *end <= line).unwrap_or(first)
        }
        None => rest.find(|c| !word(c)).unwrap_or(rest.len()).max(first),
    };
    at..at + length
}

fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A walk over the text that knows what is open, and since where.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open<'t>>,
    starts: Vec<usize>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Walk<'t> {
        let open = vec![Open::Bracket { items: 0, brace: true }];
        Walk { text, at: 0, open, starts: Vec::new() }
    }

    /// The place that the next step starts from; none at the end.
    fn next(&self) -> Option<usize> {
        (self.at < self.text.len()).then_some(self.at)
    }

    fn step(&mut self) {
        let depth = self.open.len();
        let length = step(&mut self.open, self.text, self.at);
        if self.open.len() > depth {
            self.starts.push(self.at);
        } else if self.open.len() < depth {
            self.starts.pop();
        }
        self.at += length;
    }

    /// Where the innermost thing that is open starts.
    fn started(&self) -> Option<usize> {
        self.starts.last().copied()
    }
}
