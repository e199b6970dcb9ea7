//! Evaluations.

use std::sync::Arc;

use model::eval::{EvalStatus, Evaluation};
use model::ids::EvalId;
use model::wire::Nanos;

use super::{Tables, insert_into, remove_from};
use crate::changes::{Changes, Table};

impl Tables {
    /// Makes or changes an evaluation, and what its job derives from it.
    pub(crate) fn put_eval(
        &mut self,
        changes: &mut Changes,
        index: u64,
        now: Nanos,
        mut eval: Evaluation,
    ) {
        let old = self.evals.get(&eval.id).cloned();
        if old.as_ref().is_some_and(|o| o.status.is_terminal()) {
            return; // a terminal evaluation stays terminal
        }
        let key = eval.job();
        eval.create_index = old.as_ref().map_or(index, |o| o.create_index);
        eval.create_time = old.as_ref().map_or(now, |o| o.create_time);
        eval.modify_index = index;
        eval.modify_time = now;
        let was_open = old.is_some();
        let is_open = !eval.status.is_terminal();
        let queued =
            (!eval.queued_allocations.is_empty()).then(|| eval.queued_allocations.0.clone());
        self.change_job(changes, &key, |entry| {
            entry.open_evals = entry.open_evals + u32::from(is_open) - u32::from(was_open);
            // The job's status follows from these, so whoever watches the job has to hear of it.
            entry.summary_index = index;
            if let Some(queued) = queued {
                entry.queued = queued;
            }
        });
        if old.is_none() {
            insert_into(&mut self.evals_by_job, &key, eval.id);
        }
        let eval = Arc::new(eval);
        self.evals.insert(eval.id, eval.clone());
        changes.touch(Table::Evals);
        changes.evals.push(eval);
    }

    /// Ends the open evaluations of a job that is forgotten, so that none is left nowhere.
    pub(crate) fn cancel_evals_of(
        &mut self,
        changes: &mut Changes,
        index: u64,
        now: Nanos,
        key: &model::ids::JobKey,
    ) {
        let ids: Vec<EvalId> =
            self.evals_by_job.get(key).map(|s| s.iter().copied().collect()).unwrap_or_default();
        for id in ids {
            let Some(eval) = self.evals.get(&id).filter(|e| e.status == EvalStatus::Blocked) else {
                continue;
            };
            let ended = Evaluation {
                status: EvalStatus::Cancelled,
                status_description: "job was stopped".to_owned(),
                ..Evaluation::clone(eval)
            };
            self.put_eval(changes, index, now, ended);
        }
    }

    /// Forgets an evaluation.
    pub(crate) fn remove_eval(&mut self, changes: &mut Changes, id: &EvalId) {
        let Some(eval) = self.evals.remove(id) else { return };
        remove_from(&mut self.evals_by_job, &eval.job(), id);
        if !eval.status.is_terminal() {
            self.change_job(changes, &eval.job(), |entry| entry.open_evals -= 1);
        }
        changes.touch(Table::Evals);
    }
}
