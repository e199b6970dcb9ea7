//! Apply: one `match`, each arm one call; pure, so that equal logs give equal states (hop 8).

use std::sync::Arc;

use model::alloc::{Alloc, AllocDeploymentStatus, AllocUpdate, ClientStatus, DesiredTransition};
use model::deployment::{DeploymentStatus, description};
use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, EvalId, JobKey, NodeId};
use model::job::{Job, JobSubmission};
use model::node::{ELIGIBLE, INELIGIBLE, Node, NodeEvent, NodeStatus};
use model::plan::{DeploymentUpdate, Plan, StopAlloc};
use model::wire::{Nanos, SECOND, Time};

use crate::changes::{Changes, Table};
use crate::command::{Command, Refusal, Response, SchedulerConfig};
use crate::tables::Tables;
use crate::tables::nodes::add_event;

/// Applies one command. On a refusal the caller throws the root away.
pub(crate) fn apply(
    tables: &mut Tables,
    changes: &mut Changes,
    index: u64,
    command: Command,
) -> Response {
    let mut write = Write { tables, changes, index, now: 0 };
    let result = match command {
        Command::RegisterNode { node, now } => write.at(now).register_node(*node),
        Command::NodeStatus { nodes, status, event, evals, now } => {
            write.at(now).node_status(&nodes, status, event, evals)
        }
        Command::NodeEligibility { node, eligible, event, evals, now } => {
            write.at(now).node_eligibility(node, eligible, event, evals)
        }
        Command::RegisterJob { job, submission, eval, enforce_index, now } => {
            write.at(now).register_job(*job, submission.map(|s| *s), eval, enforce_index)
        }
        Command::DeregisterJob { job, purge, no_shutdown_delay, eval, now } => {
            if no_shutdown_delay {
                write.at(now).skip_shutdown_delays(&job);
            }
            write.at(now).deregister_job(&job, purge, eval)
        }
        Command::JobStability { job, version, stable } => {
            write.job_stability(&job, version, stable)
        }
        Command::UpsertEvals { evals, now } => write.at(now).evals(evals),
        Command::ApplyPlan { plan, evals, now } => write.at(now).plan(*plan, evals),
        Command::UpdateAllocs { updates, evals, now } => {
            write.at(now).alloc_updates(updates, evals)
        }
        Command::Transition { allocs, evals, now } => write.at(now).transition(allocs, evals),
        Command::DeploymentStatus { update, eval, revert, stable, now } => {
            write.at(now).deployment_status(update, eval, revert, stable)
        }
        Command::DeploymentPromote { id, groups, eval, now } => {
            write.at(now).promote(id, &groups, eval)
        }
        Command::DeploymentHealth { id, healthy, unhealthy, eval, now } => {
            write.at(now).deployment_health(id, &healthy, &unhealthy, eval)
        }
        Command::SetSchedulerConfig { config, enforce_index } => {
            write.config(config, enforce_index)
        }
        Command::Collect { evals, allocs, deployments, jobs, nodes } => {
            write.collect(&evals, &allocs, &deployments, &jobs, &nodes)
        }
    };
    match result {
        Ok(()) => Response::Done,
        Err(refusal) => Response::Refused(refusal),
    }
}

/// One command being applied.
struct Write<'a> {
    tables: &'a mut Tables,
    changes: &'a mut Changes,
    index: u64,
    now: Nanos,
}

type Outcome = Result<(), Refusal>;

impl Write<'_> {
    fn at(&mut self, now: Nanos) -> &mut Self {
        self.now = now;
        self
    }

    fn evals(&mut self, evals: Vec<Evaluation>) -> Outcome {
        for mut eval in evals {
            if eval.job_modify_index == 0 {
                let entry = self.tables.jobs.get(&eval.job());
                // A job that is purged by this very entry was changed by it last.
                eval.job_modify_index = entry.map_or(self.index, |e| e.job().job_modify_index());
            }
            self.tables.put_eval(self.changes, self.index, self.now, eval);
        }
        Ok(())
    }

    fn eval(&mut self, eval: Option<Box<Evaluation>>) -> Outcome {
        self.evals(eval.map(|e| *e).into_iter().collect())
    }

    fn register_node(&mut self, mut node: Node) -> Outcome {
        if let Some(old) = self.tables.nodes.get(&node.id) {
            // What operators and the servers decided outlasts a new registration.
            node.scheduling_eligibility = old.scheduling_eligibility.clone();
            node.drain = old.drain;
            node.drain_strategy = old.drain_strategy.clone();
            node.last_drain = old.last_drain.clone();
            node.events = old.events.clone();
            if old.status == NodeStatus::Down {
                add_event(&mut node, self.index, cluster_event("Node re-registered", self.now));
            }
        } else {
            node.scheduling_eligibility =
                if node.scheduling_eligibility == INELIGIBLE { INELIGIBLE } else { ELIGIBLE }
                    .to_owned();
            add_event(&mut node, self.index, cluster_event("Node registered", self.now));
        }
        node.status_updated_at = self.now / SECOND;
        self.tables.put_node(self.changes, self.index, node);
        Ok(())
    }

    fn node_status(
        &mut self,
        nodes: &[NodeId],
        status: NodeStatus,
        event: Option<NodeEvent>,
        evals: Vec<Evaluation>,
    ) -> Outcome {
        for id in nodes {
            let Some(old) = self.tables.nodes.get(id) else { continue };
            let mut node = Node::clone(old);
            node.status = status;
            node.status_updated_at = self.now / SECOND;
            if let Some(event) = event.clone() {
                add_event(&mut node, self.index, event);
            }
            self.tables.put_node(self.changes, self.index, node);
        }
        self.evals(evals)
    }

    fn node_eligibility(
        &mut self,
        id: NodeId,
        eligible: bool,
        event: Option<NodeEvent>,
        evals: Vec<Evaluation>,
    ) -> Outcome {
        let old = self.tables.nodes.get(&id).ok_or(Refusal::NodeNotFound)?;
        let mut node = Node::clone(old);
        node.scheduling_eligibility = if eligible { ELIGIBLE } else { INELIGIBLE }.to_owned();
        if let Some(event) = event {
            add_event(&mut node, self.index, event);
        }
        self.tables.put_node(self.changes, self.index, node);
        self.evals(evals)
    }

    fn register_job(
        &mut self,
        job: Job,
        submission: Option<JobSubmission>,
        eval: Option<Box<Evaluation>>,
        enforce_index: Option<u64>,
    ) -> Outcome {
        let current = self.tables.jobs.get(&job.key()).map(|e| e.job().job_modify_index());
        match (enforce_index, current) {
            (Some(0), Some(modify_index)) => return Err(Refusal::JobExists { modify_index }),
            (Some(0), None) | (None, _) => {}
            (Some(wanted), None) => return Err(Refusal::JobMissingForIndex { wanted }),
            (Some(wanted), Some(actual)) if wanted != actual => {
                return Err(Refusal::JobIndexConflict { wanted, actual });
            }
            _ => {}
        }
        self.tables.put_job(self.changes, self.index, job, submission);
        self.eval(eval)
    }

    fn deregister_job(
        &mut self,
        key: &JobKey,
        purge: bool,
        eval: Option<Box<Evaluation>>,
    ) -> Outcome {
        let Some(entry) = self.tables.jobs.get(key) else {
            // Stopping what is not there still brings its allocations, if any are left, to an end.
            return self.eval(eval);
        };
        let stopped = Job { stop: Some(true), ..Job::clone(entry.job()) };
        self.tables.cancel_evals_of(self.changes, self.index, self.now, key);
        if purge {
            self.tables.cancel_deployments_of(
                self.changes,
                self.index,
                self.now,
                key,
                description::JOB_STOPPED,
            );
            self.tables.remove_job(self.changes, key);
        } else {
            self.tables.put_job(self.changes, self.index, stopped, None);
        }
        self.eval(eval)
    }

    /// The allocations of a job that still run are to end at once when they end.
    fn skip_shutdown_delays(&mut self, key: &JobKey) {
        let ids = self.tables.allocs_by_job.get(key).into_iter().flatten();
        let is_live = |id: &AllocId| self.tables.allocs.get(id).is_some_and(|a| !a.is_terminal());
        let live: Vec<AllocId> = ids.copied().filter(is_live).collect();
        let hurry = DesiredTransition { no_shutdown_delay: Some(true), ..Default::default() };
        // Only unknown allocations could be refused.
        let _ = self.transition(live.into_iter().map(|id| (id, hurry.clone())).collect(), vec![]);
    }

    fn job_stability(&mut self, key: &JobKey, version: u64, stable: bool) -> Outcome {
        let index = self.index;
        let mut found = false;
        let known = self.tables.change_job(self.changes, key, |entry| {
            for job in &mut entry.versions {
                if job.version() == version {
                    let job = Arc::make_mut(job);
                    job.stable = Some(stable);
                    job.modify_index = Some(index);
                    found = true;
                }
            }
        });
        match (known, found) {
            (true, true) => Ok(()),
            (true, false) => Err(Refusal::VersionNotFound),
            (false, _) => Err(Refusal::JobNotFound(key.id.to_string())),
        }
    }

    fn plan(&mut self, plan: Plan, evals: Vec<Evaluation>) -> Outcome {
        let current =
            plan.job.as_ref().and_then(|key| self.tables.jobs.get(key)).map(|e| e.job().clone());
        if !plan.place.is_empty() {
            match &current {
                Some(job) if job.version() == plan.job_version => {}
                _ => return Err(Refusal::PlanStale),
            }
        }
        if let Some(deployment) = plan.deployment {
            self.tables.put_deployment(self.changes, self.index, self.now, deployment);
        }
        for update in &plan.deployment_updates {
            self.tables.set_deployment_status(self.changes, self.index, self.now, update);
        }
        for stop in &plan.stop {
            self.stop_alloc(stop);
        }
        for (id, eval) in &plan.delayed {
            if let Some(old) = self.tables.allocs.get(id) {
                let delayed = Alloc { followup_eval: Some(*eval), ..Alloc::clone(old) };
                self.put_changed_alloc(delayed);
            }
        }
        for alloc in plan.place {
            self.place_alloc(Arc::unwrap_or_clone(alloc))?;
        }
        self.evals(evals)
    }

    fn stop_alloc(&mut self, stop: &StopAlloc) {
        let Some(old) = self.tables.allocs.get(&stop.id) else { return };
        let mut alloc = Alloc::clone(old);
        alloc.desired = stop.desired;
        alloc.desired_description = stop.description.clone();
        if let Some(status) = stop.client_status.filter(|_| !alloc.is_client_terminal()) {
            alloc.observed.status = status;
            alloc.observed.description = stop.description.clone();
        }
        alloc.followup_eval = stop.followup_eval.or(alloc.followup_eval);
        alloc.preempted_by = stop.preempted_by.or(alloc.preempted_by);
        self.put_changed_alloc(alloc);
    }

    fn place_alloc(&mut self, mut alloc: Alloc) -> Outcome {
        let spec = self
            .tables
            .job_version(&alloc.job, alloc.job_create_index, alloc.job_version)
            .ok_or(Refusal::PlanStale)?;
        alloc.spec = spec;
        if let Some(old) = self.tables.allocs.get(&alloc.id) {
            alloc = in_place(old, alloc);
        } else if alloc.create_index > 0 {
            return Ok(()); // ended and was collected since the plan was made: it stays gone
        } else {
            if !self.tables.nodes.get(&alloc.node_id).is_some_and(|n| n.accepts_work()) {
                // Nobody would ever look at an allocation of a node that went down meanwhile.
                return Err(Refusal::PlanStale);
            }
            alloc.create_index = self.index;
            alloc.create_time = self.now;
            if let Some(previous) = alloc.previous.and_then(|id| self.tables.allocs.get(&id)) {
                let linked = Alloc { next: Some(alloc.id), ..Alloc::clone(previous) };
                self.put_changed_alloc(linked);
            }
            self.record_canary(&alloc);
        }
        self.put_changed_alloc(alloc);
        Ok(())
    }

    fn record_canary(&mut self, alloc: &Alloc) {
        if !alloc.is_canary() {
            return;
        }
        let Some(old) = alloc.deployment_id.and_then(|id| self.tables.deployments.get(&id)) else {
            return;
        };
        let mut deployment = model::deployment::Deployment::clone(old);
        if let Some(group) = deployment.task_groups.get_mut(&*alloc.group) {
            group.placed_canaries.push(alloc.id);
        }
        self.tables.put_deployment(self.changes, self.index, self.now, deployment);
    }

    /// Stores an allocation that a server changed, and notes that its node has to hear of it.
    fn put_changed_alloc(&mut self, mut alloc: Alloc) {
        alloc.modify_index = self.index;
        alloc.alloc_modify_index = self.index;
        alloc.modify_time = self.now;
        if !self.changes.nodes_to_tell.contains(&alloc.node_id) {
            self.changes.nodes_to_tell.push(alloc.node_id);
        }
        self.tables.put_alloc(self.changes, self.index, alloc);
    }

    fn alloc_updates(&mut self, updates: Vec<AllocUpdate>, evals: Vec<Evaluation>) -> Outcome {
        for update in updates {
            let Some(old) = self.tables.allocs.get(&update.id).filter(|a| a.node_id == update.node)
            else {
                continue; // collected meanwhile, or never this node's
            };
            let mut alloc = Alloc::clone(old);
            // A terminal allocation stays terminal. Only what was given up with its node may turn
            // out to run after all: it holds its resources until the node has ended it.
            let given_up =
                alloc.observed.status == ClientStatus::Lost && alloc.is_server_terminal();
            if alloc.is_client_terminal() && !given_up {
                continue;
            }
            alloc.observed.status = update.status;
            alloc.observed.description = update.description;
            alloc.observed.tasks = Arc::new(update.tasks);
            alloc.observed.network = update.network;
            if let (Some((healthy, since)), Some(_)) = (update.health, alloc.deployment_id) {
                self.set_health(&mut alloc, healthy, since);
            }
            alloc.modify_index = self.index;
            alloc.modify_time = self.now;
            self.tables.put_alloc(self.changes, self.index, alloc);
        }
        self.evals(evals)
    }

    fn set_health(&mut self, alloc: &mut Alloc, healthy: bool, since: Time) {
        let status = alloc.deployment_status.get_or_insert_with(AllocDeploymentStatus::default);
        if status.healthy == Some(healthy) {
            return;
        }
        status.healthy = Some(healthy);
        // A node whose clock is ahead must not push deadlines away.
        status.timestamp = Time(since.0.min(self.now));
        status.modify_index = self.index;
    }

    fn transition(
        &mut self,
        allocs: Vec<(AllocId, DesiredTransition)>,
        evals: Vec<Evaluation>,
    ) -> Outcome {
        for (id, wish) in allocs {
            let Some(old) = self.tables.allocs.get(&id) else { continue };
            let mut alloc = Alloc::clone(old);
            alloc.transition.migrate = wish.migrate.or(alloc.transition.migrate);
            alloc.transition.reschedule = wish.reschedule.or(alloc.transition.reschedule);
            alloc.transition.force_reschedule =
                wish.force_reschedule.or(alloc.transition.force_reschedule);
            alloc.transition.no_shutdown_delay =
                wish.no_shutdown_delay.or(alloc.transition.no_shutdown_delay);
            self.put_changed_alloc(alloc);
        }
        self.evals(evals)
    }

    fn deployment_status(
        &mut self,
        update: DeploymentUpdate,
        eval: Option<Box<Evaluation>>,
        revert: Option<Box<Job>>,
        stable: bool,
    ) -> Outcome {
        let deployment =
            self.tables.deployments.get(&update.id).cloned().ok_or(Refusal::DeploymentNotFound)?;
        if !deployment.status.is_active() {
            return Err(Refusal::DeploymentInactive);
        }
        self.tables.set_deployment_status(self.changes, self.index, self.now, &update);
        if deployment.status == DeploymentStatus::Paused
            && update.status == DeploymentStatus::Running
        {
            self.restart_clock(&update.id);
        }
        if stable {
            // The job may be gone by now; then there is nothing to mark.
            let _gone = self.job_stability(&deployment.job(), deployment.job_version, true);
        }
        // A job that was stopped or changed since the decision is left as its owner wants it.
        let as_deployed = self.tables.jobs.get(&deployment.job()).is_some_and(|e| {
            let job = e.job();
            job.version() == deployment.job_version
                && job.create_index() == deployment.job_create_index
                && !job.is_stopped()
        });
        if let Some(job) = revert.filter(|_| as_deployed) {
            self.tables.put_job(self.changes, self.index, *job, None);
        }
        self.eval(eval)
    }

    /// The time a deployment was halted does not count against its progress.
    fn restart_clock(&mut self, id: &DeploymentId) {
        let Some(old) = self.tables.deployments.get(id) else { return };
        let mut deployment = model::deployment::Deployment::clone(old);
        for group in deployment.task_groups.values_mut() {
            group.require_progress_by = Time(self.now.saturating_add(group.progress_deadline));
        }
        self.tables.put_deployment(self.changes, self.index, self.now, deployment);
    }

    fn promote(
        &mut self,
        id: DeploymentId,
        groups: &[String],
        eval: Option<Box<Evaluation>>,
    ) -> Outcome {
        let old = self.tables.deployments.get(&id).cloned().ok_or(Refusal::DeploymentNotFound)?;
        if !old.status.is_active() {
            return Err(Refusal::DeploymentInactive);
        }
        let mut deployment = model::deployment::Deployment::clone(&old);
        for (name, group) in deployment.task_groups.iter_mut() {
            let chosen = groups.is_empty() || groups.iter().any(|g| g == name);
            if !chosen || group.promoted {
                continue;
            }
            if group.desired_canaries == 0 {
                // There is nothing to wait for; what clients watch for is set all the same.
                group.promoted = true;
                continue;
            }
            let healthy = group
                .placed_canaries
                .iter()
                .filter(|c| self.tables.allocs.get(*c).is_some_and(|a| a.health() == Some(true)))
                .count();
            if healthy < group.desired_canaries as usize {
                return Err(Refusal::Promotion(format!(
                    "Task group {name:?} has {healthy}/{} healthy allocations",
                    group.desired_canaries
                )));
            }
            group.promoted = true;
            // The others have their full time from here, however long the canaries waited.
            group.require_progress_by = Time(self.now.saturating_add(group.progress_deadline));
            for canary in group.placed_canaries.clone() {
                self.unmark_canary(&canary);
            }
        }
        if !deployment.requires_promotion() {
            deployment.status_description = description::RUNNING.to_owned();
        }
        self.tables.put_deployment(self.changes, self.index, self.now, deployment);
        self.eval(eval)
    }

    fn unmark_canary(&mut self, id: &AllocId) {
        let Some(old) = self.tables.allocs.get(id) else { return };
        let mut alloc = Alloc::clone(old);
        if let Some(status) = &mut alloc.deployment_status {
            status.canary = false;
            status.modify_index = self.index;
        }
        self.put_changed_alloc(alloc);
    }

    fn deployment_health(
        &mut self,
        id: DeploymentId,
        healthy: &[AllocId],
        unhealthy: &[AllocId],
        eval: Option<Box<Evaluation>>,
    ) -> Outcome {
        let deployment = self.tables.deployments.get(&id).ok_or(Refusal::DeploymentNotFound)?;
        if !deployment.status.is_active() {
            return Err(Refusal::DeploymentInactive);
        }
        let verdicts =
            healthy.iter().map(|a| (a, true)).chain(unhealthy.iter().map(|a| (a, false)));
        for (alloc_id, verdict) in verdicts {
            let Some(old) =
                self.tables.allocs.get(alloc_id).filter(|a| a.deployment_id == Some(id))
            else {
                continue;
            };
            let mut alloc = Alloc::clone(old);
            self.set_health(&mut alloc, verdict, Time(self.now));
            self.put_changed_alloc(alloc);
        }
        self.eval(eval)
    }

    fn config(&mut self, mut config: SchedulerConfig, enforce_index: Option<u64>) -> Outcome {
        let old = &self.tables.config;
        if let Some(wanted) = enforce_index.filter(|w| *w != old.modify_index) {
            let _ = wanted;
            return Err(Refusal::ConfigConflict { actual: old.modify_index });
        }
        config.create_index = if old.create_index == 0 { self.index } else { old.create_index };
        config.modify_index = self.index;
        self.tables.config = Arc::new(config);
        self.changes.touch(Table::Config);
        Ok(())
    }

    fn collect(
        &mut self,
        evals: &[EvalId],
        allocs: &[AllocId],
        deployments: &[DeploymentId],
        jobs: &[JobKey],
        nodes: &[NodeId],
    ) -> Outcome {
        for id in allocs {
            self.tables.remove_alloc(self.changes, id);
        }
        for id in evals {
            if self.tables.evals.get(id).is_some_and(|e| e.status.is_terminal()) {
                self.tables.remove_eval(self.changes, id);
            }
        }
        for id in deployments {
            self.tables.remove_deployment(self.changes, id);
        }
        for key in jobs {
            if self.tables.jobs.get(key).is_some_and(|e| e.live_allocs == 0 && e.open_evals == 0) {
                self.tables.remove_job(self.changes, key);
            }
        }
        for id in nodes {
            let gone = self.tables.nodes.get(id).is_some_and(|n| n.is_gone());
            if gone && self.tables.allocs_by_node.get(id).is_none_or(|s| s.is_empty()) {
                self.tables.remove_node(self.changes, id);
            }
        }
        Ok(())
    }
}

/// An update in place: the version changes, and what others said of it since the plan stays.
fn in_place(old: &Alloc, new: Alloc) -> Alloc {
    let deployment_status = if old.deployment_id == new.deployment_id {
        old.deployment_status.clone()
    } else {
        new.deployment_status
    };
    Alloc {
        job_version: new.job_version,
        spec: new.spec,
        eval_id: new.eval_id,
        deployment_id: new.deployment_id,
        deployment_status,
        ..old.clone()
    }
}

fn cluster_event(message: &str, now: Nanos) -> NodeEvent {
    NodeEvent {
        message: message.to_owned(),
        subsystem: "Cluster".to_owned(),
        timestamp: Time(now - now % SECOND),
        ..NodeEvent::default()
    }
}
