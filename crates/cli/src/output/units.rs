//! Sizes and ids as people read them.

/// Characters of an id that are shown unless all are asked for.
const SHORT_ID: usize = 8;

/// The id, short or whole.
pub(crate) fn id(id: &str, whole: bool) -> String {
    if whole { id.to_owned() } else { id.chars().take(SHORT_ID).collect() }
}

/// Bytes with a binary unit: `6.3 MiB`, `256 MiB`, `12 B`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit > 0 && value < 10.0 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// Mebibytes with a unit.
pub(crate) fn mebibytes(count: i64) -> String {
    bytes(u64::try_from(count).unwrap_or(0) << 20)
}

/// One of two forms, by number.
pub(crate) fn plural(count: i64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_below_ten() {
        let shown: Vec<String> =
            [0, 12, 1024, 6_606_029, 268_435_456, 2 << 30, u64::MAX].map(bytes).into();
        assert_eq!(shown, ["0 B", "12 B", "1.0 KiB", "6.3 MiB", "256 MiB", "2.0 GiB", "16 EiB"]);
        assert_eq!(mebibytes(300), "300 MiB");
        assert_eq!(id("0123456789", false), "01234567");
    }
}
