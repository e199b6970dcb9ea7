//! The worker: takes evaluations from the broker, decides, and commits (hops 11 and 12).
//!
//! There is one, and it is the one writer of placements. It decides a batch of evaluations one
//! after the other on a private fork of the state, each seeing what the ones before it placed, and
//! then commits their entries together, so that the log syncs once for many. A plan that the log
//! refuses (its job changed meanwhile) sends its evaluation back to the broker.

use model::eval::{EvalStatus, Evaluation};
use scheduler::{Inputs, Outcome, schedule, verify};
use state::{Command, Response};

use crate::random;
use crate::server::Server;

/// How many evaluations are decided before their entries are committed.
pub(crate) const BATCH_MAX: usize = 64;

/// Runs until the server stops.
pub(crate) async fn run(server: Server) {
    loop {
        let batch = tokio::select! {
            batch = server.inner.leader.broker.take(BATCH_MAX) => batch,
            () = server.inner.stop.cancelled() => return,
        };
        if work(&server, &batch).await || batch.len() == 1 {
            continue;
        }
        // One of them cannot be decided: the others must not suffer with it, again and again.
        for eval in &batch {
            work(&server, std::slice::from_ref(eval)).await;
        }
    }
}

/// Decides a batch and commits it. Says whether it could be decided; a batch of one that cannot
/// is given back here.
async fn work(server: &Server, batch: &[Evaluation]) -> bool {
    let (to_decide, evals) = (server.clone(), batch.to_vec());
    let decided = tokio::task::spawn_blocking(move || decide(&to_decide, &evals)).await;
    let commands = match decided {
        Ok(commands) => commands,
        Err(error) => {
            // A bug in a decision costs an evaluation an attempt, not the server its life.
            tracing::error!(%error, evals = batch.len(), "deciding evaluations failed");
            if let [eval] = batch {
                give_back(server, eval).await;
            }
            return false;
        }
    };
    let proposals = commands.iter().map(|c| server.propose(c));
    let answers = futures_util::future::join_all(proposals).await;
    for (eval, answer) in batch.iter().zip(answers) {
        match answer {
            Ok((_, Response::Done)) => server.inner.leader.broker.done(&eval.id),
            Ok((_, Response::Refused(refusal))) => {
                tracing::debug!(eval_id = %eval.id, job_id = %eval.job_id, %refusal, "plan refused, deciding again");
                give_back(server, eval).await;
            }
            Err(error) => {
                tracing::warn!(eval_id = %eval.id, job_id = %eval.job_id, %error, "plan was not committed");
                give_back(server, eval).await;
            }
        }
    }
    true
}

/// Decides a batch on a private fork; one command for each evaluation.
fn decide(server: &Server, evals: &[Evaluation]) -> Vec<Command> {
    let base = server.snapshot();
    let mut fork = base.fork();
    let mut commands = Vec::with_capacity(evals.len());
    for eval in evals {
        let now = random::now();
        let view = fork.snapshot();
        let mut outcome = schedule(&view, eval, &Inputs { now, seed: random::seed() });
        // What it knows of others is as old as the state the batch began with.
        outcome.eval.snapshot_index = base.index();
        for new in outcome.new_evals.iter_mut().filter(|e| e.status == EvalStatus::Blocked) {
            new.snapshot_index = base.index();
        }
        let command = commit_of(&view, outcome, now);
        // The fork's indexes are private; only its contents matter to the next decision.
        fork.apply(view.index() + 1, command.clone());
        commands.push(command);
    }
    commands
}

/// The one log entry of an evaluation's outcome.
fn commit_of(view: &state::Snapshot, outcome: Outcome, now: model::wire::Nanos) -> Command {
    let Outcome { mut plan, eval, new_evals } = outcome;
    plan.annotations = None;
    let verdict = verify(view, plan);
    for (node, reason) in &verdict.refused {
        tracing::error!(%node, reason, eval_id = %eval.id, "a plan did not fit the state it was made on");
    }
    let mut evals = vec![eval];
    evals.extend(new_evals);
    if verdict.plan.is_empty() {
        Command::UpsertEvals { evals, now }
    } else {
        Command::ApplyPlan { plan: Box::new(verdict.plan), evals, now }
    }
}

/// Hands an evaluation back; after too many attempts it fails, with a follow-up that tries later.
async fn give_back(server: &Server, eval: &Evaluation) {
    if server.inner.leader.broker.give_back(&eval.id) {
        return;
    }
    let now = random::now();
    let follow_up = Evaluation {
        id: random::eval_id(),
        status: EvalStatus::Pending,
        triggered_by: model::eval::trigger::FAILED_FOLLOW_UP.to_owned(),
        previous_eval: Some(eval.id),
        wait_until: model::wire::Time(now + crate::leader::eval_broker::FOLLOW_UP_WAIT),
        status_description: String::new(),
        ..eval.clone()
    };
    let failed = Evaluation {
        status: EvalStatus::Failed,
        status_description: "maximum attempts reached".to_owned(),
        next_eval: Some(follow_up.id),
        ..eval.clone()
    };
    let command = Command::UpsertEvals { evals: vec![failed, follow_up], now };
    if let Err(error) = server.commit(&command).await {
        tracing::error!(eval_id = %eval.id, %error, "a failed evaluation was not recorded; it is tried again later");
        let later = now + crate::leader::eval_broker::FOLLOW_UP_WAIT;
        server.inner.leader.broker.retry_at(&eval.id, later);
        return;
    }
    server.inner.leader.broker.done(&eval.id);
}
