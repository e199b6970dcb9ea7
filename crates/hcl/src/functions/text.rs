//! Functions on texts.

use super::{Args, Function, Kind};
use crate::value::Value;
use regex::RegexBuilder;

/// Largest compiled size of a regular expression in bytes.
const REGEX_SIZE: usize = 256 << 10;
/// Steps for compiling one, which may take milliseconds however short it is.
const REGEX_STEPS: u64 = 5000;
/// Bytes that each byte searched counts for, since a search may visit many states per byte.
const REGEX_WEIGHT: usize = 64;

const ONE: &[super::Param] = &[("str", Kind::Text)];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("chomp", ONE, |args| Ok(args.text(0).trim_end_matches(['\r', '\n']).into())),
    Function::new("indent", &[("spaces", Kind::Num), ("str", Kind::Text)], |args| {
        let spaces = usize::try_from(args.int(0)?).map_err(|_| "spaces must not be negative")?;
        let text = args.text(1);
        let added = text.matches('\n').count().saturating_mul(spaces);
        args.reserve(added.saturating_add(spaces))?;
        Ok(text.replace('\n', &format!("\n{}", " ".repeat(spaces))).into())
    }),
    Function::new("join", &[("separator", Kind::Text), ("lists", Kind::List)], |args| {
        let mut parts = Vec::new();
        for index in 1..args.len() {
            parts.extend(args.texts(index)?);
        }
        args.reserve(args.text(0).len().saturating_mul(parts.len()))?;
        Ok(parts.join(args.text(0)).into())
    })
    .rest(("lists", Kind::List)),
    Function::new("lower", ONE, |args| Ok(args.text(0).to_lowercase().into())),
    Function::new(
        "regex_replace",
        &[("str", Kind::Text), ("pattern", Kind::Text), ("replace", Kind::Text)],
        |args| regex_replace(args),
    ),
    Function::new(
        "replace",
        &[("str", Kind::Text), ("substr", Kind::Text), ("replace", Kind::Text)],
        |args| {
            let (text, from, to) = (args.text(0), args.text(1), args.text(2));
            let hits = if from.is_empty() { text.len() + 1 } else { text.matches(from).count() };
            args.reserve(hits.saturating_mul(to.len()).saturating_add(text.len()))?;
            Ok(text.replace(from, to).into())
        },
    ),
    Function::new("split", &[("separator", Kind::Text), ("str", Kind::Text)], |args| {
        let (separator, text) = (args.text(0), args.text(1));
        args.reserve(text.len().saturating_mul(16))?;
        let parts: Vec<Value> = if separator.is_empty() {
            text.chars().map(|c| Value::String(c.to_string())).collect()
        } else {
            text.split(separator).map(Value::from).collect()
        };
        Ok(Value::List(parts))
    }),
    Function::new("strlen", ONE, |args| Ok(Value::Number(args.text(0).chars().count().into()))),
    Function::new("strrev", ONE, |args| Ok(Value::String(args.text(0).chars().rev().collect()))),
    Function::new(
        "substr",
        &[("str", Kind::Text), ("offset", Kind::Num), ("length", Kind::Num)],
        |args| {
            let chars: Vec<char> = args.text(0).chars().collect();
            let (offset, length) = (args.int(1)?, args.int(2)?);
            let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let start = if offset < 0 { chars.len().saturating_sub(back) } else { back };
            // A negative length means all that is left.
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            Ok(Value::String(chars.into_iter().skip(start).take(length).collect()))
        },
    ),
    Function::new("title", ONE, |args| Ok(title(args.text(0)).into())),
    Function::new("trim", &[("str", Kind::Text), ("cutset", Kind::Text)], |args| {
        let cut: Vec<char> = args.text(1).chars().collect();
        args.reserve(args.text(0).len().saturating_mul(cut.len()))?;
        Ok(args.text(0).trim_matches(&cut[..]).into())
    }),
    Function::new("trimprefix", &[("str", Kind::Text), ("prefix", Kind::Text)], |args| {
        let text = args.text(0);
        Ok(text.strip_prefix(args.text(1)).unwrap_or(text).into())
    }),
    Function::new("trimspace", ONE, |args| Ok(args.text(0).trim().into())),
    Function::new("trimsuffix", &[("str", Kind::Text), ("suffix", Kind::Text)], |args| {
        let text = args.text(0);
        Ok(text.strip_suffix(args.text(1)).unwrap_or(text).into())
    }),
    Function::new("upper", ONE, |args| Ok(args.text(0).to_uppercase().into())),
];

fn title(text: &str) -> String {
    let mut at_start = true;
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        if at_start {
            result.extend(c.to_uppercase());
        } else {
            result.push(c);
        }
        at_start = !(c.is_alphanumeric() || c == '_' || c == '\'');
    }
    result
}

/// The replacement may use `$1` and `${name}`, as in Go.
fn regex_replace(args: &Args<'_>) -> Result<Value, String> {
    let (text, replacement) = (args.text(0), args.text(2));
    if !args.ctx.spend(REGEX_STEPS) {
        return Err(
            "the file uses more regular expressions than is allowed for one file".to_owned()
        );
    }
    let regex = RegexBuilder::new(args.text(1))
        .size_limit(REGEX_SIZE)
        .dfa_size_limit(REGEX_SIZE)
        .build()
        .map_err(|error| format!("invalid regular expression: {error}"))?;
    args.reserve(text.len().saturating_mul(REGEX_WEIGHT))?;
    let references = replacement.matches('$').count();
    let mut result = String::new();
    let mut last = 0;
    for hit in regex.captures_iter(text) {
        let whole = hit.get_match();
        // No group is longer than the whole match.
        let most = references.saturating_mul(whole.len()).saturating_add(replacement.len());
        args.reserve(most.saturating_add(16))?;
        result.push_str(&text[last..whole.start()]);
        hit.expand(replacement, &mut result);
        last = whole.end();
    }
    result.push_str(&text[last..]);
    Ok(result.into())
}
