//! The deployment side of a pass: which deployment goes on, which ends, which begins.

use super::*;

/// The deployments of a job as one evaluation sees them.
#[derive(Debug, Default)]
pub(crate) struct Deploying {
    /// The active deployment of the current version.
    pub current: Option<Arc<Deployment>>,
    /// The current version's deployment failed: nothing more is changed by it.
    pub failed: bool,
    pub paused: bool,
    /// Groups of a deployment that begins with this evaluation.
    pub begun: BTreeMap<String, DeploymentGroup>,
    pub new_id: Option<DeploymentId>,
}

impl Deploying {
    pub(crate) fn find(
        snapshot: &Snapshot,
        key: &model::ids::JobKey,
        job: Option<&Job>,
        stopped: bool,
        diff: &mut Diff,
    ) -> Self {
        let mut found = Self::default();
        for deployment in snapshot.deployments_of_job(key) {
            let of_current = job.is_some_and(|j| {
                j.version() == deployment.job_version
                    && j.create_index() == deployment.job_create_index
            });
            if stopped || !of_current {
                if deployment.status.is_active() {
                    diff.deployment_updates.push(DeploymentUpdate {
                        id: deployment.id,
                        status: DeploymentStatus::Cancelled,
                        description: if stopped {
                            description::JOB_STOPPED
                        } else {
                            description::NEW_VERSION
                        }
                        .to_owned(),
                    });
                }
            } else if found.current.is_none() && deployment.status.is_active() {
                found.paused = deployment.status == DeploymentStatus::Paused;
                diff.active_deployment = Some(deployment.id);
                found.current = Some(deployment);
            } else if found.current.is_none() && deployment.status == DeploymentStatus::Failed {
                found.failed = true;
            }
        }
        found
    }

    /// The deployment that allocations of this pass join.
    pub(crate) fn id(&self) -> Option<DeploymentId> {
        self.current.as_ref().map(|d| d.id).or(self.new_id)
    }

    /// The state of a group in the deployment that goes on.
    pub(crate) fn group(&self, name: &str) -> Option<&DeploymentGroup> {
        self.current.as_ref().and_then(|d| d.task_groups.get(name))
    }

    /// Whether nothing may be changed for now.
    pub(crate) fn halted(&self) -> bool {
        self.paused || self.failed
    }

    /// Begins a deployment for a group; it is written out when all groups are through.
    pub(crate) fn begin(
        &mut self,
        name: &str,
        state: DeploymentGroup,
        ids: &mut Seeded,
    ) -> DeploymentId {
        self.begun.insert(name.to_owned(), state);
        *self.new_id.get_or_insert_with(|| DeploymentId(ids.uuid()))
    }

    /// Writes out a deployment that begins.
    pub(crate) fn finish(self, job: &Job, eval: &Evaluation, _: &mut Seeded, diff: &mut Diff) {
        let Some(id) = self.new_id else { return };
        let mut deployment = Deployment {
            id,
            namespace: job.namespace().to_owned(),
            job_id: job.id().to_owned(),
            job_version: job.version(),
            job_modify_index: job.modify_index(),
            job_spec_modify_index: job.job_modify_index(),
            job_create_index: job.create_index(),
            task_groups: self.begun.into(),
            status: DeploymentStatus::Running,
            status_description: description::RUNNING.to_owned(),
            eval_priority: eval.priority,
            ..Deployment::default()
        };
        if deployment.requires_promotion() {
            deployment.status_description = if deployment.has_auto_promote() {
                description::AUTO_PROMOTION
            } else {
                description::NEEDS_PROMOTION
            }
            .to_owned();
        }
        diff.deployment = Some(deployment);
    }
}
