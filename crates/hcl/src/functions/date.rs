//! Functions on timestamps in the form of RFC 3339.

use super::{Function, Kind};
use crate::duration::parse_duration;
use jiff::SignedDuration;
use jiff::civil::{DateTime, Weekday};

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("formatdate", &[("format", Kind::Text), ("time", Kind::Text)], |args| {
        let stamp = Stamp::parse(args.text(1))?;
        stamp.format(args.text(0)).map(Into::into)
    }),
    Function::new("timeadd", &[("timestamp", Kind::Text), ("duration", Kind::Text)], |args| {
        let stamp = Stamp::parse(args.text(0))?;
        let text = args.text(1);
        let nanos = parse_duration(text).ok_or_else(|| format!("{text:?} is not a duration"))?;
        let sum = stamp.local.checked_add(SignedDuration::from_nanos(nanos));
        let local = sum.map_err(|_| "the result is out of range")?;
        Ok(Stamp { local, ..stamp }.rfc3339().into())
    }),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A local time with its distance from UTC in minutes.
struct Stamp {
    local: DateTime,
    offset: i32,
}

impl Stamp {
    fn parse(text: &str) -> Result<Stamp, String> {
        let invalid = || format!("{text:?} is not a timestamp in the form of RFC 3339");
        if !text.is_ascii() || text.len() < 20 || !matches!(text.as_bytes()[10], b'T' | b't') {
            return Err(invalid());
        }
        let zone_at = text[19..].find(['Z', 'z', '+', '-']).ok_or_else(invalid)? + 19;
        let local: DateTime = text[..zone_at].parse().map_err(|_| invalid())?;
        let zone = &text[zone_at..];
        let offset = if zone.eq_ignore_ascii_case("z") {
            0
        } else {
            let (hours, minutes) = zone[1..].split_once(':').ok_or_else(invalid)?;
            let part = |text: &str, most: i32| -> Result<i32, String> {
                let number: Option<i32> = text.parse().ok();
                number.filter(|n| text.len() == 2 && (0..=most).contains(n)).ok_or_else(invalid)
            };
            let minutes: i32 = part(hours, 23)? * 60 + part(minutes, 59)?;
            if zone.starts_with('-') { -minutes } else { minutes }
        };
        Ok(Stamp { local, offset })
    }

    fn zone(&self, separator: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs();
        format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }

    fn rfc3339(&self) -> String {
        let t = self.local;
        let zone = if self.offset == 0 { "Z".to_owned() } else { self.zone(":") };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{zone}",
            t.year(),
            t.month(),
            t.day(),
            t.hour(),
            t.minute(),
            t.second()
        )
    }

    fn format(&self, spec: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = spec;
        while let Some(first) = rest.chars().next() {
            if first == '\'' {
                rest = quoted(&rest[1..], &mut out)?;
            } else if first.is_ascii_alphabetic() {
                let length = rest.chars().take_while(|c| *c == first).count();
                out.push_str(&self.field(&rest[..length])?);
                rest = &rest[length..];
            } else {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        Ok(out)
    }

    fn field(&self, verb: &str) -> Result<String, String> {
        let t = self.local;
        let month = MONTHS[usize::from(t.month().unsigned_abs()) - 1];
        let weekday = weekday(t.weekday());
        let half_day = if t.hour() % 12 == 0 { 12 } else { t.hour() % 12 };
        Ok(match verb {
            "YYYY" => format!("{:04}", t.year()),
            "YY" => format!("{:02}", t.year() % 100),
            "MMMM" => month.to_owned(),
            "MMM" => month[..3].to_owned(),
            "MM" => format!("{:02}", t.month()),
            "M" => t.month().to_string(),
            "DD" => format!("{:02}", t.day()),
            "D" => t.day().to_string(),
            "EEEE" => weekday.to_owned(),
            "EEE" => weekday[..3].to_owned(),
            "hh" => format!("{:02}", t.hour()),
            "h" => t.hour().to_string(),
            "HH" => format!("{half_day:02}"),
            "H" => half_day.to_string(),
            "AA" => if t.hour() < 12 { "AM" } else { "PM" }.to_owned(),
            "aa" => if t.hour() < 12 { "am" } else { "pm" }.to_owned(),
            "mm" => format!("{:02}", t.minute()),
            "m" => t.minute().to_string(),
            "ss" => format!("{:02}", t.second()),
            "s" => t.second().to_string(),
            "Z" if self.offset == 0 => "Z".to_owned(),
            "ZZZ" if self.offset == 0 => "UTC".to_owned(),
            "ZZZ" | "ZZZZ" => self.zone(""),
            "Z" | "ZZZZZ" => self.zone(":"),
            verb => {
                return Err(format!(
                    "invalid date format verb {verb:?}; text of letters must stand in single quotes"
                ));
            }
        })
    }
}

/// Text in single quotes, in which two of them stand for one; returns what follows.
fn quoted<'t>(mut rest: &'t str, out: &mut String) -> Result<&'t str, String> {
    loop {
        let end = rest.find('\'').ok_or("a single quote is not closed")?;
        out.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                out.push('\'');
                rest = after;
            }
            None => return Ok(rest),
        }
    }
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}
