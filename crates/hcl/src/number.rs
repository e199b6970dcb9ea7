//! Numbers: whole numbers are exact, fractions are doubles whose sums stay decimal.

use std::cmp::Ordering;
use std::fmt;

/// A number. Whole numbers up to 38 digits are exact; what is larger becomes a double.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// A finite number with a fraction, or one too large for `Int`.
    Float(f64),
}

/// Largest double magnitude below which every whole double fits an `i128`.
const INT_RANGE: f64 = 1e38;

impl Number {
    /// The number of a double; none if it is not finite. Whole doubles become whole numbers.
    pub fn from_f64(value: f64) -> Option<Number> {
        if !value.is_finite() {
            None
        } else if value.fract() == 0.0 && value.abs() < INT_RANGE {
            Some(Number::Int(value as i128))
        } else {
            Some(Number::Float(value))
        }
    }

    /// Reads a decimal number as HCL writes it, with optional sign, fraction and exponent.
    pub fn parse(text: &str) -> Option<Number> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        if let Ok(int) = text.parse::<i128>() {
            return Some(Number::Int(int));
        }
        text.parse::<f64>().ok().and_then(Number::from_f64)
    }

    /// The number as a double, rounded if need be.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }

    /// The number if it is whole and fits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Number::Int(int) => i64::try_from(int).ok(),
            Number::Float(_) => None,
        }
    }

    /// The number if it is whole, not negative and fits.
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Number::Int(int) => u64::try_from(int).ok(),
            Number::Float(_) => None,
        }
    }

    pub(crate) fn add(self, other: Number) -> Option<Number> {
        decimal(self, other, i128::checked_add)
            .or_else(|| Self::from_f64(self.as_f64() + other.as_f64()))
    }

    pub(crate) fn sub(self, other: Number) -> Option<Number> {
        decimal(self, other, i128::checked_sub)
            .or_else(|| Self::from_f64(self.as_f64() - other.as_f64()))
    }

    pub(crate) fn mul(self, other: Number) -> Option<Number> {
        let exact = || {
            let (a, a_scale) = parts(self)?;
            let (b, b_scale) = parts(other)?;
            join(a.checked_mul(b)?, a_scale + b_scale)
        };
        exact().or_else(|| Self::from_f64(self.as_f64() * other.as_f64()))
    }

    /// The quotient; none for a division by zero.
    pub(crate) fn div(self, other: Number) -> Option<Number> {
        if let (Number::Int(a), Number::Int(b)) = (self, other)
            && b != 0
            && a % b == 0
        {
            return Some(Number::Int(a / b));
        }
        Self::from_f64(self.as_f64() / other.as_f64())
    }

    /// The remainder with the sign of the dividend; none for a division by zero.
    pub(crate) fn rem(self, other: Number) -> Option<Number> {
        decimal(self, other, i128::checked_rem)
            .or_else(|| Self::from_f64(self.as_f64() % other.as_f64()))
    }

    pub(crate) fn neg(self) -> Number {
        match self {
            Number::Int(int) => int.checked_neg().map_or(Number::Float(-(int as f64)), Number::Int),
            Number::Float(float) => Number::Float(-float),
        }
    }

    pub(crate) fn order(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(&b),
            (a, b) => a.as_f64().total_cmp(&b.as_f64()),
        }
    }
}

/// Does a sum on the decimal digits, so that 0.1 + 0.2 is 0.3; none where digits do not fit.
fn decimal(a: Number, b: Number, apply: fn(i128, i128) -> Option<i128>) -> Option<Number> {
    let (a, a_scale) = parts(a)?;
    let (b, b_scale) = parts(b)?;
    let scale = a_scale.max(b_scale);
    let a = a.checked_mul(10_i128.checked_pow(scale - a_scale)?)?;
    let b = b.checked_mul(10_i128.checked_pow(scale - b_scale)?)?;
    join(apply(a, b)?, scale)
}

/// Digits and count of decimal places.
fn parts(number: Number) -> Option<(i128, u32)> {
    match number {
        Number::Int(int) => Some((int, 0)),
        Number::Float(float) => {
            if float.abs() >= INT_RANGE || float.abs() < 1e-20 {
                return None;
            }
            let text = float.to_string();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            let digits = format!("{whole}{fraction}").parse().ok()?;
            Some((digits, u32::try_from(fraction.len()).ok()?))
        }
    }
}

fn join(digits: i128, scale: u32) -> Option<Number> {
    if scale == 0 {
        return Some(Number::Int(digits));
    }
    format!("{digits}e-{scale}").parse().ok().and_then(Number::from_f64)
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.order(*other) == Ordering::Equal
    }
}

impl fmt::Display for Number {
    /// Decimal digits without an exponent, as HCL turns numbers into text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(int) => write!(f, "{int}"),
            Number::Float(float) => write!(f, "{float}"),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::Int(i128::from(value))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::Int(value as i128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: Option<Number>, expected: &str) {
        assert_eq!(number.map_or("none".to_owned(), |n| n.to_string()), expected);
    }

    #[test]
    fn sums_stay_decimal_and_whole_numbers_exact() {
        let n = |text| Number::parse(text).expect("a number");
        check(n("0.1").add(n("0.2")), "0.3");
        check(n("9007199254740993").add(n("1")), "9007199254740994");
        check(n("18446744073709551615").mul(n("10")), "184467440737095516150");
        check(n("1.5").mul(n("2")), "3");
        check(n("7").div(n("2")), "3.5");
        check(n("-7").rem(n("3")), "-1");
        check(n("1").div(n("0")), "none");
        check(Number::parse("1e3"), "1000");
        check(Number::parse("inf"), "none");
    }
}
