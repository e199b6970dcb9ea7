//! Files of variables, volumes, namespaces, node pools, quotas and ACL policies.

use expect_test::{Expect, expect};
use specs::spec::*;

const RANDOM: hcl::Random<'static> = &|| [7; 16];

fn problems<T>(parsed: Parsed<T>, expected: Expect) {
    let found = parsed.err().unwrap_or_default();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    expected.assert_eq(&found.join("\n"));
}

fn valid<T>(parsed: Parsed<T>) -> T {
    match parsed {
        Ok((value, warnings)) if warnings.is_empty() => value,
        Ok((_, found)) | Err(found) => panic!("{found:?}"),
    }
}

#[test]
fn variables_have_items_in_either_spelling() {
    let native = "path = \"a/b\"\nitems {\n  user = \"u\"\n  n = 1\n}\n";
    let json = r#"{"path": "a/b", "items": {"user": "u", "n": 1}}"#;
    let variable = valid(parse_variable("v", native, RANDOM));
    assert_eq!(variable, valid(parse_variable("v", json, RANDOM)));
    assert_eq!((variable.items["user"].as_str(), variable.items["n"].as_str()), ("u", "1"));
    problems(
        parse_variable("v", "pth = \"a\"\n", RANDOM),
        expect![[r#"
        v:1,1-1: Missing items; A variable needs items: items { name = "value" }.
        v:1,1-4: Unsupported argument; An argument named "pth" is not expected here. Did you mean "path"?"#]],
    );
    let large = format!("items {{\n  a = \"{}\"\n}}\n", "x".repeat(70_000));
    assert!(parse_variable("v", &large, RANDOM).is_err());
}

#[test]
fn namespaces_say_what_their_jobs_may_use() {
    let namespace = valid(parse_namespace(
        "n",
        r#"
name        = "dev"
description = "for trying out"
meta { owner = "me" }
capabilities {
  enabled_task_drivers   = ["docker"]
  disabled_network_modes = ["host"]
}
node_pool_config {
  default = "small"
  allowed = ["small", "large"]
}
required_extra_claims = { team = "t" }
"#,
        RANDOM,
    ));
    let capabilities = namespace.capabilities.expect("given");
    assert_eq!(capabilities.enabled_task_drivers, ["docker"]);
    assert_eq!(capabilities.disabled_network_modes, ["host"]);
    assert_eq!(namespace.node_pool_config.expect("given").allowed, ["small", "large"]);
    assert_eq!(namespace.required_extra_claims["team"], "t");
    problems(
        parse_namespace(
            "n",
            "vault {\n  allowed = []\n  denied = [\"a\"]\n}\ncapabilites {}\n",
            RANDOM,
        ),
        expect![[r#"
            n:1,1-1: Missing required argument; The argument "name" is required, but no definition was found.
            n:3,12-17: Unsuitable value; Either "allowed" or "denied" may be given, not both.
            n:5,1-12: Unsupported block type; Blocks of type "capabilites" are not expected here. Did you mean "capabilities"?"#]],
    );
}

#[test]
fn node_pools_have_a_label() {
    let text = "node_pool \"gpu\" {\n  node_identity_ttl = \"1h\"\n  scheduler_config {\n    scheduler_algorithm = \"spread\"\n  }\n}\n";
    let pool = valid(parse_node_pool("p", text, RANDOM));
    assert_eq!((pool.name.as_str(), pool.node_identity_ttl), ("gpu", Some(3_600_000_000_000)));
    let json = r#"{"node_pool": {"gpu": {"node_identity_ttl": "1h", "scheduler_config": {"scheduler_algorithm": "spread"}}}}"#;
    assert_eq!(pool, valid(parse_node_pool("p", json, RANDOM)));
    problems(
        parse_node_pool("p", &text.replace("\"spread\"", "\"spred\""), RANDOM),
        expect![[
            r#"p:4,27-34: Unsuitable value; "spred" is not known; one of binpack, spread is. Did you mean "spread"?"#
        ]],
    );
    problems(
        parse_node_pool("p", "name = \"x\"\n", RANDOM),
        expect![[r#"
        p:1,1-1: Missing node_pool block; The file needs a block: node_pool "name" { ... }.
        p:1,1-5: Unsupported argument; An argument named "name" is not expected here."#]],
    );
}

#[test]
fn quotas_limit_regions_devices_and_pools() {
    let quota = valid(parse_quota(
        "q",
        r#"
name = "q"
limit {
  region = "global"
  region_limit {
    cpu    = 2000
    memory = 1024
    device "nvidia/gpu" { count = 2 }
    storage {
      variables    = 500
      host_volumes = "10GiB"
    }
    node_pool "small" { cpu = 100 }
  }
}
"#,
        RANDOM,
    ));
    let limit = &quota.limits[0].region_limit;
    assert_eq!((limit.cpu, limit.devices["nvidia/gpu"]), (Some(2000), 2));
    assert_eq!((limit.variables, limit.host_volumes), (Some(500), Some(10_240)));
    assert_eq!(limit.node_pools["small"].cpu, Some(100));
    problems(
        parse_quota("q", "limit {\n  region_limit {\n    memroy = 1\n  }\n}\n", RANDOM),
        expect![[r#"
            q:1,1-6: Missing required argument; The argument "region" is required, but no definition was found.
            q:1,1-1: Missing required argument; The argument "name" is required, but no definition was found.
            q:3,5-11: Unsupported argument; An argument named "memroy" is not expected here. Did you mean "memory"?"#]],
    );
}

#[test]
fn volumes_are_of_a_kind_and_have_fields_of_that_kind_only() {
    let csi = valid(parse_volume(
        "v",
        r#"
id           = "db"
name         = "database"
type         = "csi"
plugin_id    = "ebs"
capacity_min = "10GiB"
capacity_max = "20GB"
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}
mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}
secrets { key = "k" }
topology_request {
  required {
    topology {
      segments { rack = "R1" }
    }
    topology {
      segments { rack = "R2" }
    }
  }
}
"#,
        RANDOM,
    ));
    assert_eq!((csi.kind, csi.capacity_min), (VolumeKind::Csi, Some(10 << 30)));
    assert_eq!(csi.required_topologies[1].segments["rack"], "R2");
    assert_eq!((csi.fs_type.as_str(), csi.mount_flags.len()), ("ext4", 1));
    let host = valid(parse_volume(
        "v",
        "name = \"v\"\ntype = \"host\"\nplugin_id = \"mkdir\"\nnode_pool = \"p\"\nconstraint {\n  attribute = \"a\"\n  value = \"b\"\n}\nparameters {\n  mode = \"0700\"\n}\n",
        RANDOM,
    ));
    assert_eq!((host.kind, host.constraints.len()), (VolumeKind::Host, 1));
    problems(
        parse_volume(
            "v",
            "name = \"v\"\ntype = \"host\"\nexternal_id = \"x\"\ncapacity_min = \"2 parsec\"\ncapability {\n  access_mode = \"single-node-writr\"\n}\nmount_options {}\n",
            RANDOM,
        ),
        expect![[r#"
            v:3,1-12: Unsuitable argument; "external_id" belongs to volumes with type = "csi".
            v:4,16-26: Unsuitable value type; Unsuitable value for "capacity_min": "parsec" is no unit; a size such as "10GiB" or "500MB" is required
            v:5,1-11: Missing required argument; The argument "attachment_mode" is required, but no definition was found.
            v:6,17-36: Unsuitable value; "single-node-writr" is not known; one of single-node-reader-only, single-node-writer, single-node-single-writer, single-node-multi-writer, multi-node-reader-only, multi-node-single-writer, multi-node-multi-writer is. Did you mean "single-node-writer"?
            v:8,1-14: Unsuitable argument; "mount_options" belongs to volumes with type = "csi"."#]],
    );
}

#[test]
fn policies_have_rules_by_name() {
    let text = r#"
namespace "dev-*" {
  policy       = "read"
  capabilities = ["alloc-exec", "submit-job"]
  variables {
    path "a/*" { capabilities = ["list", "read"] }
  }
}
node_pool "*" { policy = "read" }
host_volume "db" { capabilities = ["mount-readonly"] }
node { policy = "write" }
plugin { policy = "list" }
operator { capabilities = ["snapshot-save"] }
"#;
    let policy = valid(parse_acl_policy("p", text, RANDOM));
    let namespace = &policy.namespaces["dev-*"];
    assert_eq!((namespace.policy.as_str(), namespace.capabilities.len()), ("read", 2));
    assert_eq!(namespace.variables.paths["a/*"], ["list", "read"]);
    assert_eq!(policy.node.expect("given").policy, "write");
    assert!(policy.agent.is_none());
    problems(
        parse_acl_policy(
            "p",
            "namespace \"a\" {\n  policy = \"raed\"\n  capabilities = [\"submit-jobs\"]\n}\nnamespace \"a\" {}\nnode \"x\" {\n  policy = \"scale\"\n}\n",
            RANDOM,
        ),
        expect![[r#"
            p:2,12-18: Unsuitable value; "raed" is not known; one of deny, read, write, scale is. Did you mean "read"?
            p:3,18-33: Unsuitable value; "submit-jobs" is not known; one of deny, list-jobs, read-job, submit-job, dispatch-job, parse-job, read-logs, read-fs, alloc-exec, alloc-node-exec, alloc-lifecycle, sentinel-override, csi-register-plugin, csi-list-volume, csi-read-volume, csi-write-volume, csi-mount-volume, list-scaling-policies, read-scaling-policy, read-job-scaling, scale-job, submit-recommendation, host-volume-create, host-volume-register, host-volume-read, host-volume-write, host-volume-delete, register-job, revert-job, deregister-job, purge-job, evaluate-job, plan-job, tag-job-version, stable-job, force-periodic-job, fail-deployment, pause-deployment, promote-deployment, unblock-deployment, cancel-deployment, set-alloc-health-deployment, gc-allocation, pause-allocation, delete-service-registration is. Did you mean "submit-job"?
            p:5,1-10: Duplicate rule; The policy has more than one namespace block for "a".
            p:6,6-9: Extraneous label for node; No labels are expected for node blocks.
            p:7,12-19: Unsuitable value; "scale" is not known; one of deny, read, write is."#]],
    );
}
