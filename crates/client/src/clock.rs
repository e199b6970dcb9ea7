//! Time and chance: the only place of this crate that reads them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::wire::Nanos;

/// A moment with a random number beside it, handed to the sync machines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Nanos,
    /// From 0 up to but not 1.
    pub(crate) chance: f64,
}

pub(crate) fn moment() -> Moment {
    Moment { now: now(), chance: rand::random() }
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> Nanos {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos::try_from(now.as_nanos()).unwrap_or(Nanos::MAX)
}

/// How long until `when`; nothing if it has passed.
pub(crate) fn until(when: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(when.saturating_sub(now())).unwrap_or(0))
}

pub(crate) fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

pub(crate) fn duration(nanos: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
