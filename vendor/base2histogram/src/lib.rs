//! Stands in for the crate of this name, which openraft keeps its internal figures in.
//!
//! # Purpose
//! The published crate computes tables for every possible resolution at the first use: 26 MB of
//! memory that is never given back and milliseconds of each start, for figures that Muster does
//! not show. This one has the part of its interface that openraft calls, at one resolution.
//!
//! # Entry points
//! [`Histogram::record`], [`Histogram::percentile_stats`].
//!
//! # Never
//! Never used by our own crates. Goes when the published crate builds its tables on demand.
//!
//! # Limits
//! One bucket for each power of two: a percentile is right within a factor of two.

use std::fmt;

/// One bucket for zero and one for each bit length.
const BUCKETS: usize = u64::BITS as usize + 1;

/// Counts of values by their bit length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram<T = ()> {
    buckets: [u64; BUCKETS],
    label: std::marker::PhantomData<T>,
}

impl<T> Default for Histogram<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Histogram<T> {
    pub fn new() -> Self {
        Histogram { buckets: [0; BUCKETS], label: std::marker::PhantomData }
    }

    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    pub fn record_n(&mut self, value: u64, count: u64) {
        let bucket = &mut self.buckets[(u64::BITS - value.leading_zeros()) as usize];
        *bucket = bucket.saturating_add(count);
    }

    /// How many values were recorded.
    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The smallest value of the bucket in which the share `p` of all values is reached.
    pub fn percentile(&self, p: f64) -> u64 {
        let wanted = ((self.total() as f64) * p).ceil().max(1.0) as u64;
        let mut seen = 0_u64;
        for (bits, count) in self.buckets.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if seen >= wanted {
                return if bits == 0 { 0 } else { 1 << (bits - 1) };
            }
        }
        0
    }

    pub fn percentile_stats(&self) -> PercentileStats {
        PercentileStats {
            samples: self.total(),
            p0_1: self.percentile(0.001),
            p1: self.percentile(0.01),
            p5: self.percentile(0.05),
            p10: self.percentile(0.1),
            p50: self.percentile(0.5),
            p90: self.percentile(0.9),
            p99: self.percentile(0.99),
            p99_9: self.percentile(0.999),
        }
    }
}

/// The usual percentiles at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PercentileStats {
    pub samples: u64,
    pub p0_1: u64,
    pub p1: u64,
    pub p5: u64,
    pub p10: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p99_9: u64,
}

impl fmt::Display for PercentileStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values, p50 {}, p90 {}", self.samples, self.p50, self.p90)?;
        write!(f, ", p99 {}, p99.9 {}", self.p99, self.p99_9)
    }
}

/// Several histograms shown together, one line each.
#[derive(Debug, Clone, Default)]
pub struct AsciiChart {
    lines: Vec<(String, PercentileStats)>,
}

impl AsciiChart {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line; the chart keeps the percentiles only.
    #[allow(clippy::should_implement_trait, clippy::needless_pass_by_value)] // the interface to match
    pub fn add(mut self, name: impl ToString, histogram: Histogram) -> Self {
        self.lines.push((name.to_string(), histogram.percentile_stats()));
        self
    }
}

impl fmt::Display for AsciiChart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(name, stats)| writeln!(f, "{name}: {stats}"))
    }
}

#[cfg(test)]
mod tests {
    //! Checks the buckets at their edges.

    use super::*;

    #[test]
    fn percentiles_are_right_within_a_factor_of_two() {
        let mut histogram = Histogram::<()>::new();
        assert_eq!(histogram.percentile(0.5), 0);
        for value in [0, 1, 2, 3, 700, u64::MAX] {
            histogram.record(value);
        }
        assert_eq!(histogram.total(), 6);
        assert_eq!(histogram.percentile(0.1), 0);
        assert_eq!(histogram.percentile(0.5), 2);
        assert_eq!(histogram.percentile(0.8), 512);
        assert_eq!(histogram.percentile(1.0), 1 << 63);
        assert_eq!(histogram.percentile_stats().samples, 6);
    }
}
