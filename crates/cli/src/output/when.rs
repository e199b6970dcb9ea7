//! Points in time and spans, as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// What stands for a time that has not come.
pub(crate) const NOT_YET: &str = "N/A";

/// Now, in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// The time in the local zone, to the second; `N/A` for zero.
pub(crate) fn at(nanos: i64) -> String {
    if nanos == 0 {
        return NOT_YET.to_owned();
    }
    let Ok(time) = Timestamp::from_nanosecond(i128::from(nanos)) else {
        return NOT_YET.to_owned();
    };
    let zoned = time.to_zoned_datetime(TimeZone::system());
    let shown = zoned.strftime("%Y-%m-%dT%H:%M:%S");
    if zoned.offset().seconds() == 0 {
        format!("{shown}Z")
    } else {
        format!("{shown}{}", zoned.strftime("%:z"))
    }
}

/// Reads a time of the API (RFC 3339); zero for the zero time and for what is none.
pub(crate) fn parse(text: &str) -> i64 {
    let nanos = text.parse::<Timestamp>().map(|time| time.as_nanosecond()).unwrap_or(0);
    i64::try_from(nanos.max(0)).unwrap_or(0)
}

/// `3s ago`, or the exact time when asked for.
pub(crate) fn ago_or_at(nanos: i64, exact: bool) -> String {
    if exact || nanos == 0 { at(nanos) } else { ago(nanos, now()) }
}

/// How long before `now`: `3s ago`; after it: `3s from now`.
pub(crate) fn ago(nanos: i64, now: i64) -> String {
    if nanos > now + SECOND {
        return format!("{} from now", span(nanos - now));
    }
    format!("{} ago", span((now - nanos).max(0)))
}

const SECOND: i64 = 1_000_000_000;

/// A span in its two largest units: `1m8s`, `2h`, `3d4h`, `1y2mo`.
pub(crate) fn span(nanos: i64) -> String {
    const UNITS: [(i64, &str); 6] =
        [(31_536_000, "y"), (2_592_000, "mo"), (86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let mut seconds = nanos / SECOND;
    let Some(first) = UNITS.iter().position(|(unit, _)| seconds >= *unit) else {
        return "0s".to_owned();
    };
    let mut text = String::new();
    for (unit, name) in UNITS.iter().skip(first).take(2) {
        if seconds >= *unit {
            text.push_str(&format!("{}{name}", seconds / unit));
            seconds %= unit;
        }
    }
    text
}

/// A duration as the API's own text has it: `5m0s`, `1.5s`, `38.474µs`.
pub(crate) fn duration(nanos: i64) -> String {
    if nanos.abs() < SECOND {
        let value = nanos as f64;
        return match nanos.abs() {
            0 => "0s".to_owned(),
            1..1_000 => format!("{nanos}ns"),
            1_000..1_000_000 => format!("{}µs", value / 1e3),
            _ => format!("{}ms", value / 1e6),
        };
    }
    let (sign, nanos) = if nanos < 0 { ("-", -nanos) } else { ("", nanos) };
    let (minutes, rest) = (nanos / (60 * SECOND), nanos % (60 * SECOND));
    let seconds = rest as f64 / 1e9;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// Reads a duration as users write it: `90s`, `1h30m`, `1.5s`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("h", 3.6e12), ("m", 6e10), ("s", 1e9)];
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let (unit, size) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
        sum += number * size;
        rest = &rest[end + unit.len()..];
    }
    (!text.is_empty() && sum < 9e18).then_some(sum as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_show_two_units_at_most() {
        let shown = [0, 3, 68, 7200, 7265, 277_200, 40_000_000].map(|s| span(s * SECOND));
        assert_eq!(shown, ["0s", "3s", "1m8s", "2h", "2h1m", "3d5h", "1y3mo"]);
    }

    #[test]
    fn durations_are_read_as_users_write_them() {
        assert_eq!(parse_duration("1h30m"), Some(5400 * SECOND));
        assert_eq!(parse_duration("1.5s"), Some(3 * SECOND / 2));
        assert_eq!(parse_duration("20ms"), Some(20_000_000));
        assert!(["", "x", "5", "s", "1d"].iter().all(|text| parse_duration(text).is_none()));
    }

    #[test]
    fn ages_look_back_and_forward() {
        assert_eq!(ago(0, 5 * SECOND), "5s ago");
        assert_eq!(ago(90 * SECOND, 0), "1m30s from now");
        assert_eq!(ago(SECOND / 2, 0), "0s ago");
    }

    #[test]
    fn durations_are_written_as_the_api_writes_them() {
        let shown = [0, 38_474, 1_500_000, 1_500_000_000, 300 * SECOND, 3_600 * SECOND];
        let shown = shown.map(duration);
        assert_eq!(shown, ["0s", "38.474µs", "1.5ms", "1.5s", "5m0s", "1h0m0s"]);
    }

    #[test]
    fn times_of_the_api_are_read_and_the_zero_time_is_none() {
        assert_eq!(parse("1970-01-01T00:00:01Z"), SECOND);
        assert_eq!(parse("0001-01-01T00:00:00Z"), 0);
        assert_eq!(parse("2026-01-01T01:00:00.5+01:00"), 1_767_225_600_500_000_000);
    }
}
