//! Lists of user or group ids as the agent's configuration writes them: `0,10-15,22`.

use std::ops::RangeInclusive;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdRanges {
    ranges: Vec<RangeInclusive<u32>>,
}

impl IdRanges {
    /// The error names the part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let ranges =
            parts.map(|part| range(part).ok_or_else(|| format!("invalid id range \"{part}\"")));
        Ok(Self { ranges: ranges.collect::<Result<_, _>>()? })
    }

    pub fn contains(&self, id: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(&id))
    }
}

fn range(part: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_ids_and_ranges_are_read() {
        let ids = IdRanges::parse("0, 10-15,22").unwrap();
        assert!(ids.contains(0) && ids.contains(10) && ids.contains(15) && ids.contains(22));
        assert!(!ids.contains(1) && !ids.contains(16));
        assert!(IdRanges::parse("").unwrap() == IdRanges::default());
        for wrong in ["x", "5-1", "-3", "1-2-3"] {
            assert!(IdRanges::parse(wrong).is_err(), "{wrong}");
        }
    }
}
