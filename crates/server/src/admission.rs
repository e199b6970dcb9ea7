//! What a job passes before it is registered or planned: each step looks at one thing (hop 6).

use model::job::{Job, JobSubmission};
use model::validate::{self, Problem};

use crate::fault::Fault;
use crate::server::Server;

/// The largest source kept with a version, in bytes.
const SUBMISSION_BYTES_MAX: usize = 1 << 20;

/// A job that may be registered, and what its author should know.
#[derive(Debug)]
pub struct Admitted {
    pub job: Job,
    /// Rendered as the wire shows them; empty when there are none.
    pub warnings: String,
}

/// One step: refuses with every problem it sees.
type Step = fn(&Server, &Job) -> Vec<Problem>;

/// The step that knows what cannot run yet.
const SUPPORTED: &str = "supported";

/// The steps after the canonical form, in order. All of them run: problems are shown at once.
const STEPS: &[(&str, Step)] = &[
    ("region", in_this_region),
    ("namespace", in_a_known_namespace),
    ("rules", keeps_the_rules),
    (SUPPORTED, asks_for_what_exists),
];

/// Runs a job through admission.
///
/// # Errors
/// Every problem found, rendered as one text.
pub(crate) fn admit(server: &Server, job: Job) -> Result<Admitted, Fault> {
    check(server, job, STEPS)
}

/// As [`admit`], but what cannot run yet passes with a warning: it can be compared all the same.
///
/// # Errors
/// Every problem found, rendered as one text.
pub(crate) fn admit_for_plan(server: &Server, job: Job) -> Result<Admitted, Fault> {
    let rules: Vec<(&str, Step)> =
        STEPS.iter().copied().filter(|(name, _)| *name != SUPPORTED).collect();
    let mut admitted = check(server, job, &rules)?;
    let refused = validate::unsupported(&admitted.job);
    if !refused.is_empty() {
        let text =
            format!("registering this job would be refused: {}", validate::error_text(&refused));
        admitted.warnings = [text, admitted.warnings].join("\n");
    }
    Ok(admitted)
}

fn check(server: &Server, mut job: Job, steps: &[(&str, Step)]) -> Result<Admitted, Fault> {
    if job.id().is_empty() {
        return Err(Fault::invalid("Job ID hasn't been provided"));
    }
    model::canonical::canonicalize(&mut job);
    model::canonical::canonicalize_for_register(&mut job);
    let problems: Vec<Problem> = steps.iter().flat_map(|(_, step)| step(server, &job)).collect();
    if !problems.is_empty() {
        return Err(Fault::internal(validate::nested_error_text(&problems)));
    }
    let warnings = validate::validate(&job).warning_text();
    Ok(Admitted { job, warnings })
}

/// Checks a job by the rules alone, for `job validate`: what is wrong with it wherever it is
/// registered. What cannot run yet is a warning here.
pub(crate) fn review(job: &Job) -> validate::Report {
    let mut report = validate::validate(job);
    for refused in validate::unsupported(job) {
        let message = format!("registering this job would be refused: {refused}");
        report.warnings.push(Problem { path: String::new(), message });
    }
    report
}

fn in_this_region(server: &Server, job: &Job) -> Vec<Problem> {
    let region = job.region.as_deref().unwrap_or("global");
    if region == server.config().region || region.is_empty() {
        return Vec::new();
    }
    vec![problem(format!(
        "No path to region: the job names {region:?}, this server is in {:?}",
        server.config().region
    ))]
}

fn in_a_known_namespace(_: &Server, job: &Job) -> Vec<Problem> {
    if job.namespace() == model::job::DEFAULT_NAMESPACE {
        return Vec::new();
    }
    vec![problem(format!(
        "nonexistent namespace {:?}: only {:?} exists",
        job.namespace(),
        model::job::DEFAULT_NAMESPACE
    ))]
}

fn keeps_the_rules(_: &Server, job: &Job) -> Vec<Problem> {
    validate::validate(job).errors
}

fn asks_for_what_exists(_: &Server, job: &Job) -> Vec<Problem> {
    validate::unsupported(job)
}

/// Keeps a source with the job only when it is of a reasonable size.
pub(crate) fn submission(submission: Option<JobSubmission>) -> Option<Box<JobSubmission>> {
    submission
        .filter(|s| {
            !s.source.is_empty() && s.source.len() + s.variables.len() <= SUBMISSION_BYTES_MAX
        })
        .map(Box::new)
}

/// A problem of the job itself.
fn problem(message: String) -> Problem {
    Problem { path: String::new(), message }
}
