//! Canonical form: what a job says once every value left unset is filled in.
//!
//! [`canonicalize`] is what the parse endpoint and clients do; [`canonicalize_for_register`] is
//! what a server does besides, before it stores the job. Both are idempotent.

mod policies;
mod task;

use crate::job::*;

/// Where jobs go that name no region.
pub const DEFAULT_REGION: &str = "global";
/// The weight of affinities and spreads that name none.
const DEFAULT_WEIGHT: i64 = 50;
/// MiB of an allocation's disk when the group names no size.
const DEFAULT_DISK_MB: i64 = 300;

/// Gives a slot the value when it has none.
fn fill<T>(slot: &mut Option<T>, value: T) {
    if slot.is_none() {
        *slot = Some(value);
    }
}

/// Gives a slot what another one holds when it has no value itself.
fn inherit<T: Clone>(slot: &mut Option<T>, from: &Option<T>) {
    if slot.is_none() {
        slot.clone_from(from);
    }
}

fn fill_text(slot: &mut String, value: &str) {
    if slot.is_empty() {
        value.clone_into(slot);
    }
}

/// Fills in every default, by the type of the job.
pub fn canonicalize(job: &mut Job) {
    header(job);
    let kind = job.job_type();
    let id = job.id().to_owned();
    job.update = job.update.take().filter(|update| !policies::is_void_update(update));
    match (kind, job.update.as_mut()) {
        (JobType::Service, None) => job.update = Some(policies::default_update()),
        (_, Some(update)) => {
            policies::inherit_update(update, &policies::default_update());
        }
        _ => {}
    }
    placement(&mut job.affinities, &mut job.spreads);
    let inherited = policies::Inherited {
        kind,
        update: job.update.clone(),
        migrate: job.migrate.clone(),
        reschedule: job.reschedule.clone(),
    };
    for group in &mut job.task_groups.0 {
        canonicalize_group(&id, group, &inherited);
    }
}

fn header(job: &mut Job) {
    fill(&mut job.id, String::new());
    inherit(&mut job.name, &job.id);
    let empty = String::new;
    for slot in [
        &mut job.parent_id,
        &mut job.consul_namespace,
        &mut job.vault_namespace,
        &mut job.nomad_token_id,
        &mut job.status,
        &mut job.status_description,
        &mut job.dispatch_idempotency_token,
    ] {
        fill(slot, empty());
    }
    for (slot, default) in [
        (&mut job.region, DEFAULT_REGION),
        (&mut job.namespace, DEFAULT_NAMESPACE),
        (&mut job.kind, JobType::Service.as_str()),
        (&mut job.node_pool, ""),
    ] {
        if slot.as_deref().is_none_or(str::is_empty) {
            *slot = Some(default.to_owned());
        }
    }
    fill(&mut job.priority, DEFAULT_PRIORITY);
    if job.datacenters.is_empty() {
        job.datacenters.push("*".to_owned());
    }
    for slot in [&mut job.all_at_once, &mut job.stop, &mut job.stable] {
        fill(slot, false);
    }
    fill(&mut job.version, 0);
    for slot in [&mut job.create_index, &mut job.modify_index, &mut job.job_modify_index] {
        fill(slot, 0);
    }
    if let Some(periodic) = &mut job.periodic {
        fill(&mut periodic.enabled, true);
        fill(&mut periodic.spec, String::new());
        fill(&mut periodic.spec_type, "cron".to_owned());
        fill(&mut periodic.prohibit_overlap, false);
        if periodic.time_zone.as_deref().is_none_or(str::is_empty) {
            periodic.time_zone = Some("UTC".to_owned());
        }
    }
    if let Some(parameterized) = &mut job.parameterized_job {
        fill_text(&mut parameterized.payload, "optional");
    }
}

fn placement(affinities: &mut [Affinity], spreads: &mut [Spread]) {
    for affinity in affinities {
        fill(&mut affinity.weight, DEFAULT_WEIGHT);
    }
    for spread in spreads {
        fill(&mut spread.weight, DEFAULT_WEIGHT);
    }
}

fn canonicalize_group(job_id: &str, group: &mut TaskGroup, inherited: &policies::Inherited) {
    fill(&mut group.name, String::new());
    let floor = group.scaling.as_ref().and_then(|scaling| scaling.min).unwrap_or(1);
    fill(&mut group.count, floor);
    if let Some(scaling) = &mut group.scaling {
        inherit(&mut scaling.min, &group.count);
        fill(&mut scaling.enabled, true);
        fill_text(&mut scaling.kind, "horizontal");
    }
    let disk = group.ephemeral_disk.get_or_insert_default();
    fill(&mut disk.sticky, false);
    fill(&mut disk.migrate, false);
    fill(&mut disk.size_mb, DEFAULT_DISK_MB);
    if let Some(disconnect) = &mut group.disconnect {
        fill(&mut disconnect.replace, true);
        fill(&mut disconnect.reconcile, "best_score".to_owned());
    }
    for (name, volume) in &mut group.volumes.0 {
        fill_text(&mut volume.name, name);
    }
    placement(&mut group.affinities, &mut group.spreads);
    policies::canonicalize(group, inherited);
    let name = group.name().to_owned();
    for service in &mut group.services.0 {
        task::canonicalize_service(service, &format!("{job_id}-{name}-group"));
    }
    let restart = group.restart_policy.clone();
    for item in &mut group.tasks.0 {
        task::canonicalize(item, restart.as_ref(), &format!("{job_id}-{name}"));
    }
}

/// Does what a server does before it stores a job: canonical form, policies kept only where they
/// count, and the values that clients leave open.
pub fn canonicalize_for_register(job: &mut Job) {
    canonicalize(job);
    if job.node_pool.as_deref().is_none_or(str::is_empty) {
        job.node_pool = Some(DEFAULT_NODE_POOL.to_owned());
    }
    // The groups hold the policies that count; of the job's own the two that older
    // clients read are kept.
    let update = job.update.take().unwrap_or_default();
    job.update = Some(UpdateStrategy {
        stagger: update.stagger.or(Some(0)),
        max_parallel: update.max_parallel.or(Some(0)),
        ..policies::void_update()
    });
    job.reschedule = None;
    job.migrate = None;
    for group in &mut job.task_groups.0 {
        group.networks.iter_mut().for_each(complete_network);
        for item in &mut group.tasks.0 {
            let resources = item.resources.get_or_insert_default();
            fill(&mut resources.disk_mb, 0);
            fill(&mut resources.iops, 0);
            resources.networks.iter_mut().for_each(complete_network);
        }
    }
}

fn complete_network(network: &mut NetworkResource) {
    fill(&mut network.mbits, 0);
    for port in network.reserved_ports.iter_mut().chain(network.dynamic_ports.iter_mut()) {
        fill_text(&mut port.host_network, "default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{SECOND, from_json};

    fn job(text: &str) -> Job {
        from_json(text.as_bytes()).expect("a job")
    }

    const TINY: &str = r#"{"ID":"a","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}"#;

    #[test]
    fn fills_a_service_job() {
        let mut job = job(TINY);
        canonicalize(&mut job);
        assert_eq!(job.name(), "a");
        assert_eq!(job.kind.as_deref(), Some("service"));
        assert_eq!(job.datacenters.0, ["*"]);
        let group = &job.task_groups[0];
        assert_eq!(group.count, Some(1));
        assert_eq!(group.update, Some(policies::default_update()));
        assert_eq!(group.reschedule_policy.as_ref().and_then(|r| r.unlimited), Some(true));
        assert_eq!(group.tasks[0].restart_policy, group.restart_policy);
        assert_eq!(group.tasks[0].kill_timeout, Some(5 * SECOND));
    }

    #[test]
    fn policies_have_the_defaults_of_the_type() {
        // attempts, interval and mode of restarts; attempts and delay of reschedules
        for (kind, restart, reschedule, update, migrate) in [
            ("service", (2, 1800, "fail"), Some((0, 30)), true, true),
            ("batch", (3, 86_400, "fail"), Some((1, 5)), false, false),
            ("system", (2, 1800, "fail"), None, false, false),
            ("sysbatch", (3, 86_400, "fail"), None, false, false),
        ] {
            let mut job = job(TINY);
            job.kind = Some(kind.to_owned());
            canonicalize(&mut job);
            let group = &job.task_groups[0];
            let policy = group.restart_policy.clone().expect("always there");
            let mode = policy.mode.as_deref().unwrap_or_default();
            let found =
                (policy.attempts.unwrap_or(-1), policy.interval.unwrap_or(0) / SECOND, mode);
            assert_eq!(found, restart, "{kind}");
            let policy = group.reschedule_policy.as_ref();
            let found = policy.map(|p| (p.attempts.unwrap_or(-1), p.delay.unwrap_or(0) / SECOND));
            assert_eq!(found, reschedule, "{kind}");
            assert_eq!(
                (group.update.is_some(), group.migrate.is_some()),
                (update, migrate),
                "{kind}"
            );
        }
    }

    #[test]
    fn sizes_and_counts_have_defaults() {
        let mut job = job(r#"{"ID":"a","TaskGroups":[{"Name":"g","Scaling":{"Min":4,"Max":9},
            "Tasks":[{"Name":"t","Templates":[{"ChangeMode":"signal"}],"Services":[{}],
            "Artifacts":[{"GetterSource":"http://h/p/f.tgz?a=b","GetterMode":"file"}]}]}]}"#);
        canonicalize(&mut job);
        let group = &job.task_groups[0];
        assert_eq!((group.count, group.disk_mb()), (Some(4), 300));
        let disk = group.ephemeral_disk.clone().expect("always there");
        assert_eq!((disk.size_mb, disk.sticky), (Some(300), Some(false)));
        let task = &group.tasks[0];
        let wanted = task.resources.clone().expect("always there");
        assert_eq!((wanted.cpu, wanted.memory_mb, wanted.disk_mb), (Some(100), Some(300), None));
        let logs = task.log_config.clone().expect("always there");
        assert_eq!((logs.max_files, logs.max_file_size_mb), (Some(10), Some(10)));
        assert_eq!(task.templates[0].change_signal.as_deref(), Some("SIGHUP"));
        assert_eq!(task.artifacts[0].relative_dest.as_deref(), Some("local/f.tgz"));
        assert_eq!(task.services[0].name, "a-g-t");
    }

    #[test]
    fn registering_again_what_was_registered_changes_nothing() {
        for kind in ["service", "batch", "system", "sysbatch"] {
            let mut first = job(TINY);
            first.kind = Some(kind.to_owned());
            canonicalize_for_register(&mut first);
            let mut second = first.clone();
            canonicalize_for_register(&mut second);
            assert_eq!(first, second, "{kind}");
        }
    }

    #[test]
    fn a_group_takes_from_the_job_what_it_does_not_say_itself() {
        let mut job = job(r#"{"ID":"a","Update":{"MaxParallel":3,"Canary":1},
            "Reschedule":{"Delay":7000000000},"Migrate":{"MaxParallel":4},
            "TaskGroups":[{"Name":"g","Update":{"Canary":2},"Tasks":[{"Name":"t"}]}]}"#);
        canonicalize(&mut job);
        let group = &job.task_groups[0];
        let update = group.update.as_ref().expect("services have it");
        assert_eq!((update.max_parallel, update.canary), (Some(3), Some(2)));
        assert_eq!(group.reschedule_policy.as_ref().and_then(|r| r.delay), Some(7 * SECOND));
        assert_eq!(group.migrate.as_ref().and_then(|m| m.max_parallel), Some(4));
    }

    #[test]
    fn the_store_keeps_of_the_jobs_update_only_what_old_clients_read() {
        let mut job = job(TINY);
        canonicalize_for_register(&mut job);
        let update = job.update.expect("always there");
        assert_eq!((update.max_parallel, update.stagger), (Some(1), Some(30 * SECOND)));
        assert_eq!((update.healthy_deadline, update.health_check.as_deref()), (Some(0), Some("")));
        assert_eq!(job.node_pool.as_deref(), Some("default"));
    }
}
