//! Checks of the job as a whole.

use super::{Findings, group, placement, repeated, schedule};
use crate::job::*;

/// Highest priority a job may have.
const PRIORITY_MAX: i64 = 100;
/// Longest id; it appears in names, paths and keys.
const ID_MAX: usize = 512;

pub(super) fn check(job: &Job, found: &mut Findings) {
    let id = job.id();
    found.require(!id.is_empty(), || "Missing job ID".to_owned());
    found.require(!id.contains(' '), || "Job ID contains a space".to_owned());
    found.require(!id.contains('\0'), || "Job ID contains a null character".to_owned());
    found.require(id.len() <= ID_MAX, || format!("Job ID is longer than {ID_MAX} bytes"));
    found.require(!job.name().is_empty(), || "Missing job name".to_owned());
    found.require(!job.name().contains('\0'), || "Job Name contains a null character".to_owned());
    let kind = job.kind.as_deref().unwrap_or_default();
    found.require(JobType::parse(kind).is_some(), || format!("Invalid job type: {kind:?}"));
    let priority = job.priority();
    found.require((1..=PRIORITY_MAX).contains(&priority), || {
        format!("Job priority must be between [1, {PRIORITY_MAX}], got {priority}")
    });
    found.require(!job.datacenters.is_empty(), || "Missing job datacenters".to_owned());
    found.require(job.datacenters.iter().all(|name| !name.is_empty()), || {
        "Job datacenter must be non-empty string".to_owned()
    });
    placement::constraints(&job.constraints, found);
    check_by_type(job, found);
    if let Some(parameterized) = &job.parameterized_job {
        check_parameterized(parameterized, found);
    }
    if let Some(periodic) = &job.periodic {
        schedule::periodic(periodic, found);
    }
    found.require(!job.task_groups.is_empty(), || "Missing job task groups".to_owned());
    for (name, first, again) in repeated(job.task_groups.iter().map(TaskGroup::name)) {
        found.error(format!("Job task group {again} redefines '{name}' from group {first}"));
    }
    for (at, item) in job.task_groups.iter().enumerate() {
        if item.name().is_empty() {
            found.error(format!("Job task group {} missing name", at + 1));
        }
        found.within(format!("group {:?}", item.name()), |found| group::check(job, item, found));
    }
}

fn check_by_type(job: &Job, found: &mut Findings) {
    let kind = job.job_type();
    let runs_everywhere = matches!(kind, JobType::System | JobType::SysBatch);
    if kind == JobType::System && !job.affinities.is_empty() {
        found.error("System jobs may not have an affinity block");
    } else {
        placement::affinities(&job.affinities, found);
    }
    if runs_everywhere && !job.spreads.is_empty() {
        found.error("System jobs may not have a spread block");
    } else {
        placement::spreads(&job.spreads, found);
    }
    if job.periodic.is_some() && !kind.runs_to_completion() {
        found.error("Periodic can only be used with \"batch\" or \"sysbatch\" scheduler");
    }
    if job.parameterized_job.is_some() && !kind.runs_to_completion() {
        found.error("Parameterized job can only be used with \"batch\" or \"sysbatch\" scheduler");
    }
}

fn check_parameterized(parameterized: &ParameterizedJobConfig, found: &mut Findings) {
    let payload = parameterized.payload.as_str();
    found.require(matches!(payload, "" | "optional" | "required" | "forbidden"), || {
        format!("Unknown payload requirement: {payload:?}")
    });
    let both: Vec<&str> = parameterized
        .meta_required
        .iter()
        .filter(|key| parameterized.meta_optional.contains(key))
        .map(String::as_str)
        .collect();
    found.require(both.is_empty(), || {
        format!("Required and optional meta keys should be disjoint, these are both: {both:?}")
    });
}
