//! The allocation as the API shows it: the kept row joined with its job version.

use serde::Serialize;

use crate::alloc::{
    Alloc, AllocDeploymentStatus, AllocMetric, AllocNetworkStatus, AllocatedResources,
    DesiredTransition, RescheduleTracker, TaskEvent, TaskState,
};
use crate::ids::{AllocId, DeploymentId, EvalId, NodeId};
use crate::job::{Job, NetworkResource};
use crate::wire::{List, Map, Nanos, Time};

/// One row of a list of allocations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AllocationStub<'a> {
    #[serde(rename = "ID")]
    id: AllocId,
    #[serde(rename = "EvalID")]
    eval_id: EvalId,
    name: String,
    namespace: &'a str,
    #[serde(rename = "NodeID")]
    node_id: NodeId,
    node_name: &'a str,
    #[serde(rename = "JobID")]
    job_id: &'a str,
    job_type: &'static str,
    job_version: u64,
    task_group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_resources: Option<&'a AllocatedResources>,
    desired_status: &'static str,
    desired_description: &'a str,
    desired_transition: &'a DesiredTransition,
    client_status: &'static str,
    client_description: &'a str,
    task_states: Option<Map<TaskStateView<'a>>>,
    deployment_status: &'a Option<AllocDeploymentStatus>,
    #[serde(rename = "FollowupEvalID")]
    followup_eval_id: String,
    previous_allocation: String,
    next_allocation: String,
    reschedule_tracker: Option<&'a RescheduleTracker>,
    preempted_allocations: List<AllocId>,
    preempted_by_allocation: String,
    create_index: u64,
    modify_index: u64,
    create_time: Nanos,
    modify_time: Nanos,
}

/// Which optional parts a list row carries.
#[derive(Debug, Clone, Copy)]
pub struct StubParts {
    /// `resources=true`.
    pub resources: bool,
    /// `task_states=false` leaves them out.
    pub task_states: bool,
}

impl Default for StubParts {
    fn default() -> Self {
        Self { resources: false, task_states: true }
    }
}

/// The list row of an allocation.
pub fn allocation_stub(alloc: &Alloc, parts: StubParts) -> AllocationStub<'_> {
    AllocationStub {
        id: alloc.id,
        eval_id: alloc.eval_id,
        name: alloc.name(),
        namespace: &alloc.job.namespace,
        node_id: alloc.node_id,
        node_name: &alloc.node_name,
        job_id: &alloc.job.id,
        job_type: alloc.spec.job_type().as_str(),
        job_version: alloc.job_version,
        task_group: &alloc.group,
        allocated_resources: parts.resources.then_some(&*alloc.resources),
        desired_status: alloc.desired.as_str(),
        desired_description: &alloc.desired_description,
        desired_transition: &alloc.transition,
        client_status: alloc.observed.status.as_str(),
        client_description: &alloc.observed.description,
        task_states: parts.task_states.then(|| task_states(&alloc.observed.tasks)),
        deployment_status: &alloc.deployment_status,
        followup_eval_id: EvalId::text(&alloc.followup_eval),
        previous_allocation: AllocId::text(&alloc.previous),
        next_allocation: AllocId::text(&alloc.next),
        reschedule_tracker: alloc.reschedule.as_deref(),
        preempted_allocations: alloc.preempted.clone().into(),
        preempted_by_allocation: AllocId::text(&alloc.preempted_by),
        create_index: alloc.create_index,
        modify_index: alloc.modify_index,
        create_time: alloc.create_time,
        modify_time: alloc.modify_time,
    }
}

/// The whole allocation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Allocation<'a> {
    #[serde(rename = "ID")]
    id: AllocId,
    namespace: &'a str,
    #[serde(rename = "EvalID")]
    eval_id: EvalId,
    name: String,
    #[serde(rename = "NodeID")]
    node_id: NodeId,
    node_name: &'a str,
    #[serde(rename = "JobID")]
    job_id: &'a str,
    job: &'a Job,
    task_group: &'a str,
    resources: PlainResources,
    shared_resources: PlainResources,
    task_resources: Map<PlainResources>,
    allocated_resources: &'a AllocatedResources,
    metrics: Option<&'a AllocMetric>,
    desired_status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    desired_description: &'a str,
    desired_transition: &'a DesiredTransition,
    client_status: &'static str,
    client_description: &'a str,
    task_states: Map<TaskStateView<'a>>,
    #[serde(rename = "DeploymentID", skip_serializing_if = "String::is_empty")]
    deployment_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment_status: &'a Option<AllocDeploymentStatus>,
    #[serde(rename = "FollowupEvalID", skip_serializing_if = "String::is_empty")]
    followup_eval_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    previous_allocation: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    next_allocation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reschedule_tracker: Option<&'a RescheduleTracker>,
    network_status: Option<AllocNetworkStatus>,
    preempted_allocations: List<AllocId>,
    preempted_by_allocation: String,
    create_index: u64,
    modify_index: u64,
    alloc_modify_index: u64,
    create_time: Nanos,
    modify_time: Nanos,
}

/// The whole allocation, joined with its job version.
pub fn allocation(alloc: &Alloc) -> Allocation<'_> {
    let res = &alloc.resources;
    let network = alloc.observed.network.clone().or_else(|| {
        (alloc.observed.status != crate::alloc::ClientStatus::Pending)
            .then(AllocNetworkStatus::default)
    });
    Allocation {
        id: alloc.id,
        namespace: &alloc.job.namespace,
        eval_id: alloc.eval_id,
        name: alloc.name(),
        node_id: alloc.node_id,
        node_name: &alloc.node_name,
        job_id: &alloc.job.id,
        job: &alloc.spec,
        task_group: &alloc.group,
        resources: PlainResources::total(res),
        shared_resources: PlainResources::shared(res),
        task_resources: res
            .tasks
            .iter()
            .map(|(n, t)| (n.clone(), PlainResources::task(t)))
            .collect(),
        allocated_resources: res,
        metrics: alloc.metrics.as_deref(),
        desired_status: alloc.desired.as_str(),
        desired_description: &alloc.desired_description,
        desired_transition: &alloc.transition,
        client_status: alloc.observed.status.as_str(),
        client_description: &alloc.observed.description,
        task_states: task_states(&alloc.observed.tasks),
        deployment_id: DeploymentId::text(&alloc.deployment_id),
        deployment_status: &alloc.deployment_status,
        followup_eval_id: EvalId::text(&alloc.followup_eval),
        previous_allocation: AllocId::text(&alloc.previous),
        next_allocation: AllocId::text(&alloc.next),
        reschedule_tracker: alloc.reschedule.as_deref(),
        network_status: network,
        preempted_allocations: alloc.preempted.clone().into(),
        preempted_by_allocation: AllocId::text(&alloc.preempted_by),
        create_index: alloc.create_index,
        modify_index: alloc.modify_index,
        alloc_modify_index: alloc.alloc_modify_index,
        create_time: alloc.create_time,
        modify_time: alloc.modify_time,
    }
}

/// The older, flat form of resources that clients still read.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PlainResources {
    #[serde(rename = "CPU")]
    cpu: i64,
    cores: i64,
    #[serde(rename = "MemoryMB")]
    memory_mb: i64,
    #[serde(rename = "MemoryMaxMB")]
    memory_max_mb: i64,
    #[serde(rename = "DiskMB")]
    disk_mb: i64,
    #[serde(rename = "IOPS")]
    iops: i64,
    networks: List<NetworkResource>,
    devices: Option<()>,
}

impl PlainResources {
    fn task(task: &crate::alloc::AllocatedTask) -> Self {
        Self {
            cpu: task.cpu.cpu_shares,
            cores: i64::try_from(task.cpu.reserved_cores.len()).unwrap_or(0),
            memory_mb: task.memory.memory_mb,
            memory_max_mb: task.memory.memory_max_mb,
            networks: task.networks.clone(),
            ..Self::default()
        }
    }

    fn shared(res: &AllocatedResources) -> Self {
        Self {
            disk_mb: res.shared.disk_mb,
            networks: res.shared.networks.clone(),
            ..Self::default()
        }
    }

    fn total(res: &AllocatedResources) -> Self {
        let mut networks = res.shared.networks.clone();
        for task in res.tasks.values() {
            networks.extend(task.networks.iter().cloned());
        }
        Self {
            cpu: res.cpu(),
            memory_mb: res.memory_mb(),
            memory_max_mb: res.tasks.values().map(|t| t.memory.memory_max_mb).sum(),
            disk_mb: res.shared.disk_mb,
            networks,
            ..Self::default()
        }
    }
}

/// A task's state as the API shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TaskStateView<'a> {
    state: &'static str,
    failed: bool,
    restarts: u64,
    last_restart: Option<Time>,
    started_at: Option<Time>,
    finished_at: Option<Time>,
    events: Vec<TaskEventView<'a>>,
}

fn task_states(tasks: &Map<TaskState>) -> Map<TaskStateView<'_>> {
    let present = |time: Time| (!time.is_zero()).then_some(time);
    tasks
        .iter()
        .map(|(name, t)| {
            let view = TaskStateView {
                state: t.state.as_str(),
                failed: t.failed,
                restarts: t.restarts,
                last_restart: present(t.last_restart),
                started_at: present(t.started_at),
                finished_at: present(t.finished_at),
                events: t.events.iter().map(TaskEventView::new).collect(),
            };
            (name.clone(), view)
        })
        .collect()
}

/// A task event with the fields older clients read beside the details.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TaskEventView<'a> {
    #[serde(rename = "Type")]
    kind: &'a str,
    time: Nanos,
    message: &'a str,
    display_message: &'a str,
    details: &'a std::collections::BTreeMap<String, String>,
    fails_task: bool,
    restart_reason: &'a str,
    setup_error: &'a str,
    driver_error: &'a str,
    driver_message: &'a str,
    exit_code: i64,
    signal: i64,
    kill_reason: &'a str,
    kill_timeout: Nanos,
    kill_error: &'a str,
    start_delay: Nanos,
    download_error: &'a str,
    validation_error: &'a str,
    disk_limit: i64,
    disk_size: i64,
    failed_sibling: &'a str,
    vault_error: &'a str,
    task_signal_reason: &'a str,
    task_signal: &'a str,
    generic_source: &'a str,
}

impl<'a> TaskEventView<'a> {
    fn new(event: &'a TaskEvent) -> Self {
        let text = |key: &str| event.details.get(key).map_or("", String::as_str);
        let number = |key: &str| event.details.get(key).and_then(|v| v.parse().ok()).unwrap_or(0);
        Self {
            kind: &event.kind,
            time: event.time,
            message: &event.message,
            display_message: &event.display_message,
            details: &event.details.0,
            fails_task: text("fails_task") == "true",
            restart_reason: text("restart_reason"),
            setup_error: text("setup_error"),
            driver_error: text("driver_error"),
            driver_message: text("driver_message"),
            exit_code: number("exit_code"),
            signal: number("signal"),
            kill_reason: text("kill_reason"),
            kill_timeout: number("kill_timeout_ns"),
            kill_error: text("kill_error"),
            start_delay: number("start_delay"),
            download_error: text("download_error"),
            validation_error: text("validation_error"),
            disk_limit: number("disk_limit"),
            disk_size: 0,
            failed_sibling: text("failed_sibling"),
            vault_error: text("vault_renewal_error"),
            task_signal_reason: text("task_signal_reason"),
            task_signal: text("task_signal"),
            generic_source: text("generic_source"),
        }
    }
}
