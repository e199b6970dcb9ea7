//! Jobs and their versions.

use std::sync::Arc;

use model::ids::JobKey;
use model::job::{Job, JobSubmission};

use super::{JOB_TRACKED_VERSIONS, JobEntry, Tables};
use crate::changes::{Changes, Table};

impl Tables {
    /// Registers a version, or touches the current one when the specification is the same.
    pub(crate) fn put_job(
        &mut self,
        changes: &mut Changes,
        index: u64,
        mut job: Job,
        submission: Option<JobSubmission>,
    ) {
        let key = job.key();
        let mut entry = self.jobs.get(&key).map(|e| JobEntry::clone(e)).unwrap_or_default();
        job.modify_index = Some(index);
        job.status = Some("pending".to_owned());
        job.stable = Some(false);
        job.version_tag = None;
        match entry.versions.first() {
            None => {
                // Evaluations of a purged namesake may still be under way; they count here now.
                entry.open_evals = self.count_open_evals(&key);
                job.create_index = Some(index);
                job.job_modify_index = Some(index);
                job.version = Some(0);
            }
            Some(current) => {
                job.create_index = current.create_index;
                if same_specification(current, &job) {
                    job.version = current.version;
                    job.job_modify_index = current.job_modify_index;
                    job.stable = current.stable;
                    job.version_tag = current.version_tag.clone();
                    job.submit_time = current.submit_time;
                    entry.versions.remove(0);
                } else {
                    job.version = Some(current.version() + 1);
                    job.job_modify_index = Some(index);
                }
            }
        }
        if let Some(submission) = submission {
            entry.submissions.insert(job.version(), Arc::new(submission));
        }
        for group in job.task_groups.iter() {
            entry.counts.entry(group.name().into()).or_default();
        }
        entry.summary_index = index;
        entry.versions.insert(0, Arc::new(job));
        prune_versions(&mut entry);
        self.jobs.insert(key.clone(), Arc::new(entry));
        changes.touch(Table::Jobs);
        changes.jobs.push(key);
    }

    fn count_open_evals(&self, key: &JobKey) -> u32 {
        let ids = self.evals_by_job.get(key);
        let open =
            |id: &&model::ids::EvalId| self.evals.get(*id).is_some_and(|e| !e.status.is_terminal());
        u32::try_from(ids.into_iter().flatten().filter(open).count()).unwrap_or(u32::MAX)
    }

    /// Changes the entry of a job; says whether there is one.
    pub(crate) fn change_job(
        &mut self,
        changes: &mut Changes,
        key: &JobKey,
        change: impl FnOnce(&mut JobEntry),
    ) -> bool {
        let Some(entry) = self.jobs.get_mut(key) else { return false };
        change(Arc::make_mut(entry));
        changes.touch(Table::Jobs);
        if !changes.jobs.contains(key) {
            changes.jobs.push(key.clone());
        }
        true
    }

    /// Forgets a job. Its allocations keep the versions they share.
    pub(crate) fn remove_job(&mut self, changes: &mut Changes, key: &JobKey) {
        if self.jobs.remove(key).is_some() {
            changes.touch(Table::Jobs);
            changes.jobs.push(key.clone());
        }
    }

    /// The kept version of a job, if its create index is that one.
    pub(crate) fn job_version(
        &self,
        key: &JobKey,
        create_index: u64,
        version: u64,
    ) -> Option<Arc<Job>> {
        let entry = self.jobs.get(key)?;
        entry
            .versions
            .iter()
            .find(|j| j.version() == version && j.create_index() == create_index)
            .cloned()
    }
}

/// Drops the oldest versions beyond the limit; tagged ones stay.
fn prune_versions(entry: &mut JobEntry) {
    let mut kept = 0;
    entry.versions.retain(|job| {
        if job.version_tag.is_some() {
            return true;
        }
        kept += 1;
        kept <= JOB_TRACKED_VERSIONS
    });
    let oldest = entry.versions.iter().map(|j| j.version()).collect::<Vec<_>>();
    entry.submissions.retain(|version, _| oldest.contains(version));
}

/// Whether two jobs ask for the same thing: bookkeeping fields do not count.
pub fn same_specification(a: &Job, b: &Job) -> bool {
    specification(a) == specification(b)
}

fn specification(job: &Job) -> Job {
    Job {
        status: None,
        status_description: None,
        stable: None,
        version: None,
        submit_time: None,
        create_index: None,
        modify_index: None,
        job_modify_index: None,
        version_tag: None,
        nomad_token_id: None,
        ..job.clone()
    }
}
