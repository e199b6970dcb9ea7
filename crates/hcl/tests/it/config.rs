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
        expect![[r#"
            3: data_dir = "/opt"
            4: ports
              4: http = 4646
              4: rpc = 4647
            5: client
              6: enabled = true
              7: options
                7: driver.raw_exec.enable = "1"
              8: options
                9: driver.allowlist = "exec,docker"
                10: fingerprint.denylist = ["a","b"]
              12: host_volume <v>
                12: path = "/srv"
              13: host_volume <w>
                14: path = "${env \\\"x\\\"}-{{ GetInterfaceIP \"eth0\" }}"
              16: template
                16: wait
                  16: min = "5s"
            18: plugin <raw_exec>
              19: config
                19: enabled = true
            21: text = "a\n  b\n"
            25: limit = -1.5
            26: mode = 16
        "#]],
    );
}

#[test]
fn json_gives_the_same_tree() {
    check(
        "{\n  \"data_dir\": \"/opt \\ud83d\\ude00 ${x\",\n  \"client\": {\n    \"enabled\": true,\n    \"list\": [1, {\"a\": null}]\n  }\n}\n",
        expect![[r#"
            2: data_dir = "/opt 😀 ${x"
            3: client
              4: enabled = true
              5: list = [1,{"a":null}]
        "#]],
    );
}

#[test]
fn mistakes_are_reported_with_their_place() {
    check(
        "a = \n",
        expect![[r#"
        agent.hcl:2,1-1: Invalid syntax; The file ends too early. A value is required here: a text in quotes, a number, true, false, a list or an object.
    "#]],
    );
    check(
        "a = b\n",
        expect![[r#"
        agent.hcl:1,5-6: Invalid syntax; "b" is not a value; a text stands in quotes.
    "#]],
    );
    check(
        "client {\n  a = 1\n",
        expect![[r#"
        agent.hcl:3,1-1: Invalid syntax; The file ends too early. The brace opened in line 1 must be closed.
    "#]],
    );
    check(
        "a = \"x\nb = 1\n",
        expect![[r#"
        agent.hcl:1,5-6: Invalid syntax; The text is not closed: a quotation mark is missing.
    "#]],
    );
    check(
        "a = [1 2]\n",
        expect![[r#"
        agent.hcl:1,8-9: Invalid syntax; A comma or a closing bracket is required here.
    "#]],
    );
    check(
        "{\"a\": 1,}",
        expect![[r#"
        agent.hcl:1,9-10: Invalid syntax; A name in quotes is required here.
    "#]],
    );
    check(
        "{\"a\" 1}",
        expect![[r#"
        agent.hcl:1,6-7: Invalid syntax; A colon is required here.
    "#]],
    );
    check(
        &"a {".repeat(500),
        expect![[r#"
        agent.hcl:1,100-101: Invalid syntax; Braces and brackets are nested too deeply.
    "#]],
    );
    check(
        &format!("a = {}", "[".repeat(100_000)),
        expect![[r#"
        agent.hcl:1,37-38: Invalid syntax; Braces and brackets are nested too deeply.
    "#]],
    );
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
