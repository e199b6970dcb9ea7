//! Source text to tokens that cover every byte but blanks. Texts in quotes and heredocs are one
//! token each, so that nobody downstream can change what is in them.

use crate::syntax::Skipper;

/// What a token is, as far as spaces depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Newline,
    Comment,
    /// A name or a keyword.
    Word,
    Number,
    Text,
    Heredoc,
    /// `(`, `[` or `{`.
    Open,
    Close,
    Comma,
    /// `.`, `::` and `...`, which stand without spaces.
    Tight,
    Equal,
    /// Any other operator.
    Operator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
}

/// Operators of more than one character, before those they begin with.
const LONG: [&str; 8] = ["...", "=>", "==", "!=", "<=", ">=", "&&", "||"];

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if matches!(first, ' ' | '\t' | '\u{feff}') || (first == '\r' && !rest.starts_with("\r\n"))
        {
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = token(rest, first);
        found.push(Token { kind, text: &rest[..length] });
        at += length;
    }
    found
}

fn token(rest: &str, first: char) -> (Kind, usize) {
    // Looked for in comments only: a long line may hold many tokens.
    let line = || rest.lines().next().map_or(0, |line| line.trim_end_matches('\r').len());
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if let Some(length) = Skipper::heredoc_length(rest) {
        return (Kind::Heredoc, length);
    }
    if let Some(long) = LONG.into_iter().find(|long| rest.starts_with(long)) {
        return (if long == "..." { Kind::Tight } else { Kind::Operator }, long.len());
    }
    match first {
        '\n' => (Kind::Newline, 1),
        '\r' => (Kind::Newline, 2),
        '#' => (Kind::Comment, line()),
        '/' if rest.starts_with("//") => (Kind::Comment, line()),
        '/' if rest.starts_with("/*") => {
            (Kind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        }
        '"' => (Kind::Text, Skipper::text_length(rest)),
        '(' | '[' | '{' => (Kind::Open, 1),
        ')' | ']' | '}' => (Kind::Close, 1),
        ',' => (Kind::Comma, 1),
        ':' if rest.starts_with("::") => (Kind::Tight, 2),
        '.' => (Kind::Tight, 1),
        '=' => (Kind::Equal, 1),
        c if c.is_ascii_digit() => (Kind::Number, number_length(rest)),
        c if c.is_alphabetic() || c == '_' => {
            (Kind::Word, rest.find(|c| !word(c)).unwrap_or(rest.len()))
        }
        c => (Kind::Operator, c.len_utf8()),
    }
}

/// Digits, a fraction and an exponent; a dot that no digit follows is an access.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => at += 1,
            b'.' if digit(at + 1) => at += 1,
            b'e' | b'E' if digit(at + 1) => at += 1,
            b'e' | b'E' if matches!(bytes.get(at + 1), Some(b'+' | b'-')) && digit(at + 2) => {
                at += 2;
            }
            _ => break,
        }
    }
    at
}
