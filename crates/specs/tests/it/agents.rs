//! Agent configuration: what is read, what is refused by name, what is harmless.

use expect_test::{Expect, expect};
use specs::agent::{self, AgentConfig};
use std::time::Duration;

fn load(text: &str) -> (AgentConfig, Vec<String>) {
    match agent::parse("a.hcl", text) {
        Ok((config, warnings)) => (config, warnings.iter().map(ToString::to_string).collect()),
        Err(problems) => panic!("{}", lines(&problems)),
    }
}

fn lines(list: &[hcl::Diagnostic]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn problems(text: &str, expected: Expect) {
    let found = agent::parse("a.hcl", text).err().unwrap_or_default();
    expected.assert_eq(&lines(&found));
}

/// A file as people have it, with most of what is supported.
const USUAL: &str = r#"
name       = "n1"
datacenter = "dc1"
data_dir   = "/srv/muster"
bind_addr  = "127.0.0.1"
log_level  = "warn"
disable_update_check = true
ports { http = 4646 rpc = "4647" }
advertise { http = "127.0.0.1" }
server {
  enabled          = true
  bootstrap_expect = 1
  job_gc_interval  = "5s"
}
client {
  enabled           = true
  servers           = ["10.0.0.1:4647"]
  cpu_total_compute = 20000
  meta {
    rack = "r1"
    n    = 3
  }
  options = {
    "driver.allowlist" = "raw_exec, exec"
  }
  reserved { cpu = 100 reserved_ports = "22,8500-8600" }
  server_join { retry_join = ["10.0.0.1:4647", "10.0.0.2:4647"] }
}
plugin "raw_exec" {
  config { enabled = true }
}
consul {
  auto_advertise   = false
  server_auto_join = false
  client_auto_join = false
}
vault { enabled = false }
ui { enabled = false }
acl { enabled = false }
tls { http = false rpc = false }
"#;

#[test]
fn a_usual_file_is_read_without_warnings() {
    let (config, warnings) = load(USUAL);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(config.log_level.as_deref(), Some("WARN"));
    assert_eq!(
        (config.ports.http, config.ports.rpc, config.ports.serf),
        (Some(4646), Some(4647), None)
    );
    assert_eq!(config.server.job_gc_interval, Some(Duration::from_secs(5)));
    assert_eq!(config.client.servers, ["10.0.0.1:4647", "10.0.0.2:4647"]);
    assert_eq!(config.client.meta["n"], "3");
    assert_eq!(
        config.client.driver_allowlist.as_deref(),
        Some(&["raw_exec".to_owned(), "exec".to_owned()][..])
    );
    assert_eq!(config.client.reserved.reserved_ports, Some(vec![(22, 22), (8500, 8600)]));
    assert_eq!(config.raw_exec.enabled, Some(true));
}

#[test]
fn json_says_the_same_as_hcl() {
    let (config, _) = load(
        r#"{"name":"n1","client":{"enabled":true,"host_volume":{"v":{"path":"/srv"}}},
            "plugin":[{"raw_exec":{"config":{"enabled":true}}}]}"#,
    );
    assert_eq!(config.name.as_deref(), Some("n1"));
    assert_eq!(config.client.host_volumes["v"].path, "/srv");
    assert_eq!(config.raw_exec.enabled, Some(true));
}

#[test]
fn settings_of_the_exec_driver_are_read() {
    let (config, warnings) = load(
        r#"client { chroot_env = { "/bin" = "/bin" "/opt/x" = "/x" } }
plugin "exec" {
  config {
    default_pid_mode = "host"
    allow_caps       = ["chown", "net_raw"]
    denied_host_uids = "0,10-15"
    no_pivot_root    = false
  }
}"#,
    );
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(config.client.chroot_env["/opt/x"], "/x");
    assert_eq!(config.exec.default_pid_mode.as_deref(), Some("host"));
    assert_eq!(config.exec.allow_caps.as_deref().map(<[String]>::len), Some(2));
    assert_eq!(config.exec.denied_host_uids.as_deref(), Some("0,10-15"));
}

#[test]
fn what_is_not_there_yet_is_warned_about_when_it_does_no_harm() {
    let (config, warnings) = load(
        r#"telemetry { collection_interval = "1s" }
client {
  host_volume "v" { path = "/tmp" read_only = true }
}
plugin "docker" { config { gc { image = false } } }"#,
    );
    assert!(config.client.host_volumes["v"].read_only);
    expect![[r#"
        a.hcl:1,1-10: Setting without effect; Muster publishes no telemetry yet (docs/gaps.md); the block has no effect.
        a.hcl:3,3-14: Setting without effect; Jobs cannot mount volumes yet (docs/gaps.md); host_volume has no effect on them.
        a.hcl:5,1-7: Setting without effect; There is no docker driver yet (docs/gaps.md); its settings have no effect."#]]
    .assert_eq(&warnings.join("\n"));
}

#[test]
fn unknown_and_unsupported_settings_are_refused_by_name_all_at_once() {
    problems(
        r#"nmae = "x"
acl { enabled = true }
server {
  bootstrap_expect = 3
  encrypt = "k"
  default_scheduler_config { scheduler_algorithm = "spread" }
}
client {
  drain_on_shutdown {}
  options { "driver.allow" = "x" "env.denylist" = "A" }
  servers = ["provider=aws"]
}
plugin "nomad-driver-podman" {}
consul { auto_advertise = true }
bind_addr = "{{ GetPrivateIP }}"
ports { http = 70000 }
log_level = "loud""#,
        expect![[r#"
            a.hcl:1,1-5: Unknown key; A key named "nmae" is not expected here. Did you mean "name"?
            a.hcl:2,7-14: Unsupported setting; acl.enabled is not supported by Muster yet (docs/gaps.md).
            a.hcl:4,3-19: Unsupported setting; server.bootstrap_expect other than 1 is not supported by Muster yet (docs/gaps.md).
            a.hcl:5,3-10: Unsupported setting; server.encrypt is not supported by Muster yet (docs/gaps.md).
            a.hcl:6,30-49: Unsupported setting; server.default_scheduler_config.scheduler_algorithm is not supported by Muster yet (docs/gaps.md).
            a.hcl:9,3-20: Unsupported setting; client.drain_on_shutdown is not supported by Muster yet (docs/gaps.md).
            a.hcl:10,13-27: Unknown key; A key named "driver.allow" is not expected here.
            a.hcl:10,34-48: Unsupported setting; client option "env.denylist" is not supported by Muster yet (docs/gaps.md).
            a.hcl:11,3-10: Unsupported setting; discovery of servers through providers and programs is not supported by Muster yet (docs/gaps.md).
            a.hcl:13,1-7: Unsupported setting; plugin "nomad-driver-podman" is not supported by Muster yet (docs/gaps.md).
            a.hcl:14,10-24: Unsupported setting; consul.auto_advertise is not supported by Muster yet (docs/gaps.md).
            a.hcl:15,1-10: Unsuitable value; bind_addr: templates in addresses are not supported by Muster yet (docs/gaps.md).
            a.hcl:16,9-13: Unsuitable value; http must be a port from 0 to 65535.
            a.hcl:17,1-10: Unsuitable value; log_level must be one of TRACE, DEBUG, INFO, WARN, ERROR."#]],
    );
}

#[test]
fn later_files_win_and_maps_add_up() {
    let (mut config, _) = load(USUAL);
    let (later, _) = load(
        "name = \"n2\"\nports { http = 5 }\nclient {\n servers = [\"b\"]\n meta { z = \"1\" }\n}",
    );
    config.merge(later);
    assert_eq!(config.name.as_deref(), Some("n2"));
    assert_eq!((config.ports.http, config.ports.rpc), (Some(5), Some(4647)));
    assert_eq!(config.client.servers, ["10.0.0.1:4647", "10.0.0.2:4647", "b"]);
    assert_eq!(config.client.meta.len(), 3);
    assert_eq!(config.client.enabled, Some(true));
}
