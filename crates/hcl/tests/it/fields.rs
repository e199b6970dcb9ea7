//! Reading by schema: all problems at once, with suggestions, and `dynamic` blocks.

use crate::fixed;
use expect_test::{Expect, expect};
use hcl::{EvalContext, Fields, Limits, read};
use std::fmt::Write as _;

/// A small schema in the style of a job's.
fn job(fields: &mut Fields<'_>) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to a string cannot fail");
    line(format!("count {:?}", fields.int("count")));
    line(format!("kill {:?}", fields.duration("kill")));
    line(format!("on {:?}", fields.bool("on")));
    line(format!("dcs {:?}", fields.string_list("datacenters")));
    line(format!("meta {:?}", fields.string_map("meta")));
    for text in fields.blocks("group", &["name"], |group| {
        let (name, n) = (group.label(0), group.int("n"));
        let ports = group.blocks("port", &["label", "kind?"], |port| {
            format!("{}:{:?}:{:?}", port.label(0), port.optional_label(1), port.int("to"))
        });
        format!("group {name} {n:?} {ports:?}")
    }) {
        line(text);
    }
    if let Some(text) = fields.block("update", &[], |update| {
        update.require(&["max"]);
        format!("update {:?}", update.int("max"))
    }) {
        line(text);
    }
    if let Some(value) = fields.value_block("config") {
        line(format!("config {}", serde_json::Value::from(&value)));
    }
    out
}

fn check(text: &str, expected: Expect) {
    let limits = Limits::default();
    let found = match hcl::parse("t.hcl", text, &limits) {
        Ok(body) => {
            let ctx = EvalContext::new(&body, &limits, &fixed);
            let (mut out, problems) = read(&body, &ctx, job);
            out.retain(|c| c != '"');
            for problem in problems {
                let _ = writeln!(out, "{problem}");
            }
            let skip = |line: &&str| !line.ends_with(" None");
            out.lines().filter(skip).map(|line| format!("{line}\n")).collect()
        }
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    };
    expected.assert_eq(&found);
}

#[test]
fn reads_each_kind_of_field() {
    check(
        r#"
count = "3"
kill = "1m30s"
on = "true"
datacenters = ["a", 1]
meta { a = 1, }
"#
        .replace(", }", " }")
        .as_str(),
        expect![[r#"
            count Some(3)
            kill Some(90000000000)
            on Some(true)
            dcs Some([a, 1])
            meta Some({a: 1})
        "#]],
    );
    check(
        "kill = 5000\ncount = null\nmeta = { a = \"x\", b = null, \"c d\" : true }\n",
        expect![[r#"
            kill Some(5000)
            meta Some({a: x, c d: true})
        "#]],
    );
}

#[test]
fn reports_every_problem_of_a_file_at_once() {
    check(
        r#"
cuont = 1
count = 1.5
kill = "soon"
on = "maybe"
datacenters = "dc1"
meta = { a = [] }
group {
  m = 1
  port "a" "b" "c" {}
}
update "x" {}
update { max = 2 }
updaet {}
meta { b = 1 }
update = 3
"#,
        expect![[r#"
            group  None []
            t.hcl:3,9-12: Unsuitable value type; Unsuitable value for "count": value must be a whole number, between -9223372036854775808 and 9223372036854775807
            t.hcl:4,8-14: Unsuitable value type; Unsuitable value for "kill": invalid duration "soon"; write for example "1h30m"
        "#]],
    );
}

#[test]
fn dynamic_blocks_become_blocks() {
    check(
        r#"
dynamic "group" {
  for_each = ["a", "b"]
  labels   = ["grp-${group.value}"]
  content {
    n = group.key + 1
    dynamic "port" {
      for_each = { http = 80, https = 443 }
      iterator = p
      labels   = [p.key, group.value]
      content {
        to = p.value
      }
    }
  }
}
group "z" {}
dynamic "meta" {
  for_each = [1]
  content {
    X = "y"
  }
}
"#,
        expect![[r#""#]],
    );
}

#[test]
fn wrong_dynamic_blocks_are_reported() {
    check(
        r#"
dynamic "thingy" {
  for_each = [1]
  content {}
}
dynamic "group" {
  for_each = ["a"]
  labels   = [group.value]
}
dynamic "group" {
  content {}
}
dynamic "group" {
  for_each = [1]
  content {}
}
dynamic "update" {
  for_each = 5
  content {}
}
"#,
        expect![[r#""#]],
    );
}

#[test]
fn blocks_without_schema_become_values() {
    check(
        r#"
config {
  image = "redis:6"
  nothing = null
  mount { type = "bind" }
  mount {
    type = "tmpfs"
    options { size = 1000 }
  }
  named "a" "b" { x = 1 }
  mounts = [{ type = "volume" }]
  limit = 1.5
  dynamic "label" {
    for_each = ["p", "q"]
    content { v = label.value }
  }
}
"#,
        expect![[r#""#]],
    );
}

#[test]
fn syntax_errors_are_reported_alone_with_their_place() {
    check("a = 1\na = 2\n", expect![[r#""#]]);
    check("this is not { valid\n", expect![[r#""#]]);
    check("group \"a\" {\n  n = 1\n", expect![[r#""#]]);
    check("a = <<EOT\ntext\n", expect![[r#""#]]);
    check("a = [\"dc1]\n", expect![[r#""#]]);
    check("a = [\"${\"]\n", expect![[r#""#]]);
    check("meta {\n  \"a.b\" = 1\n}\n", expect![[r#""#]]);
}
