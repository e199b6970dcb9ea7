//! How long to wait between attempts: longer each time, and never the same for two nodes.

use std::time::Duration;

/// Doubles from `first` to `longest`; up to half of each wait is left to chance.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: u32,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, attempts: 0 }
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// The next wait; `chance` is from 0 to 1.
    pub(crate) fn next(&mut self, chance: f64) -> Duration {
        // Beyond this the longest wait is reached whatever the first one is.
        let doubled = self.first.saturating_mul(1 << self.attempts.min(20));
        self.attempts = self.attempts.saturating_add(1);
        let wait = doubled.min(self.longest);
        wait.mul_f64(0.5 + 0.5 * chance)
    }

    pub(crate) async fn wait(&mut self) {
        let wait = self.next(rand::random());
        tokio::time::sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_longest_and_start_again() {
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(35));
        let mut next = |chance| backoff.next(chance).as_millis();
        assert_eq!([next(1.0), next(1.0), next(1.0), next(0.0)], [10, 20, 35, 17]);
        backoff.reset();
        assert_eq!(backoff.next(1.0).as_millis(), 10);
    }
}
