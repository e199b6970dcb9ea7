//! Deployments.

use std::sync::Arc;

use model::deployment::{Deployment, DeploymentStatus};
use model::ids::{DeploymentId, JobKey};
use model::wire::Nanos;

use super::{Tables, insert_into, remove_from};
use crate::changes::{Changes, Table};

impl Tables {
    /// Makes or replaces a deployment. A deployment never goes back: an ended one stays ended.
    pub(crate) fn put_deployment(
        &mut self,
        changes: &mut Changes,
        index: u64,
        now: Nanos,
        mut deployment: Deployment,
    ) {
        let old = self.deployments.get(&deployment.id);
        if old.is_some_and(|o| !o.status.is_active()) {
            return;
        }
        deployment.create_index = old.map_or(index, |o| o.create_index);
        deployment.create_time = old.map_or(now, |o| o.create_time);
        deployment.modify_index = index;
        deployment.modify_time = now;
        if old.is_none() {
            insert_into(&mut self.deployments_by_job, &deployment.job(), deployment.id);
        }
        changes.touch(Table::Deployments);
        if !changes.deployments.contains(&deployment.id) {
            changes.deployments.push(deployment.id);
        }
        self.deployments.insert(deployment.id, Arc::new(deployment));
    }

    /// Changes the status of a deployment.
    pub(crate) fn set_deployment_status(
        &mut self,
        changes: &mut Changes,
        index: u64,
        now: Nanos,
        update: &model::plan::DeploymentUpdate,
    ) {
        let Some(old) = self.deployments.get(&update.id) else { return };
        let changed = Deployment {
            status: update.status,
            status_description: update.description.clone(),
            ..Deployment::clone(old)
        };
        self.put_deployment(changes, index, now, changed);
    }

    /// Ends the active deployments of a job.
    pub(crate) fn cancel_deployments_of(
        &mut self,
        changes: &mut Changes,
        index: u64,
        now: Nanos,
        key: &JobKey,
        why: &str,
    ) {
        let ids: Vec<DeploymentId> = self
            .deployments_by_job
            .get(key)
            .map(|s| s.iter().copied().collect())
            .unwrap_or_default();
        for id in ids {
            if self.deployments.get(&id).is_some_and(|d| d.status.is_active()) {
                let update = model::plan::DeploymentUpdate {
                    id,
                    status: DeploymentStatus::Cancelled,
                    description: why.to_owned(),
                };
                self.set_deployment_status(changes, index, now, &update);
            }
        }
    }

    /// Forgets a deployment.
    pub(crate) fn remove_deployment(&mut self, changes: &mut Changes, id: &DeploymentId) {
        let Some(old) = self.deployments.get(id).filter(|d| !d.status.is_active()).cloned() else {
            return;
        };
        self.deployments.remove(id);
        remove_from(&mut self.deployments_by_job, &old.job(), id);
        changes.touch(Table::Deployments);
    }
}
