//! `format` and `formatlist`, with the verbs of Go.

use super::encoding::{json, json_text};
use super::{Args, Function, Kind};
use crate::number::Number;
use crate::value::Value;

/// Widest field and longest fraction that a verb may ask for.
const FIELD_WIDTH: usize = 4096;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("format", &[("format", Kind::Text)], |args| {
        args.reserve(args.text(0).len())?;
        format(args.text(0), &args.all()[1..], args).map(Value::String)
    })
    .rest(("args", Kind::Nullable)),
    Function::new("formatlist", &[("format", Kind::Text)], |args| format_list(args))
        .rest(("args", Kind::Nullable)),
];

/// One text per element of the lists, with single values repeated.
fn format_list(args: &Args<'_>) -> Result<Value, String> {
    let rest = &args.all()[1..];
    let mut length = None;
    for list in rest {
        if let Value::List(items) = list {
            match length {
                Some(known) if known != items.len() => {
                    return Err(format!("the lists have {known} and {} elements", items.len()));
                }
                _ => length = Some(items.len()),
            }
        }
    }
    let mut result = Vec::new();
    for index in 0..length.unwrap_or(1) {
        let row: Vec<Value> = rest
            .iter()
            .map(|value| match value {
                Value::List(items) => items[index].clone(),
                single => single.clone(),
            })
            .collect();
        args.reserve(16 * row.len() + args.text(0).len())?;
        result.push(Value::String(format(args.text(0), &row, args)?));
    }
    Ok(Value::List(result))
}

/// A verb with its flags, as in `%-08.3f`.
#[derive(Default)]
struct Verb {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

fn format(spec: &str, values: &[Value], args: &Args<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut next = 0;
    let mut used = 0;
    let mut rest = spec;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut verb = Verb::default();
        rest = verb.read_flags(rest)?;
        if let Some(after) = rest.strip_prefix('[') {
            let end = after.find(']').ok_or("an argument number is not closed")?;
            let number: usize = after[..end].parse().map_err(|_| "invalid argument number")?;
            next = number.checked_sub(1).ok_or("arguments are numbered from 1")?;
            rest = &after[end + 1..];
        }
        let mode = rest.chars().next().ok_or("unexpected end of the format behind %")?;
        rest = &rest[mode.len_utf8()..];
        if mode == '%' {
            out.push('%');
            continue;
        }
        let value = values.get(next).ok_or_else(|| {
            format!("not enough arguments for %{mode}: there is no argument {}", next + 1)
        })?;
        next += 1;
        used = used.max(next);
        let text = verb.apply(mode, value)?;
        args.reserve(text.len() + 16)?;
        out.push_str(&text);
    }
    out.push_str(rest);
    if used < values.len() {
        return Err(format!("too many arguments; only {used} used by the format"));
    }
    Ok(out)
}

impl Verb {
    fn read_flags<'t>(&mut self, mut rest: &'t str) -> Result<&'t str, String> {
        while let Some(flag) = rest.chars().next() {
            match flag {
                '+' => self.plus = true,
                '-' => self.minus = true,
                '#' => self.sharp = true,
                ' ' => self.space = true,
                '0' => self.zero = true,
                _ => break,
            }
            rest = &rest[1..];
        }
        let (width, after) = digits(rest)?;
        self.width = width;
        if let Some(after) = after.strip_prefix('.') {
            let (precision, after) = digits(after)?;
            self.precision = Some(precision);
            return Ok(after);
        }
        Ok(after)
    }

    fn apply(&self, mode: char, value: &Value) -> Result<String, String> {
        let unsuitable = |what: &str| format!("unsupported value for %{mode}: {what} required");
        let text = match mode {
            'v' if self.sharp => to_json(value),
            'v' => match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => return Ok(self.numeric(self.signed(number.to_string()))),
                other => to_json(other),
            },
            't' => value.to_bool().ok_or_else(|| unsuitable("bool"))?.to_string(),
            's' => self.cut(&value.to_text().ok_or_else(|| unsuitable("string"))?),
            'q' => {
                let text = value.to_text().ok_or_else(|| unsuitable("string"))?;
                let mut out = String::new();
                json_text(&self.cut(&text), &mut out);
                out
            }
            'b' | 'd' | 'o' | 'x' | 'X' => {
                let number = value.to_number().ok_or_else(|| unsuitable("a number"))?;
                return Ok(self.numeric(self.signed(self.whole(mode, number))));
            }
            'e' | 'E' | 'f' | 'g' | 'G' => {
                let number = value.to_number().ok_or_else(|| unsuitable("a number"))?.as_f64();
                let text = match mode {
                    'f' => format!("{number:.*}", self.precision.unwrap_or(6)),
                    'g' | 'G' => general(number, self.precision),
                    _ => exponent(number, self.precision),
                };
                let text = if mode.is_uppercase() { text.to_uppercase() } else { text };
                return Ok(self.numeric(self.signed(text)));
            }
            other => return Err(format!("unrecognized format character {other:?}")),
        };
        Ok(self.pad(text))
    }

    fn whole(&self, mode: char, number: Number) -> String {
        let number = match number {
            Number::Int(int) => int,
            // Go's conversion of a fraction cuts it off.
            Number::Float(float) => float.trunc() as i128,
        };
        let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
        let digits = match mode {
            'b' => format!("{size:b}"),
            'o' => format!("{size:o}"),
            'x' => format!("{size:x}"),
            'X' => format!("{size:X}"),
            _ => size.to_string(),
        };
        let prefix = match mode {
            'o' if self.sharp => "0",
            'x' if self.sharp => "0x",
            'X' if self.sharp => "0X",
            _ => "",
        };
        format!("{sign}{prefix}{digits}")
    }

    fn signed(&self, text: String) -> String {
        match (text.starts_with('-'), self.plus, self.space) {
            (false, true, _) => format!("+{text}"),
            (false, false, true) => format!(" {text}"),
            _ => text,
        }
    }

    fn cut(&self, text: &str) -> String {
        self.precision.map_or_else(|| text.to_owned(), |most| text.chars().take(most).collect())
    }

    /// Fills a number up with zeros behind its sign, or with blanks.
    fn numeric(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if !self.zero || self.minus || missing == 0 {
            return self.pad(text);
        }
        let sign = text.len() - text.trim_start_matches(['+', '-', ' ']).len();
        format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..])
    }

    fn pad(&self, text: String) -> String {
        let missing = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.minus { text + &missing } else { missing + &text }
    }
}

fn digits(text: &str) -> Result<(usize, &str), String> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let number = if digits.is_empty() { Ok(0) } else { digits.parse() };
    match number {
        Ok(number) if number <= FIELD_WIDTH => Ok((number, rest)),
        _ => Err(format!("a width may be {FIELD_WIDTH} at most")),
    }
}

fn to_json(value: &Value) -> String {
    let mut out = String::new();
    json(value, &mut out);
    out
}

/// `1.500000e+03`: at least two digits in the exponent, as in C and Go.
fn exponent(number: f64, precision: Option<usize>) -> String {
    let text = format!("{number:.*e}", precision.unwrap_or(6));
    two_digits(&text)
}

fn two_digits(text: &str) -> String {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The shorter of both forms.
fn general(number: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{number:.*e}", precision.max(1) - 1),
        None => format!("{number:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    let significant = digits.bytes().filter(u8::is_ascii_digit).count();
    let most = precision.unwrap_or(significant.max(21)).max(1);
    if exponent < -4 || exponent >= i32::try_from(most).unwrap_or(i32::MAX) {
        return two_digits(&format!("{digits}e{exponent}"));
    }
    let rounded: f64 = format!("{digits}e{exponent}").parse().unwrap_or(number);
    rounded.to_string()
}
