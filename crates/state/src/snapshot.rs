//! Reading: an immutable view of one index.

use std::sync::Arc;

use model::alloc::Alloc;
use model::api::{ChildrenSummary, JobStub, JobSummary};
use model::deployment::Deployment;
use model::eval::Evaluation;
use model::ids::{AllocId, DeploymentId, EvalId, JobKey, NodeId};
use model::job::Job;
use model::node::Node;
use model::wire::Time;

use crate::changes::Table;
use crate::command::SchedulerConfig;
use crate::tables::{JobEntry, Tables};

/// A view of the state at one index. Cloning it costs one pointer.
#[derive(Debug, Clone)]
pub struct Snapshot {
    tables: Arc<Tables>,
}

impl Snapshot {
    pub(crate) fn new(tables: Tables) -> Self {
        Self { tables: Arc::new(tables) }
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The log index it shows.
    pub fn index(&self) -> u64 {
        self.tables.index
    }

    /// The index of the last change of a table, at least 1.
    pub fn table_index(&self, table: Table) -> u64 {
        self.tables.table_index(table).max(1)
    }

    /// The highest index of several tables, at least 1.
    pub fn tables_index(&self, tables: &[Table]) -> u64 {
        tables.iter().map(|t| self.table_index(*t)).max().unwrap_or(1)
    }

    // --- jobs ---

    /// A job with its versions and derived figures.
    pub fn job_entry(&self, key: &JobKey) -> Option<&Arc<JobEntry>> {
        self.tables.jobs.get(key)
    }

    /// The current version of a job.
    pub fn job(&self, key: &JobKey) -> Option<&Arc<Job>> {
        self.tables.jobs.get(key).map(|e| e.job())
    }

    /// The current version with its derived status filled in, as the API shows it.
    pub fn job_view(&self, key: &JobKey) -> Option<Job> {
        let entry = self.job_entry(key)?;
        let mut job = Job::clone(entry.job());
        job.status = Some(entry.status().to_owned());
        Some(job)
    }

    /// All jobs, by namespace and id.
    pub fn jobs(&self) -> impl Iterator<Item = (&JobKey, &Arc<JobEntry>)> {
        self.tables.jobs.iter()
    }

    /// The children of a periodic or parameterized job.
    pub fn children<'a>(&'a self, parent: &'a JobKey) -> impl Iterator<Item = &'a Arc<JobEntry>> {
        let first = JobKey::new(&parent.namespace, &format!("{}/", parent.id));
        self.tables
            .jobs
            .range(first..)
            .take_while(|(key, _)| {
                key.namespace == parent.namespace
                    && key.id.strip_prefix(&*parent.id).is_some_and(|rest| rest.starts_with('/'))
            })
            .map(|(_, entry)| entry)
            .filter(|entry| entry.job().parent_id.as_deref() == Some(&*parent.id))
    }

    /// The summary of a job.
    pub fn summary(&self, key: &JobKey) -> Option<JobSummary> {
        let entry = self.job_entry(key)?;
        let mut summary = entry.summary();
        if entry.job().is_periodic() || entry.job().is_parameterized() {
            let mut children = ChildrenSummary::default();
            for child in self.children(key) {
                match child.status() {
                    "pending" => children.pending += 1,
                    "running" => children.running += 1,
                    _ => children.dead += 1,
                }
            }
            summary.children = Some(children);
        }
        Some(summary)
    }

    /// The list row of a job.
    pub fn job_stub(&self, key: &JobKey) -> Option<JobStub> {
        let entry = self.job_entry(key)?;
        let job = entry.job();
        Some(JobStub {
            id: job.id().to_owned(),
            parent_id: job.parent_id.clone().unwrap_or_default(),
            name: job.name().to_owned(),
            namespace: job.namespace().to_owned(),
            datacenters: job.datacenters.clone(),
            node_pool: job.node_pool().to_owned(),
            multiregion: None,
            kind: job.job_type().as_str().to_owned(),
            priority: job.priority(),
            periodic: job.is_periodic(),
            parameterized_job: job.is_parameterized(),
            stop: job.is_stopped(),
            status: entry.status().to_owned(),
            status_description: job.status_description.clone().unwrap_or_default(),
            job_summary: self.summary(key),
            create_index: job.create_index(),
            modify_index: job.modify_index(),
            job_modify_index: job.job_modify_index(),
            submit_time: job.submit_time.unwrap_or(0),
            version: job.version(),
            meta: model::wire::Map::default(),
        })
    }

    // --- evaluations ---

    /// An evaluation.
    pub fn eval(&self, id: &EvalId) -> Option<&Arc<Evaluation>> {
        self.tables.evals.get(id)
    }

    /// All evaluations, by id.
    pub fn evals(&self) -> impl Iterator<Item = &Arc<Evaluation>> {
        self.tables.evals.values()
    }

    /// The evaluations of a job, newest first.
    pub fn evals_of_job(&self, key: &JobKey) -> Vec<Arc<Evaluation>> {
        let ids = self.tables.evals_by_job.get(key);
        let mut evals: Vec<_> =
            ids.into_iter().flatten().filter_map(|id| self.eval(id).cloned()).collect();
        evals.sort_by_key(|eval| std::cmp::Reverse((eval.create_index, eval.id)));
        evals
    }

    // --- allocations ---

    /// An allocation.
    pub fn alloc(&self, id: &AllocId) -> Option<&Arc<Alloc>> {
        self.tables.allocs.get(id)
    }

    /// All allocations, by id.
    pub fn allocs(&self) -> impl Iterator<Item = &Arc<Alloc>> {
        self.tables.allocs.values()
    }

    /// The allocations from an id on; for prefix look-ups.
    pub fn allocs_from(&self, first: AllocId) -> impl Iterator<Item = &Arc<Alloc>> {
        self.tables.allocs.range(first..).map(|(_, a)| a)
    }

    /// How many allocations there are.
    pub fn alloc_count(&self) -> usize {
        self.tables.allocs.len()
    }

    /// The allocations of a job, those of a purged namesake included.
    pub fn allocs_of_job<'a>(
        &'a self,
        key: &JobKey,
    ) -> impl Iterator<Item = &'a Arc<Alloc>> + use<'a> {
        let ids = self.tables.allocs_by_job.get(key);
        ids.into_iter().flatten().filter_map(|id| self.tables.allocs.get(id))
    }

    /// The allocations of a node.
    pub fn allocs_of_node<'a>(
        &'a self,
        node: &NodeId,
    ) -> impl Iterator<Item = &'a Arc<Alloc>> + use<'a> {
        let ids = self.tables.allocs_by_node.get(node);
        ids.into_iter().flatten().filter_map(|id| self.tables.allocs.get(id))
    }

    /// The allocations an evaluation made.
    pub fn allocs_of_eval<'a>(
        &'a self,
        eval: &EvalId,
    ) -> impl Iterator<Item = &'a Arc<Alloc>> + use<'a> {
        let ids = self.tables.allocs_by_eval.get(eval);
        ids.into_iter().flatten().filter_map(|id| self.tables.allocs.get(id))
    }

    /// The allocations of a deployment.
    pub fn allocs_of_deployment<'a>(
        &'a self,
        id: &DeploymentId,
    ) -> impl Iterator<Item = &'a Arc<Alloc>> + use<'a> {
        let ids = self.tables.allocs_by_deployment.get(id);
        ids.into_iter().flatten().filter_map(|id| self.tables.allocs.get(id))
    }

    // --- nodes ---

    /// A node.
    pub fn node(&self, id: &NodeId) -> Option<&Arc<Node>> {
        self.tables.nodes.get(id)
    }

    /// All nodes, by id.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.tables.nodes.values()
    }

    // --- deployments ---

    /// A deployment as it is kept, without derived counts.
    pub fn deployment_row(&self, id: &DeploymentId) -> Option<&Arc<Deployment>> {
        self.tables.deployments.get(id)
    }

    /// A deployment with its counts, which are derived from its allocations.
    pub fn deployment(&self, id: &DeploymentId) -> Option<Deployment> {
        let mut view = Deployment::clone(self.tables.deployments.get(id)?);
        let created = view.create_time;
        let mut progress: std::collections::BTreeMap<String, i64> =
            std::collections::BTreeMap::new();
        for alloc in self.allocs_of_deployment(id) {
            let Some(group) = view.task_groups.get_mut(&*alloc.group) else { continue };
            group.placed_allocs += 1;
            match alloc.health() {
                Some(true) => {
                    // While it goes on, one that ended again does not stand for its slot.
                    if !view.status.is_active() || !alloc.is_terminal() {
                        group.healthy_allocs += 1;
                    }
                    let since = alloc.deployment_status.as_ref().map_or(0, |d| d.timestamp.0);
                    let last = progress.entry(alloc.group.to_string()).or_insert(created);
                    *last = (*last).max(since);
                }
                Some(false) => group.unhealthy_allocs += 1,
                None => {}
            }
        }
        for (name, group) in view.task_groups.iter_mut() {
            // The clock starts with the first placement: what waits for room has not begun.
            if group.progress_deadline > 0 && group.placed_allocs > 0 {
                let base = progress.get(name).copied().unwrap_or(created);
                // What is kept is the time given anew by a promotion or the end of a halt.
                let by = base.saturating_add(group.progress_deadline);
                group.require_progress_by = Time(by.max(group.require_progress_by.0));
            }
        }
        Some(view)
    }

    /// All deployments as they are kept.
    pub fn deployments(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.tables.deployments.values()
    }

    /// The deployments of a job, newest first.
    pub fn deployments_of_job(&self, key: &JobKey) -> Vec<Arc<Deployment>> {
        let ids = self.tables.deployments_by_job.get(key);
        let mut rows: Vec<_> =
            ids.into_iter().flatten().filter_map(|id| self.deployment_row(id).cloned()).collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.create_index, row.id)));
        rows
    }

    /// The scheduler's settings.
    pub fn scheduler_config(&self) -> &Arc<SchedulerConfig> {
        &self.tables.config
    }
}

impl JobEntry {
    /// The job's status, derived: `pending`, `running` or `dead`.
    pub fn status(&self) -> &'static str {
        let job = self.job();
        let launches_others = !job.is_stopped() && (job.is_periodic() || job.is_parameterized());
        if launches_others || self.live_allocs > 0 {
            "running"
        } else if self.open_evals > 0 {
            "pending"
        } else {
            "dead"
        }
    }

    /// The figures by group.
    pub fn summary(&self) -> JobSummary {
        let job = self.job();
        let mut summary = JobSummary {
            job_id: job.id().to_owned(),
            namespace: job.namespace().to_owned(),
            children: Some(ChildrenSummary::default()),
            create_index: job.create_index(),
            modify_index: self.summary_index,
            ..JobSummary::default()
        };
        for (group, counts) in &self.counts {
            let mut row = counts.clone();
            row.queued = self.queued.get(&**group).copied().unwrap_or(0);
            summary.summary.insert(group.to_string(), row);
        }
        summary
    }
}
