//! Functions on numbers.

use super::{Args, Function, Kind};
use crate::number::Number;
use crate::value::Value;
use std::cmp::Ordering;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("abs", &[("num", Kind::Num)], |args| {
        let number = args.number(0);
        Ok(if number.order(Number::Int(0)) == Ordering::Less { number.neg() } else { number }
            .into())
    }),
    Function::new("ceil", &[("num", Kind::Num)], |args| round(args.number(0), f64::ceil)),
    Function::new("floor", &[("num", Kind::Num)], |args| round(args.number(0), f64::floor)),
    Function::new("log", &[("num", Kind::Num), ("base", Kind::Num)], |args| {
        let (number, base) = (args.number(0).as_f64(), args.number(1).as_f64());
        let result = number.ln() / base.ln();
        // A whole logarithm must not suffer from the two roundings of the quotient.
        let whole = result.round();
        finite(if base.powf(whole) == number { whole } else { result })
    }),
    Function::new("max", &[("numbers", Kind::Num)], |args| Ok(best(args, Ordering::Greater)))
        .rest(("numbers", Kind::Num)),
    Function::new("min", &[("numbers", Kind::Num)], |args| Ok(best(args, Ordering::Less)))
        .rest(("numbers", Kind::Num)),
    Function::new("parseint", &[("number", Kind::Text), ("base", Kind::Num)], |args| {
        parse_int(args.text(0), args.int(1)?)
    }),
    Function::new("pow", &[("num", Kind::Num), ("power", Kind::Num)], |args| {
        let (base, power) = (args.number(0), args.number(1));
        if let (Number::Int(base), Some(power)) = (base, power.as_u64())
            && let Some(exact) = u32::try_from(power).ok().and_then(|power| base.checked_pow(power))
        {
            return Ok(Number::Int(exact).into());
        }
        finite(base.as_f64().powf(power.as_f64()))
    }),
    Function::new("signum", &[("num", Kind::Num)], |args| {
        Ok(Value::int(match args.number(0).order(Number::Int(0)) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }),
];

fn finite(value: f64) -> Result<Value, String> {
    Number::from_f64(value)
        .map(Value::Number)
        .ok_or_else(|| "the result is not a number".to_owned())
}

fn round(number: Number, how: fn(f64) -> f64) -> Result<Value, String> {
    match number {
        Number::Int(_) => Ok(number.into()),
        Number::Float(float) => finite(how(float)),
    }
}

fn best(args: &Args<'_>, wanted: Ordering) -> Value {
    let mut best = args.number(0);
    for index in 1..args.len() {
        if args.number(index).order(best) == wanted {
            best = args.number(index);
        }
    }
    best.into()
}

fn parse_int(text: &str, base: i64) -> Result<Value, String> {
    if !(2..=62).contains(&base) {
        return Err("base must be a whole number between 2 and 62".to_owned());
    }
    let invalid = || format!("cannot parse {text:?} as a base {base} integer");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    for digit in digits.chars() {
        let digit = match digit {
            '0'..='9' => i64::from(u32::from(digit) - u32::from('0')),
            'a'..='z' => i64::from(u32::from(digit) - u32::from('a')) + 10,
            'A'..='Z' if base <= 36 => i64::from(u32::from(digit) - u32::from('A')) + 10,
            'A'..='Z' => i64::from(u32::from(digit) - u32::from('A')) + 36,
            _ => return Err(invalid()),
        };
        if digit >= base {
            return Err(invalid());
        }
        let next =
            total.checked_mul(i128::from(base)).and_then(|t| t.checked_add(i128::from(digit)));
        total = next.ok_or_else(|| format!("{text:?} is too large"))?;
    }
    Ok(Number::Int(if negative { -total } else { total }).into())
}
