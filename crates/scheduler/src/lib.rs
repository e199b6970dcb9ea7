//! Decisions: which allocations a job should have, and on which nodes.
//!
//! **Purpose.** [`schedule`] turns a snapshot and an evaluation into an [`Outcome`]; [`verify`]
//! checks a plan against a newer snapshot just before it is committed.
//! **Entry points.** Those two functions.
//! **Never.** Raft, queues, RPC, logging, clocks, randomness: time and seed are [`Inputs`].
//! **Reading order.** `generic` (the steps), `reconcile/*` (what should change), `place/*` (where),
//! `verify`.
//! **Limits.** A metric keeps the scores of [`place::SCORES_KEPT`] nodes.

mod display;
mod generic;
mod ids;
pub mod place;
mod reconcile;
mod verify;

use model::eval::Evaluation;
use model::plan::Plan;
use model::wire::Nanos;

pub use display::outcome_text;
pub use generic::schedule;
pub use reconcile::change::{Change, change_of_group};
pub use reconcile::reschedule::has_attempts_left;
pub use verify::{Verdict, verify};

/// What a decision depends on beside the state.
#[derive(Debug, Clone, Copy)]
pub struct Inputs {
    /// The time of the decision.
    pub now: Nanos,
    /// Ids and port choices follow from it; the same seed gives the same plan.
    pub seed: u64,
}

/// What an evaluation came to.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub plan: Plan,
    /// The evaluation as it now is: complete, or blocked again.
    pub eval: Evaluation,
    /// Blocked and follow-up evaluations that come out of it.
    pub new_evals: Vec<Evaluation>,
}
