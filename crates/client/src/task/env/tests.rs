//! The environment as recorded from the original.

use std::sync::Arc;

use expect_test::{Expect, expect};
use model::alloc::*;
use model::job::*;

use super::*;

fn alloc(job: serde_json::Value, resources: serde_json::Value) -> Alloc {
    let job: Job = serde_json::from_value(job).unwrap();
    let resources: AllocatedResources = serde_json::from_value(resources).unwrap();
    crate::fixture::alloc(Arc::new(job), resources)
}

fn check(alloc: &Alloc, task: usize, expected: Expect) {
    let group = &alloc.spec.task_groups[0];
    let node = [("node.datacenter", "dc1"), ("node.region", "global"), ("node.class", "gold")];
    let node = node.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let inherited = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
    let paths = TaskPaths {
        alloc: Path::new("/a/alloc"),
        local: Path::new("/a/t/local"),
        secrets: Path::new("/a/t/secrets"),
    };
    let task = &group.tasks[task];
    let from = Sources { alloc, group, task, paths, node: &node, inherited: &inherited };
    let lines: Vec<String> =
        build(&from).into_iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn group_ports_meta_and_own_variables() {
    let job = serde_json::json!({
        "ID": "j", "Meta": {"jk": "jv", "both": "job"},
        "TaskGroups": [{"Name": "g", "Meta": {"both": "group"}, "Tasks": [{
            "Name": "t", "Meta": {"mixed-Case": "x-${node.class}"},
            "Env": {"MINE": "${NOMAD_META_both}-${nothing}", "with-dash": "y"}}]}]});
    let ports = serde_json::json!({"Tasks": {"t": {"Cpu": {"CpuShares": 20}, "Memory": {"MemoryMB": 32}}},
        "Shared": {"Ports": [{"Label": "other-port", "Value": 23456, "To": 8080, "HostIP": "127.0.0.1"}]}});
    check(
        &alloc(job, ports),
        0,
        expect![[r#"
            MINE=group-${nothing}
            NOMAD_ADDR_other_port=127.0.0.1:23456
            NOMAD_ALLOC_DIR=/a/alloc
            NOMAD_ALLOC_ID=9e1d2d51-4f9c-56fe-aefa-613e1f1aded3
            NOMAD_ALLOC_INDEX=0
            NOMAD_ALLOC_NAME=j.g[0]
            NOMAD_ALLOC_PORT_other_port=8080
            NOMAD_CPU_LIMIT=20
            NOMAD_DC=dc1
            NOMAD_GROUP_NAME=g
            NOMAD_HOST_ADDR_other_port=127.0.0.1:23456
            NOMAD_HOST_IP_other_port=127.0.0.1
            NOMAD_HOST_PORT_other_port=23456
            NOMAD_IP_other_port=127.0.0.1
            NOMAD_JOB_ID=j
            NOMAD_JOB_NAME=j
            NOMAD_MEMORY_LIMIT=32
            NOMAD_META_BOTH=group
            NOMAD_META_JK=jv
            NOMAD_META_MIXED_CASE=x-gold
            NOMAD_META_both=group
            NOMAD_META_jk=jv
            NOMAD_META_mixed_Case=x-gold
            NOMAD_NAMESPACE=default
            NOMAD_PORT_other_port=8080
            NOMAD_REGION=global
            NOMAD_SECRETS_DIR=/a/t/secrets
            NOMAD_SHORT_ALLOC_ID=9e1d2d51
            NOMAD_TASK_DIR=/a/t/local
            NOMAD_TASK_NAME=t
            PATH=/bin
            with-dash=y
        "#]],
    );
}

#[test]
fn ports_of_task_networks_are_seen_by_the_other_tasks_too() {
    let job = serde_json::json!({"ID": "j", "TaskGroups": [{"Name": "g", "Tasks": [
        {"Name": "a"}, {"Name": "b-dash"}]}]});
    let network = |label: &str, value: i64| serde_json::json!({"Networks": [{"IP": "127.0.0.1", "DynamicPorts": [{"Label": label, "Value": value}]}]});
    let resources =
        serde_json::json!({"Tasks": {"a": network("p1", 20001), "b-dash": network("p2", 20002)}});
    check(
        &alloc(job, resources),
        0,
        expect![[r#"
        NOMAD_ADDR_b_dash_p2=127.0.0.1:20002
        NOMAD_ADDR_p1=127.0.0.1:20001
        NOMAD_ALLOC_DIR=/a/alloc
        NOMAD_ALLOC_ID=9e1d2d51-4f9c-56fe-aefa-613e1f1aded3
        NOMAD_ALLOC_INDEX=0
        NOMAD_ALLOC_NAME=j.g[0]
        NOMAD_CPU_LIMIT=0
        NOMAD_DC=dc1
        NOMAD_GROUP_NAME=g
        NOMAD_HOST_PORT_p1=20001
        NOMAD_IP_b_dash_p2=127.0.0.1
        NOMAD_IP_p1=127.0.0.1
        NOMAD_JOB_ID=j
        NOMAD_JOB_NAME=j
        NOMAD_MEMORY_LIMIT=0
        NOMAD_NAMESPACE=default
        NOMAD_PORT_b_dash_p2=20002
        NOMAD_PORT_p1=20001
        NOMAD_REGION=global
        NOMAD_SECRETS_DIR=/a/t/secrets
        NOMAD_SHORT_ALLOC_ID=9e1d2d51
        NOMAD_TASK_DIR=/a/t/local
        NOMAD_TASK_NAME=a
        PATH=/bin
    "#]],
    );
}
