//! Evaluations and what asks allocations to move: making them in one form.

use model::alloc::DesiredTransition;
use model::eval::{EvalStatus, Evaluation, trigger};
use model::ids::AllocId;
use model::job::Job;
use state::Command;

use crate::fault::Fault;
use crate::random;
use crate::server::Server;

/// A pending evaluation for a job.
pub(crate) fn for_job(job: &Job, triggered_by: &str) -> Evaluation {
    Evaluation {
        id: random::eval_id(),
        namespace: job.namespace().to_owned(),
        job_id: job.id().to_owned(),
        priority: job.priority(),
        kind: job.job_type().as_str().to_owned(),
        triggered_by: triggered_by.to_owned(),
        job_modify_index: job.job_modify_index(),
        status: EvalStatus::Pending,
        ..Evaluation::default()
    }
}

/// What stopping an allocation gave.
#[derive(Debug)]
pub struct AllocStopped {
    pub eval_id: String,
    pub index: u64,
}

impl Server {
    /// Stops an allocation; its slot is filled anew.
    ///
    /// # Errors
    /// There is no such allocation.
    pub async fn stop_alloc(
        &self,
        id: &AllocId,
        no_shutdown_delay: bool,
    ) -> Result<AllocStopped, Fault> {
        let snapshot = self.snapshot();
        let alloc = snapshot.alloc(id).ok_or_else(|| Fault::not_found("allocation not found"))?;
        let job = snapshot.job(&alloc.job).unwrap_or(&alloc.spec);
        let eval = for_job(job, trigger::ALLOC_STOP);
        let eval_id = eval.id;
        let wish = DesiredTransition {
            migrate: Some(true),
            no_shutdown_delay: no_shutdown_delay.then_some(true),
            ..DesiredTransition::default()
        };
        let command = Command::Transition {
            allocs: vec![(*id, wish)],
            evals: vec![eval],
            now: random::now(),
        };
        let index = self.commit(&command).await?;
        Ok(AllocStopped { eval_id: eval_id.to_string(), index })
    }
}
