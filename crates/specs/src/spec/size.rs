//! Sizes as people write them: `10GiB`, `500 MB`, or a number.

use hcl::{Fields, Value};

/// Units and their factors; those with an `i` count in 1024.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1000),
    ("kb", 1000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];

/// A size in bytes.
pub(super) fn bytes(f: &mut Fields<'_>, name: &'static str) -> Option<u64> {
    f.convert(name, |value| in_units(value, 1))
}

/// A size in MiB: a number counts them, a text has its unit.
pub(super) fn mebibytes(f: &mut Fields<'_>, name: &'static str) -> Option<i64> {
    f.convert(name, |value| {
        if let Some(number) = value.to_number() {
            let number = number.as_i64();
            return number.ok_or_else(|| "a whole number of MiB is required".to_owned());
        }
        let bytes = in_units(value, 1)?;
        i64::try_from(bytes >> 20).map_err(|_| "the size is too large".to_owned())
    })
}

fn in_units(value: &Value, unit: u64) -> Result<u64, String> {
    const WANTED: &str = "a size such as \"10GiB\" or \"500MB\" is required";
    let text = value.to_text().ok_or(WANTED)?;
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| WANTED.to_owned())?;
    let wanted = text[end..].trim().to_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == wanted).map(|(_, factor)| *factor);
    let factor = factor.ok_or_else(|| format!("{:?} is no unit; {WANTED}", text[end..].trim()))?;
    let bytes = number * (factor * unit) as f64;
    if bytes >= u64::MAX as f64 {
        return Err("the size is too large".to_owned());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::in_units;
    use hcl::Value;

    #[test]
    fn units_are_decimal_unless_they_have_an_i() {
        for (text, bytes) in
            [("10GiB", 10 << 30), ("1.5 kb", 1500), ("7", 7), ("2MB", 2_000_000), ("1t", 1 << 40)]
        {
            let expected = if text == "1t" { 1_000_000_000_000 } else { bytes };
            assert_eq!(in_units(&Value::string(text), 1), Ok(expected), "{text}");
        }
        for wrong in ["", "GiB", "1 parsec", "1..2", "99999999999TiB"] {
            assert!(in_units(&Value::string(wrong), 1).is_err(), "{wrong}");
        }
    }
}
