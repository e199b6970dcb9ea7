//! Deployments: what operators do with them.

use model::deployment::{Deployment, DeploymentStatus, description};
use model::eval::{Evaluation, trigger};
use model::ids::{AllocId, DeploymentId};
use model::plan::DeploymentUpdate;
use state::Command;

use super::eval::for_job;
use crate::fault::{Fault, Kind};
use crate::random;
use crate::server::Server;

impl Server {
    fn active_deployment(&self, id: &DeploymentId) -> Result<(Deployment, Box<Evaluation>), Fault> {
        let snapshot = self.snapshot();
        let view =
            snapshot.deployment(id).ok_or_else(|| Fault::not_found("deployment not found"))?;
        let job = snapshot.job(&view.job()).ok_or_else(|| Fault::not_found("job not found"))?;
        if !view.status.is_active() {
            return Err(Fault::new(Kind::Internal, "can't change a deployment that has ended"));
        }
        let eval =
            Evaluation { deployment_id: Some(*id), ..for_job(job, trigger::DEPLOYMENT_WATCHER) };
        Ok((view, Box::new(eval)))
    }

    /// Promotes the canaries of some groups, or of all when none is named.
    ///
    /// # Errors
    /// The deployment has ended, or its canaries are not healthy.
    pub async fn promote_deployment(
        &self,
        id: &DeploymentId,
        groups: Vec<String>,
    ) -> Result<(String, u64), Fault> {
        let (_, eval) = self.active_deployment(id)?;
        let eval_id = eval.id.to_string();
        let command =
            Command::DeploymentPromote { id: *id, groups, eval: Some(eval), now: random::now() };
        Ok((eval_id, self.commit(&command).await?))
    }

    /// Fails a deployment, going back to a stable version where its groups ask for that.
    ///
    /// # Errors
    /// The deployment has ended.
    pub async fn fail_deployment(
        &self,
        id: &DeploymentId,
    ) -> Result<(String, u64, Option<u64>), Fault> {
        let (view, eval) = self.active_deployment(id)?;
        let eval_id = eval.id.to_string();
        let snapshot = self.snapshot();
        let command = crate::leader::fail_deployment(
            &snapshot,
            &view,
            description::FAILED_BY_USER,
            eval,
            random::now(),
        );
        let reverted = match &command {
            Command::DeploymentStatus { revert, .. } => revert.as_ref().map(|j| j.version()),
            _ => None,
        };
        Ok((eval_id, self.commit(&command).await?, reverted))
    }

    /// Halts a deployment, or lets it go on.
    ///
    /// # Errors
    /// The deployment has ended.
    pub async fn pause_deployment(
        &self,
        id: &DeploymentId,
        pause: bool,
    ) -> Result<(String, u64), Fault> {
        let (_, eval) = self.active_deployment(id)?;
        let (status, text) = if pause {
            (DeploymentStatus::Paused, description::PAUSED)
        } else {
            (DeploymentStatus::Running, description::RUNNING)
        };
        let eval = (!pause).then_some(eval);
        let eval_id = eval.as_ref().map(|e| e.id.to_string()).unwrap_or_default();
        let command = Command::DeploymentStatus {
            update: DeploymentUpdate { id: *id, status, description: text.to_owned() },
            eval,
            revert: None,
            stable: false,
            now: random::now(),
        };
        Ok((eval_id, self.commit(&command).await?))
    }

    /// Says which allocations are healthy.
    ///
    /// # Errors
    /// The deployment has ended.
    pub async fn set_deployment_health(
        &self,
        id: &DeploymentId,
        healthy: Vec<AllocId>,
        unhealthy: Vec<AllocId>,
    ) -> Result<(String, u64), Fault> {
        let (_, eval) = self.active_deployment(id)?;
        let eval_id = eval.id.to_string();
        let command = Command::DeploymentHealth {
            id: *id,
            healthy,
            unhealthy,
            eval: Some(eval),
            now: random::now(),
        };
        Ok((eval_id, self.commit(&command).await?))
    }
}
