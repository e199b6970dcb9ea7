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
    let found: String = match hcl::parse("t.hcl", text, &limits) {
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
            group  None [a:Some(\b\):None]
            t.hcl:3,9-12: Unsuitable value type; Unsuitable value for "count": value must be a whole number
            t.hcl:4,8-14: Unsuitable value type; Unsuitable value for "kill": invalid duration "soon"; write for example "1h30m" or "45s"; units are h, m, s, ms, us and ns
            t.hcl:5,6-13: Unsuitable value type; Unsuitable value for "on": a bool is required, true or false, not the text "maybe"
            t.hcl:6,15-20: Unsuitable value type; Unsuitable value for "datacenters": list of string required, such as ["a"], not the text "dc1"
            t.hcl:7,8-18: Unsuitable value type; Unsuitable value for "meta": element "a": string required
            t.hcl:7,8-18: Attribute redefined; "meta" is given both as an argument and as a block.
            t.hcl:8,1-6: Missing name for group; All group blocks must have 1 labels (name): group "name" { ... }.
            t.hcl:10,16-19: Extraneous label for port; Only 2 labels (label, kind) are expected for port blocks.
            t.hcl:9,3-4: Unsupported argument; An argument named "m" is not expected here. Did you mean "n"?
            t.hcl:12,8-11: Extraneous label for update; No labels are expected for update blocks.
            t.hcl:12,1-7: Missing required argument; The argument "max" is required, but no definition was found.
            t.hcl:13,1-7: Duplicate update block; Only one update block is allowed. Another was defined at t.hcl:12,1.
            t.hcl:2,1-6: Unsupported argument; An argument named "cuont" is not expected here. Did you mean "count"?
            t.hcl:16,1-7: Unsupported argument; An argument named "update" is not expected here. Did you mean to define a block of type "update"?
            t.hcl:14,1-7: Unsupported block type; Blocks of type "updaet" are not expected here. Did you mean "update"?
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
        expect![[r#"
            meta Some({X: y})
            group grp-a Some(1) [http:Some(\a\):Some(80), https:Some(\a\):Some(443)]
            group grp-b Some(2) [http:Some(\b\):Some(80), https:Some(\b\):Some(443)]
            group z None []
        "#]],
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
        expect![[r#"
            group  None []
            t.hcl:6,1-8: Missing dynamic content block; A dynamic block must have one nested block of type "content", which describes the body of each generated block.
            t.hcl:10,1-8: Missing required argument; The argument "for_each" is required in a dynamic block.
            t.hcl:13,1-8: Missing name for group; All group blocks must have 1 labels (name): group "name" { ... }.
            t.hcl:18,14-15: Iteration over non-iterable value; A number cannot be iterated over; a list or object can.
            t.hcl:2,9-17: Unsupported block type; Blocks of type "thingy" are not expected here.
        "#]],
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
        expect![[r#"
            config {image:redis:6,label:[{v:p},{v:q}],limit:1.5,mount:[{type:bind},{options:[{size:1000}],type:tmpfs}],mounts:[{type:volume}],named:[{a:[{b:[{x:1}]}]}]}
        "#]],
    );
}

#[test]
fn syntax_errors_are_reported_alone_with_their_place() {
    check(
        "a = 1\na = 2\n",
        expect![[r#"
            t.hcl:2,1-2: Attribute redefined; The argument "a" was already set. Each argument may be set only once.
        "#]],
    );
    check(
        "this is not { valid\n",
        expect![[r#"
            t.hcl:1,13-14: Unexpected end of file; The { here is not closed: a } is missing before the end of the file (line 1).
        "#]],
    );
    check(
        "group \"a\" {\n  n = 1\n",
        expect![[r#"
            t.hcl:1,11-12: Unexpected end of file; The { here is not closed: a } is missing before the end of the file (line 2).
        "#]],
    );
    check(
        "a = <<EOT\ntext\n",
        expect![[r#"
            t.hcl:1,5-10: Heredoc not closed; The heredoc that begins here does not end: a line with EOT alone is missing.
        "#]],
    );
    check(
        "a = [\"dc1]\n",
        expect![[r#"
            t.hcl:1,6-7: Text not closed; The text that begins here is not closed in its line: a quotation mark is missing. A text of several lines is written as a heredoc: <<EOF, the lines, and EOF in a line of its own.
        "#]],
    );
    check(
        "a = [\"${\"]\n",
        expect![[r#"
            t.hcl:1,7-11: Invalid interpolation; Between ${ and } stands an expression. If this is meant for a shell or for another program, write $${"], which gives the text ${"].
        "#]],
    );
    check(
        "meta {\n  \"a.b\" = 1\n}\n",
        expect![[r#"
            t.hcl:2,3-8: Invalid argument name; Argument names must not be quoted: write a.b = value.
        "#]],
    );
}
