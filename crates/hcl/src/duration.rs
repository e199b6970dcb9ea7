//! Durations as Go writes them: `1h30m`, `1.5s`, `250ms`.

const NANOS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The nanoseconds of a Go duration; none if it is not one or does not fit 64 bits.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let whole_len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at(whole_len);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(after.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let nanos = NANOS.iter().find(|(name, _)| *name == unit)?.1;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(nanos)?)?.checked_add(part(fraction, nanos))?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// The nanoseconds of the digits behind the point; digits beyond a nanosecond are dropped.
fn part(fraction: &str, nanos: i128) -> i128 {
    let mut value = nanos * 1_000_000;
    let mut sum = 0;
    for digit in fraction.bytes().take(18) {
        value /= 10;
        sum += i128::from(digit - b'0') * value;
    }
    sum / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_spelling_of_go() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(parse_duration(text), expected, "{text}");
        };
        check("1h30m", Some(5_400_000_000_000));
        check("1m30.25s", Some(90_250_000_000));
        check("0.5s", Some(500_000_000));
        check("1500ms", Some(1_500_000_000));
        check("-1us", Some(-1_000));
        check("0", Some(0));
        check(".5h", Some(1_800_000_000_000));
        check("5µs", Some(5_000));
        check("", None);
        check("-", None);
        check("soon", None);
        check("10", None);
        check("1d", None);
        check("9999999999h", None);
    }
}
