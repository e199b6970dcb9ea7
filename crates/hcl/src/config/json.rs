//! JSON with places: a strict grammar on the tokens of the configuration language.

use super::lexer::{Lexer, Style, Token};
use super::{ConfigBody, ConfigItem, ConfigValue, DEPTH};
use crate::diagnostic::{Diagnostic, Source};
use std::ops::Range;

type Parsed<T> = Result<T, Box<Diagnostic>>;

pub(super) fn parse(source: &Source) -> Parsed<ConfigBody> {
    let mut parser = Parser { source, lexer: Lexer::new(source, Style::Json) };
    let first = parser.lexer.next()?;
    let ConfigValue::Body(body) = parser.value(first, 0)? else {
        return parser.lexer.fail(0..0, "The file must consist of one object in braces.");
    };
    match parser.lexer.next()? {
        (Token::End, _) => Ok(body),
        (_, span) => parser.lexer.fail(span, "Nothing may follow the closing brace of the file."),
    }
}

struct Parser<'s> {
    source: &'s Source,
    lexer: Lexer<'s>,
}

impl Parser<'_> {
    fn value(&mut self, first: (Token, Range<usize>), depth: usize) -> Parsed<ConfigValue> {
        let (token, span) = first;
        if depth > DEPTH {
            return self.lexer.fail(span, "Braces and brackets are nested too deeply.");
        }
        match token {
            Token::Text(text) => Ok(ConfigValue::String(text)),
            Token::Number(number) => Ok(ConfigValue::Number(number)),
            Token::Word(word) if word == "true" => Ok(ConfigValue::Bool(true)),
            Token::Word(word) if word == "false" => Ok(ConfigValue::Bool(false)),
            Token::Word(word) if word == "null" => Ok(ConfigValue::Null),
            Token::Mark('[') => self.list(depth),
            Token::Mark('{') => self.object(depth),
            Token::End => self.lexer.fail(span, "The file ends too early: a value is required."),
            _ => self.lexer.fail(span, "A JSON value is required here."),
        }
    }

    fn list(&mut self, depth: usize) -> Parsed<ConfigValue> {
        let mut items = Vec::new();
        let mut token = self.lexer.next()?;
        if token.0 == Token::Mark(']') {
            return Ok(ConfigValue::List(items));
        }
        loop {
            items.push(self.value(token, depth + 1)?);
            match self.lexer.next()? {
                (Token::Mark(','), _) => token = self.lexer.next()?,
                (Token::Mark(']'), _) => return Ok(ConfigValue::List(items)),
                (_, span) => {
                    return self.lexer.fail(span, "A comma or a closing bracket is required here.");
                }
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<ConfigValue> {
        let mut items = Vec::new();
        let mut token = self.lexer.next()?;
        if token.0 == Token::Mark('}') {
            return Ok(ConfigValue::Body(ConfigBody { items }));
        }
        loop {
            let (Token::Text(key), span) = token else {
                return self.lexer.fail(token.1, "A name in quotes is required here.");
            };
            match self.lexer.next()? {
                (Token::Mark(':'), _) => {}
                (_, span) => return self.lexer.fail(span, "A colon is required here."),
            }
            let first = self.lexer.next()?;
            let value = self.value(first, depth + 1)?;
            let line = self.source.position(span.start).line;
            items.push(ConfigItem { key, labels: Vec::new(), value, span, line });
            match self.lexer.next()? {
                (Token::Mark(','), _) => token = self.lexer.next()?,
                (Token::Mark('}'), _) => return Ok(ConfigValue::Body(ConfigBody { items })),
                (_, span) => {
                    return self.lexer.fail(span, "A comma or a closing brace is required here.");
                }
            }
        }
    }
}
