//! Rows of lists, summaries and the small answers of writes.

use serde::{Deserialize, Serialize};

use crate::eval::Evaluation;
use crate::job::{Job, JobSubmission};
use crate::node::wire_struct;
use crate::plan::PlanAnnotations;
use crate::wire::{List, Map, Nanos, is_default};

wire_struct!(
    /// How a job's allocations stand, by group; always derived.
    JobSummary {
        #[serde(rename = "JobID")]
        job_id: String,
        namespace: String,
        summary: Map<GroupSummary>,
        children: Option<ChildrenSummary>,
        create_index: u64,
        modify_index: u64,
    }
);
wire_struct!(
    /// Counts of one group's allocations by what is observed of them.
    GroupSummary {
        queued: i64,
        complete: i64,
        failed: i64,
        running: i64,
        starting: i64,
        lost: i64,
        unknown: i64,
    }
);
wire_struct!(
    /// Counts of a parent's children by status.
    ChildrenSummary {
        pending: i64,
        running: i64,
        dead: i64,
    }
);
wire_struct!(
    /// One row of the list of jobs.
    JobStub {
        #[serde(rename = "ID")]
        id: String,
        #[serde(rename = "ParentID")]
        parent_id: String,
        name: String,
        namespace: String,
        datacenters: List<String>,
        node_pool: String,
        multiregion: Option<()>,
        #[serde(rename = "Type")]
        kind: String,
        priority: i64,
        periodic: bool,
        parameterized_job: bool,
        stop: bool,
        status: String,
        status_description: String,
        job_summary: Option<JobSummary>,
        create_index: u64,
        modify_index: u64,
        job_modify_index: u64,
        submit_time: Nanos,
        version: u64,
        #[serde(skip_serializing_if = "is_default")]
        meta: Map<String>,
    }
);
wire_struct!(
    /// The body of a registration.
    JobRegisterRequest {
        job: Option<Job>,
        submission: Option<JobSubmission>,
        enforce_index: bool,
        job_modify_index: u64,
        policy_override: bool,
        preserve_counts: bool,
        preserve_resources: bool,
        eval_priority: i64,
        region: String,
        namespace: String,
    }
);
wire_struct!(
    /// The answer of a registration.
    JobRegisterResponse {
        #[serde(rename = "EvalID")]
        eval_id: String,
        eval_create_index: u64,
        job_modify_index: u64,
        warnings: String,
        index: u64,
        last_contact: u64,
        known_leader: bool,
    }
);
wire_struct!(
    /// The answer of a plan.
    JobPlanResponse {
        job_modify_index: u64,
        created_evals: List<Evaluation>,
        diff: Option<serde_json::Value>,
        annotations: Option<PlanAnnotations>,
        #[serde(rename = "FailedTGAllocs")]
        failed_tg_allocs: Map<crate::alloc::AllocMetric>,
        next_periodic_launch: crate::wire::Time,
        warnings: String,
        index: u64,
    }
);
wire_struct!(
    /// The answer of a validation.
    JobValidateResponse {
        driver_config_validated: bool,
        validation_errors: List<String>,
        error: String,
        warnings: String,
        index: u64,
    }
);
