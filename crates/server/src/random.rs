//! Where chance and the clock enter: ids, seeds and the time, made here and passed on as values.

use std::time::{SystemTime, UNIX_EPOCH};

use model::ids::EvalId;
use model::wire::Nanos;

/// The time of day.
pub(crate) fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos::try_from(since.as_nanos()).unwrap_or(Nanos::MAX)
}

/// A new evaluation id.
pub(crate) fn eval_id() -> EvalId {
    EvalId(uuid::Uuid::new_v4())
}

/// A seed for one decision.
pub(crate) fn seed() -> u64 {
    rand::random()
}
