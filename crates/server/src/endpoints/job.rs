//! Jobs: registering, stopping, planning, going back.

use model::api::{JobPlanResponse, JobValidateResponse};
use model::eval::{EvalStatus, Evaluation, trigger};
use model::ids::JobKey;
use model::job::{Job, JobSubmission};
use scheduler::{Inputs, schedule};
use state::{Command, Response};

use super::eval::for_job;
use crate::admission;
use crate::fault::{Fault, Kind};
use crate::random;
use crate::server::Server;

/// A registration.
#[derive(Debug, Default)]
pub struct RegisterRequest {
    pub job: Job,
    pub submission: Option<JobSubmission>,
    /// The job's modify index the caller saw; 0 means it must not exist.
    pub enforce_index: Option<u64>,
    pub preserve_counts: bool,
    pub preserve_resources: bool,
    /// The evaluation's priority; 0 means the job's.
    pub eval_priority: i64,
}

/// What a registration gave.
#[derive(Debug, Default)]
pub struct Registered {
    pub eval_id: String,
    pub eval_create_index: u64,
    pub job_modify_index: u64,
    pub warnings: String,
    pub index: u64,
}

/// What a deregistration gave.
#[derive(Debug, Default)]
pub struct Deregistered {
    pub eval_id: String,
    pub index: u64,
    pub job_modify_index: u64,
}

/// A plan asked for.
#[derive(Debug, Default)]
pub struct PlanRequest {
    pub job: Job,
    pub diff: bool,
    pub preserve_counts: bool,
    pub preserve_resources: bool,
}

impl Server {
    /// Registers a job, or a new version of it.
    ///
    /// # Errors
    /// The job breaks rules, asks for what does not exist, or somebody else was faster.
    pub async fn register_job(&self, request: RegisterRequest) -> Result<Registered, Fault> {
        if self.snapshot().scheduler_config().reject_job_registration {
            return Err(Fault::new(
                Kind::Denied,
                "job registration, dispatch, and scale are disabled by the scheduler configuration",
            ));
        }
        let RegisterRequest { mut job, submission, enforce_index, eval_priority, .. } = request;
        if !(0..=100).contains(&eval_priority) {
            return Err(Fault::invalid("eval priority must be between 1 and 100 inclusively"));
        }
        self.preserve(&mut job, request.preserve_counts, request.preserve_resources);
        let admitted = admission::admit(self, job)?;
        let now = random::now();
        let mut job = admitted.job;
        job.submit_time = Some(now);
        let mut eval = for_job(&job, trigger::JOB_REGISTER);
        if eval_priority > 0 {
            eval.priority = eval_priority;
        }
        eval.job_modify_index = 0; // apply knows it
        let (key, eval_id) = (job.key(), eval.id);
        let command = Command::RegisterJob {
            job: Box::new(job),
            submission: admission::submission(submission),
            eval: Some(Box::new(eval)),
            enforce_index,
            now,
        };
        let index = self.commit(&command).await?;
        let job_modify_index = self.snapshot().job(&key).map_or(index, |j| j.job_modify_index());
        Ok(Registered {
            eval_id: eval_id.to_string(),
            eval_create_index: index,
            job_modify_index,
            warnings: admitted.warnings,
            index,
        })
    }

    /// Keeps counts or resources of the running version where the caller asks for that.
    fn preserve(&self, job: &mut Job, counts: bool, resources: bool) {
        let snapshot = self.snapshot();
        let Some(current) = snapshot.job(&job.key()) else { return };
        for group in job.task_groups.iter_mut() {
            let Some(old) = current.group(group.name()) else { continue };
            if counts {
                group.count = old.count;
            }
            if resources {
                for task in group.tasks.iter_mut() {
                    if let Some(before) = old.task(&task.name) {
                        task.resources = before.resources.clone();
                    }
                }
            }
        }
    }

    /// Stops a job; with `purge` it is forgotten at once, with `no_shutdown_delay` its tasks are not
    /// given the time that `shutdown_delay` grants them.
    ///
    /// # Errors
    /// The log cannot be written.
    pub async fn deregister_job(
        &self,
        key: &JobKey,
        purge: bool,
        no_shutdown_delay: bool,
        priority: i64,
    ) -> Result<Deregistered, Fault> {
        if !(0..=100).contains(&priority) {
            return Err(Fault::invalid("eval priority must be between 1 and 100 inclusively"));
        }
        let snapshot = self.snapshot();
        let now = random::now();
        let mut eval = match snapshot.job(key) {
            Some(job) => for_job(job, trigger::JOB_DEREGISTER),
            None => Evaluation {
                id: random::eval_id(),
                namespace: key.namespace.to_string(),
                job_id: key.id.to_string(),
                priority: model::job::DEFAULT_PRIORITY,
                kind: "service".to_owned(),
                triggered_by: trigger::JOB_DEREGISTER.to_owned(),
                status: EvalStatus::Pending,
                ..Evaluation::default()
            },
        };
        if priority > 0 {
            eval.priority = priority;
        }
        eval.job_modify_index = 0;
        let eval_id = eval.id;
        let command = Command::DeregisterJob {
            job: key.clone(),
            purge,
            no_shutdown_delay,
            eval: Some(Box::new(eval)),
            now,
        };
        let index = self.commit(&command).await?;
        Ok(Deregistered { eval_id: eval_id.to_string(), index, job_modify_index: index })
    }

    /// Checks a job without registering it.
    pub fn validate_job(&self, mut job: Job) -> JobValidateResponse {
        model::canonical::canonicalize(&mut job);
        model::canonical::canonicalize_for_register(&mut job);
        let report = admission::review(&job);
        JobValidateResponse {
            driver_config_validated: true,
            validation_errors: report.error_texts().into(),
            error: report.error_text(),
            warnings: report.warning_text(),
            ..JobValidateResponse::default()
        }
    }

    /// What registering a job would change. The real scheduler decides on a private fork.
    ///
    /// # Errors
    /// As for registering.
    pub fn plan_job(&self, request: PlanRequest) -> Result<JobPlanResponse, Fault> {
        let mut job = request.job;
        self.preserve(&mut job, request.preserve_counts, request.preserve_resources);
        let admitted = admission::admit_for_plan(self, job)?;
        let decidable = scheduler::place::is_generic(admitted.job.job_type())
            && !admitted.job.is_periodic()
            && !admitted.job.is_parameterized();
        let snapshot = self.snapshot();
        let key = admitted.job.key();
        let old = snapshot.job(&key).cloned();
        let now = random::now();
        let mut eval = for_job(&admitted.job, trigger::JOB_REGISTER);
        let command = Command::RegisterJob {
            job: Box::new(admitted.job),
            submission: None,
            eval: None,
            enforce_index: None,
            now,
        };
        let mut fork = snapshot.fork();
        let applied = fork.apply(snapshot.index() + 1, command);
        if let Response::Refused(refusal) = applied.response {
            return Err(refusal.into());
        }
        let view = fork.snapshot();
        let new = view.job(&key).cloned();
        eval.job_modify_index = new.as_ref().map_or(0, |j| j.job_modify_index());
        let outcome = if decidable {
            schedule(&view, &eval, &Inputs { now, seed: random::seed() })
        } else {
            scheduler::Outcome::default()
        };
        let mut annotations = outcome.plan.annotations.unwrap_or_default();
        if let Some(job) = &new {
            // A group without changes is shown with zeros.
            for group in job.task_groups.iter() {
                annotations.desired_tg_updates.entry(group.name().to_owned()).or_default();
            }
        }
        let diff = request.diff.then(|| {
            let mut diff = model::diff::job_diff(old.as_deref(), new.as_deref(), true);
            model::diff::annotate(&mut diff, &annotations);
            serde_json::to_value(diff).unwrap_or_default()
        });
        let modify_index = old.as_ref().map_or(0, |j| j.job_modify_index());
        Ok(JobPlanResponse {
            job_modify_index: modify_index,
            created_evals: outcome
                .new_evals
                .into_iter()
                .map(|e| Evaluation { create_time: now, modify_time: now, ..e })
                .collect(),
            diff,
            annotations: Some(annotations),
            failed_tg_allocs: outcome.eval.failed_tg_allocs,
            warnings: admitted.warnings,
            index: old.as_ref().map_or(0, |j| j.modify_index()),
            ..JobPlanResponse::default()
        })
    }

    /// Registers an earlier version anew.
    ///
    /// # Errors
    /// There is no such job or version, it is the current one, or the job has moved on.
    pub async fn revert_job(
        &self,
        key: &JobKey,
        version: u64,
        enforce_prior: Option<u64>,
    ) -> Result<Registered, Fault> {
        let snapshot = self.snapshot();
        let entry = snapshot
            .job_entry(key)
            .ok_or_else(|| Fault::not_found(format!("job {:?} not found", key.id)))?;
        let current = entry.job();
        if let Some(prior) = enforce_prior.filter(|p| *p != current.version()) {
            return Err(Fault::internal(format!(
                "Current job has version {}; enforcing version {prior}",
                current.version()
            )));
        }
        if version == current.version() {
            return Err(Fault::internal("can't revert to current version"));
        }
        let target = entry.versions.iter().find(|j| j.version() == version).ok_or_else(|| {
            Fault::internal(format!(
                "job {:?} in namespace {:?} at version {version} not found",
                key.id, key.namespace
            ))
        })?;
        let submission = entry.submissions.get(&version).map(|s| JobSubmission::clone(s));
        let mut job = Job::clone(target);
        job.stop = Some(false);
        let request = RegisterRequest {
            job,
            submission,
            enforce_index: Some(current.job_modify_index()),
            ..RegisterRequest::default()
        };
        self.register_job(request).await
    }

    /// Marks a version as stable or not.
    ///
    /// # Errors
    /// There is no such job or version.
    pub async fn set_job_stability(
        &self,
        key: &JobKey,
        version: u64,
        stable: bool,
    ) -> Result<u64, Fault> {
        self.commit(&Command::JobStability { job: key.clone(), version, stable }).await
    }

    /// Makes an evaluation for a job; with `force` failed allocations get a new attempt at once.
    ///
    /// # Errors
    /// There is no such job.
    pub async fn evaluate_job(&self, key: &JobKey, force: bool) -> Result<(String, u64), Fault> {
        let snapshot = self.snapshot();
        let job = snapshot.job(key).ok_or_else(|| Fault::internal("job not found"))?;
        if job.is_periodic() || job.is_parameterized() {
            return Err(Fault::internal("can't evaluate periodic or parameterized job"));
        }
        let eval = for_job(job, trigger::JOB_REGISTER);
        let id = eval.id;
        let now = random::now();
        let command = if force {
            let wish = model::alloc::DesiredTransition {
                force_reschedule: Some(true),
                ..Default::default()
            };
            let failed = snapshot
                .allocs_of_job(key)
                .filter(|a| {
                    a.observed.status == model::alloc::ClientStatus::Failed && a.next.is_none()
                })
                .map(|a| (a.id, wish.clone()))
                .collect();
            Command::Transition { allocs: failed, evals: vec![eval], now }
        } else {
            Command::UpsertEvals { evals: vec![eval], now }
        };
        let index = self.commit(&command).await?;
        Ok((id.to_string(), index))
    }

    /// Changes the count of a group by registering a new version.
    ///
    /// # Errors
    /// There is no such job or group, or the count is out of range.
    pub async fn scale_job(
        &self,
        key: &JobKey,
        group: &str,
        count: i64,
    ) -> Result<Registered, Fault> {
        let snapshot = self.snapshot();
        let job = snapshot
            .job(key)
            .ok_or_else(|| Fault::not_found(format!("job {:?} not found", key.id)))?;
        let mut job = Job::clone(job);
        if job.is_stopped() {
            return Err(Fault::invalid("job is stopped and cannot be scaled; run it again first"));
        }
        let found = job.task_groups.iter_mut().find(|g| g.name() == group);
        let target = found.ok_or_else(|| {
            Fault::invalid(format!(
                "task group {group:?} specified for scaling does not exist in job"
            ))
        })?;
        target.count = Some(count);
        let enforce_index = snapshot.job(key).map(|j| j.job_modify_index());
        self.register_job(RegisterRequest { job, enforce_index, ..RegisterRequest::default() })
            .await
    }
}
