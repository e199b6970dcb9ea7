//! The grammar of the old style of HCL, without recovery: the first mistake ends it.

use super::lexer::{Lexer, Style, Token};
use super::{ConfigBody, ConfigItem, ConfigValue, DEPTH};
use crate::diagnostic::{Diagnostic, Source};
use std::ops::Range;

type Parsed<T> = Result<T, Box<Diagnostic>>;

pub(super) fn parse(source: &Source) -> Parsed<ConfigBody> {
    let mut lexer = Lexer::new(source, Style::Hcl);
    let peeked = lexer.next()?;
    let mut parser = Parser { source, lexer, peeked };
    let body = parser.items(0)?;
    match parser.peek() {
        Token::End => Ok(body),
        _ => parser.unexpected("A name is required here."),
    }
}

struct Parser<'s> {
    source: &'s Source,
    lexer: Lexer<'s>,
    peeked: (Token, Range<usize>),
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.peeked.0
    }

    fn take(&mut self) -> Parsed<(Token, Range<usize>)> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.peeked, next))
    }

    fn skip(&mut self, mark: char) -> Parsed<bool> {
        if *self.peek() == Token::Mark(mark) {
            self.take()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn unexpected<T>(&self, detail: &str) -> Parsed<T> {
        if *self.peek() == Token::End {
            let detail = format!("The file ends too early. {detail}");
            return self.lexer.fail(self.peeked.1.clone(), detail);
        }
        self.lexer.fail(self.peeked.1.clone(), detail)
    }

    /// Items up to a closing brace or the end, neither of which is taken.
    fn items(&mut self, depth: usize) -> Parsed<ConfigBody> {
        if depth > DEPTH {
            return self.unexpected("Braces and brackets are nested too deeply.");
        }
        let mut items = Vec::new();
        loop {
            if self.skip(',')? {
                continue;
            }
            match self.peek() {
                Token::Word(_) | Token::Text(_) => items.push(self.item(depth)?),
                _ => return Ok(ConfigBody { items }),
            }
        }
    }

    fn item(&mut self, depth: usize) -> Parsed<ConfigItem> {
        let (key, span) = self.take()?;
        let (Token::Word(key) | Token::Text(key)) = key else {
            return self.unexpected("A name is required here.");
        };
        let line = self.source.position(span.start).line;
        let mut labels = Vec::new();
        let value = loop {
            match self.peek() {
                Token::Mark('=' | ':') if labels.is_empty() => {
                    self.take()?;
                    break self.value(depth)?;
                }
                Token::Mark('{') => break self.braces(depth)?,
                Token::Word(_) | Token::Text(_) => {
                    if let (Token::Word(label) | Token::Text(label), _) = self.take()? {
                        labels.push(label);
                    }
                }
                _ => {
                    return self.unexpected(&format!(
                        "Behind {key:?} an equals sign with a value or a block in braces is required."
                    ));
                }
            }
        };
        Ok(ConfigItem { key, labels, value, span, line })
    }

    fn braces(&mut self, depth: usize) -> Parsed<ConfigValue> {
        let opened = self.take()?.1;
        let body = self.items(depth + 1)?;
        if !self.skip('}')? {
            let line = self.source.position(opened.start).line;
            return self.unexpected(&format!("The brace opened in line {line} must be closed."));
        }
        Ok(ConfigValue::Body(body))
    }

    fn value(&mut self, depth: usize) -> Parsed<ConfigValue> {
        match self.peek() {
            Token::Mark('{') => return self.braces(depth),
            Token::Mark('[') => return self.list(depth),
            _ => {}
        }
        let required = "A value is required here: a text in quotes, a number, true, false, a list or \
                        an object.";
        match self.peek() {
            Token::Word(word) if !matches!(word.as_str(), "true" | "false" | "null") => {
                let detail = format!("{word:?} is not a value; a text stands in quotes.");
                self.unexpected(&detail)
            }
            Token::Word(_) | Token::Text(_) | Token::Number(_) => Ok(match self.take()?.0 {
                Token::Word(word) if word == "null" => ConfigValue::Null,
                Token::Word(word) => ConfigValue::Bool(word == "true"),
                Token::Text(text) => ConfigValue::String(text),
                Token::Number(number) => ConfigValue::Number(number),
                Token::Mark(_) | Token::End => ConfigValue::Null,
            }),
            _ => self.unexpected(required),
        }
    }

    fn list(&mut self, depth: usize) -> Parsed<ConfigValue> {
        if depth >= DEPTH {
            return self.unexpected("Braces and brackets are nested too deeply.");
        }
        self.take()?;
        let mut items = Vec::new();
        loop {
            if self.skip(']')? {
                return Ok(ConfigValue::List(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.skip(',')? && *self.peek() != Token::Mark(']') {
                return self.unexpected("A comma or a closing bracket is required here.");
            }
        }
    }
}
