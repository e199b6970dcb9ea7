//! Values for unit tests.

use std::sync::Arc;

use model::alloc::{Alloc, AllocatedResources, DesiredStatus, DesiredTransition, Observed};
use model::ids::{AllocId, EvalId, Name, NodeId};
use model::job::Job;

pub(crate) fn alloc(spec: Arc<Job>, resources: AllocatedResources) -> Alloc {
    let group = spec.task_groups.first().map_or("g", |group| group.name());
    Alloc {
        id: AllocId::from_name("alloc"),
        job: spec.key(),
        job_version: 0,
        job_create_index: 1,
        group: Name::from(group),
        spec,
        index: 0,
        eval_id: EvalId::from_name("eval"),
        node_id: NodeId::from_name("node"),
        node_name: Name::from("node"),
        resources: Arc::new(resources),
        metrics: None,
        desired: DesiredStatus::Run,
        desired_description: String::new(),
        transition: DesiredTransition::default(),
        observed: Observed::default(),
        deployment_id: None,
        deployment_status: None,
        followup_eval: None,
        previous: None,
        next: None,
        reschedule: None,
        preempted: Vec::new(),
        preempted_by: None,
        create_index: 1,
        modify_index: 1,
        alloc_modify_index: 1,
        create_time: 0,
        modify_time: 0,
    }
}
