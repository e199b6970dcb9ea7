//! Defaults of the policies: update, migrate, restart and reschedule, by the type of the job.

use super::{fill, inherit};
use crate::job::*;
use crate::wire::{Nanos, SECOND};

const MINUTE: Nanos = 60 * SECOND;
const HOUR: Nanos = 60 * MINUTE;

/// What groups take from their job.
pub(super) struct Inherited {
    pub(super) kind: JobType,
    pub(super) update: Option<UpdateStrategy>,
    pub(super) migrate: Option<MigrateStrategy>,
    pub(super) reschedule: Option<ReschedulePolicy>,
}

pub(super) fn default_update() -> UpdateStrategy {
    UpdateStrategy {
        stagger: Some(30 * SECOND),
        max_parallel: Some(1),
        health_check: Some("checks".to_owned()),
        min_healthy_time: Some(10 * SECOND),
        healthy_deadline: Some(5 * MINUTE),
        progress_deadline: Some(10 * MINUTE),
        canary: Some(0),
        auto_revert: Some(false),
        auto_promote: Some(false),
    }
}

/// The strategy whose fields are all there and zero, as the store has it for jobs without one.
pub(super) fn void_update() -> UpdateStrategy {
    UpdateStrategy {
        stagger: Some(0),
        max_parallel: Some(0),
        health_check: Some(String::new()),
        min_healthy_time: Some(0),
        healthy_deadline: Some(0),
        progress_deadline: Some(0),
        canary: Some(0),
        auto_revert: Some(false),
        auto_promote: Some(false),
    }
}

/// Whether a strategy says nothing; jobs read back from the store carry it.
pub(super) fn is_void_update(update: &UpdateStrategy) -> bool {
    *update == void_update()
}

pub(super) fn inherit_update(update: &mut UpdateStrategy, from: &UpdateStrategy) {
    inherit(&mut update.stagger, &from.stagger);
    inherit(&mut update.max_parallel, &from.max_parallel);
    inherit(&mut update.health_check, &from.health_check);
    inherit(&mut update.min_healthy_time, &from.min_healthy_time);
    inherit(&mut update.healthy_deadline, &from.healthy_deadline);
    inherit(&mut update.progress_deadline, &from.progress_deadline);
    inherit(&mut update.canary, &from.canary);
    inherit(&mut update.auto_revert, &from.auto_revert);
    inherit(&mut update.auto_promote, &from.auto_promote);
}

fn default_migrate() -> MigrateStrategy {
    MigrateStrategy {
        max_parallel: Some(1),
        health_check: Some("checks".to_owned()),
        min_healthy_time: Some(10 * SECOND),
        healthy_deadline: Some(5 * MINUTE),
    }
}

fn inherit_migrate(migrate: &mut MigrateStrategy, from: &MigrateStrategy) {
    inherit(&mut migrate.max_parallel, &from.max_parallel);
    inherit(&mut migrate.health_check, &from.health_check);
    inherit(&mut migrate.min_healthy_time, &from.min_healthy_time);
    inherit(&mut migrate.healthy_deadline, &from.healthy_deadline);
}

fn default_restart(kind: JobType) -> RestartPolicy {
    let (attempts, interval) =
        if kind.runs_to_completion() { (3, 24 * HOUR) } else { (2, 30 * MINUTE) };
    RestartPolicy {
        interval: Some(interval),
        attempts: Some(attempts),
        delay: Some(15 * SECOND),
        mode: Some("fail".to_owned()),
        render_templates: Some(false),
    }
}

pub(super) fn inherit_restart(restart: &mut RestartPolicy, from: &RestartPolicy) {
    inherit(&mut restart.interval, &from.interval);
    inherit(&mut restart.attempts, &from.attempts);
    inherit(&mut restart.delay, &from.delay);
    inherit(&mut restart.mode, &from.mode);
    inherit(&mut restart.render_templates, &from.render_templates);
}

fn default_reschedule(kind: JobType) -> ReschedulePolicy {
    if kind.runs_to_completion() {
        ReschedulePolicy {
            attempts: Some(1),
            interval: Some(24 * HOUR),
            delay: Some(5 * SECOND),
            delay_function: Some("constant".to_owned()),
            max_delay: Some(0),
            unlimited: Some(false),
        }
    } else {
        ReschedulePolicy {
            attempts: Some(0),
            interval: Some(0),
            delay: Some(30 * SECOND),
            delay_function: Some("exponential".to_owned()),
            max_delay: Some(HOUR),
            unlimited: Some(true),
        }
    }
}

fn inherit_reschedule(policy: &mut ReschedulePolicy, from: &ReschedulePolicy) {
    inherit(&mut policy.attempts, &from.attempts);
    inherit(&mut policy.interval, &from.interval);
    inherit(&mut policy.delay, &from.delay);
    inherit(&mut policy.delay_function, &from.delay_function);
    inherit(&mut policy.max_delay, &from.max_delay);
    inherit(&mut policy.unlimited, &from.unlimited);
}

/// Fills the policies of a group from its own block, the job's, and the defaults of the type.
pub(super) fn canonicalize(group: &mut TaskGroup, inherited: &Inherited) {
    let kind = inherited.kind;
    let restart = group.restart_policy.get_or_insert_default();
    inherit_restart(restart, &default_restart(kind));

    // Of jobs that run to completion too: validation then says that they may not have it.
    if let Some(from) = &inherited.update {
        inherit_update(group.update.get_or_insert_default(), from);
    }
    if let Some(update) = &mut group.update {
        inherit_update(update, &default_update());
    }

    if kind == JobType::Service {
        let migrate = group.migrate.get_or_insert_default();
        if let Some(from) = &inherited.migrate {
            inherit_migrate(migrate, from);
        }
    }
    if let Some(migrate) = &mut group.migrate {
        inherit_migrate(migrate, &default_migrate());
    }

    if matches!(kind, JobType::Service | JobType::Batch) {
        let policy = group.reschedule_policy.get_or_insert_default();
        if let Some(from) = &inherited.reschedule {
            inherit_reschedule(policy, from);
        }
        inherit_reschedule(policy, &default_reschedule(kind));
    } else if let Some(policy) = &mut group.reschedule_policy {
        for slot in
            [&mut policy.attempts, &mut policy.interval, &mut policy.delay, &mut policy.max_delay]
        {
            fill(slot, 0);
        }
        fill(&mut policy.delay_function, String::new());
        fill(&mut policy.unlimited, false);
    }
}
