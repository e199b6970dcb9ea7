//! Tokens of the old style of HCL, and of JSON, which shares them.

use crate::diagnostic::{Diagnostic, Source};
use crate::number::Number;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A bare word: a name, `true`, `false` or `null`.
    Word(String),
    Text(String),
    Number(Number),
    /// One of `{ } [ ] = : ,`.
    Mark(char),
    End,
}

/// Whose rules texts follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Hcl,
    Json,
}

pub(super) struct Lexer<'s> {
    source: &'s Source,
    style: Style,
    at: usize,
}

pub(super) type Lexed = Result<(Token, Range<usize>), Box<Diagnostic>>;

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s Source, style: Style) -> Lexer<'s> {
        let bom = if source.text().starts_with('\u{feff}') { 3 } else { 0 };
        Lexer { source, style, at: bom }
    }

    fn rest(&self) -> &'s str {
        &self.source.text()[self.at..]
    }

    pub(super) fn fail<T>(
        &self,
        span: Range<usize>,
        detail: impl Into<String>,
    ) -> Result<T, Box<Diagnostic>> {
        Err(Box::new(self.source.error(span, "Invalid syntax", detail)))
    }

    /// The next token and where it stands.
    pub(super) fn next(&mut self) -> Lexed {
        self.skip_blanks()?;
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, start..start));
        };
        let token = match first {
            '{' | '}' | '[' | ']' | '=' | ':' | ',' => {
                self.at += 1;
                Token::Mark(first)
            }
            '"' => Token::Text(self.quoted()?),
            '<' if rest.starts_with("<<") => Token::Text(self.heredoc()?),
            '0'..='9' | '-' | '+' | '.' => self.number()?,
            c if c.is_alphabetic() || c == '_' => {
                let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
                let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
                self.at += end;
                Token::Word(rest[..end].to_owned())
            }
            c => {
                return self
                    .fail(start..start + c.len_utf8(), format!("Unexpected character {c:?}."));
            }
        };
        Ok((token, start..self.at))
    }

    fn skip_blanks(&mut self) -> Result<(), Box<Diagnostic>> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return self.fail(self.at..self.at + 2, "The comment is not closed.");
                };
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn number(&mut self) -> Result<Token, Box<Diagnostic>> {
        let rest = self.rest();
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let text = &rest[..end];
        let start = self.at;
        self.at += end;
        let number = match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok().map(Number::Int),
            None => Number::parse(text),
        };
        match number {
            Some(number) => Ok(Token::Number(number)),
            None => self.fail(start..self.at, format!("{text:?} is not a number.")),
        }
    }

    fn quoted(&mut self) -> Result<String, Box<Diagnostic>> {
        let start = self.at;
        let mut out = String::new();
        // An interpolation is text; quotes within its braces do not end the string.
        let mut braces = 0_usize;
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' if braces == 0 => {
                    self.at = start + offset + 1;
                    return Ok(out);
                }
                '\n' if braces == 0 => break,
                '$' if self.style == Style::Hcl && matches!(chars.peek(), Some((_, '{'))) => {
                    chars.next();
                    braces += 1;
                    out.push_str("${");
                }
                '{' if braces > 0 => {
                    braces += 1;
                    out.push(c);
                }
                '}' if braces > 0 => {
                    braces -= 1;
                    out.push(c);
                }
                '\\' if braces == 0 => {
                    let Some(escaped) = escape(&mut chars) else {
                        let at = start + offset;
                        return self.fail(at..at + 1, "Unknown escape sequence.");
                    };
                    out.push(escaped);
                }
                c => out.push(c),
            }
        }
        self.fail(start..start + 1, "The text is not closed: a quotation mark is missing.")
    }

    fn heredoc(&mut self) -> Result<String, Box<Diagnostic>> {
        let start = self.at;
        let rest = self.rest();
        let head = rest.find('\n').unwrap_or(rest.len());
        let marker = rest[2..head].trim();
        let (indented, marker) = match marker.strip_prefix('-') {
            Some(marker) => (true, marker.trim()),
            None => (false, marker),
        };
        let mut lines: Vec<&str> = Vec::new();
        let mut at = head + 1;
        while !marker.is_empty() && at < rest.len() {
            let end = rest[at..].find('\n').map_or(rest.len(), |end| at + end);
            let line = &rest[at..end];
            if line.trim() == marker {
                self.at = start + end;
                return Ok(join(&lines, indented));
            }
            lines.push(line.strip_suffix('\r').unwrap_or(line));
            at = end + 1;
        }
        self.fail(
            start..start + 2,
            format!("The heredoc does not end: a line {marker:?} is missing."),
        )
    }
}

fn join(lines: &[&str], indented: bool) -> String {
    let blanks = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = if indented { filled.map(blanks).min().unwrap_or(0) } else { 0 };
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect()
}

/// The character behind a backslash, in the spellings of HCL and JSON.
fn escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match chars.next()?.1 {
        c @ ('"' | '\\' | '/') => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'U' => char::from_u32(hex(chars, 8)?),
        'u' => match hex(chars, 4)? {
            // Two halves of a character beyond 16 bits.
            high @ 0xd800..=0xdbff => {
                if (chars.next()?.1, chars.next()?.1) != ('\\', 'u') {
                    return None;
                }
                let low = hex(chars, 4)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)
            }
            code => char::from_u32(code),
        },
        _ => None,
    }
}

fn hex(chars: &mut impl Iterator<Item = (usize, char)>, count: usize) -> Option<u32> {
    let digits: String = chars.take(count).map(|(_, c)| c).collect();
    if digits.len() == count { u32::from_str_radix(&digits, 16).ok() } else { None }
}
