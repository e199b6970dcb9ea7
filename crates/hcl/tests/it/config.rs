//! Configuration files: the habits of old HCL, and JSON.

use expect_test::{Expect, expect};
use hcl::{ConfigBody, ConfigValue, parse_config};
use std::fmt::Write as _;

fn show(body: &ConfigBody, indent: usize, out: &mut String) {
    for item in &body.items {
        let _ = write!(out, "{}{}: {}", " ".repeat(indent), item.line, item.key);
        for label in &item.labels {
            let _ = write!(out, " <{label}>");
        }
        match &item.value {
            ConfigValue::Body(inner) => {
                out.push('\n');
                show(inner, indent + 2, out);
            }
            other => {
                let _ = writeln!(out, " = {}", serde_json::Value::from(&other.to_value()));
            }
        }
    }
}

fn check(text: &str, expected: Expect) {
    let mut out = String::new();
    match parse_config("agent.hcl", text) {
        Ok(config) => show(&config.root, 0, &mut out),
        Err(problems) => {
            for problem in problems {
                let _ = writeln!(out, "{problem}");
            }
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn habits_of_old_hcl_are_read() {
    check(
        r#"
# comment
data_dir = "/opt" // more
ports { http = 4646 rpc = 4647 }
client {
  enabled = true
  options { "driver.raw_exec.enable" = "1" }
  options = {
    driver.allowlist = "exec,docker",
    fingerprint.denylist = ["a", "b",]
  }
  host_volume "v" { path = "/srv" }
  /* block */ host_volume "w" {
    path = "${env \"x\"}-{{ GetInterfaceIP \"eth0\" }}"
  }
  template { wait { min = "5s" } }
}
plugin "raw_exec" {
  config { enabled = true }
}
text = <<-EOF
    a
      b
  EOF
limit = -1.5
mode = 0x10
"#,
        expect![[r#""#]],
    );
}

#[test]
fn json_gives_the_same_tree() {
    check(
        "{\n  \"data_dir\": \"/opt \\ud83d\\ude00 ${x\",\n  \"client\": {\n    \"enabled\": true,\n    \"list\": [1, {\"a\": null}]\n  }\n}\n",
        expect![[r#""#]],
    );
}

#[test]
fn mistakes_are_reported_with_their_place() {
    check("a = \n", expect![[r#""#]]);
    check("a = b\n", expect![[r#""#]]);
    check("client {\n  a = 1\n", expect![[r#""#]]);
    check("a = \"x\nb = 1\n", expect![[r#""#]]);
    check("a = [1 2]\n", expect![[r#""#]]);
    check("{\"a\": 1,}", expect![[r#""#]]);
    check("{\"a\" 1}", expect![[r#""#]]);
    check(&"a {".repeat(500), expect![[r#""#]]);
    check(&format!("a = {}", "[".repeat(100_000)), expect![[r#""#]]);
}

#[test]
fn unknown_keys_are_refused_by_name_file_and_line() {
    let config = parse_config("agent.hcl", "server {\n  enabeld = true\n}\n").expect("good syntax");
    let server = config.root.last("server").expect("it is there");
    let item = &server.bodies()[0].items[0];
    assert_eq!(
        config.unknown_key(item, ["enabled", "data_dir"]).to_string(),
        "agent.hcl:2,3-10: Unknown key; A key named \"enabeld\" is not expected here. Did you mean \"enabled\"?"
    );
}
