//! Job files in the JSON spelling of HCL: the same job as in the native one, and problems with the
//! places of the JSON.

use expect_test::{Expect, expect};
use hcl::Limits;
use hcl::variables::{Undeclared, read_flag};
use specs::job::{Options, parse_job};

fn parse(text: &str, flags: &[&str]) -> Result<serde_json::Value, Vec<String>> {
    let assignments: Vec<_> =
        flags.iter().map(|flag| read_flag(flag, Undeclared::Refuse).expect("a flag")).collect();
    let options = Options {
        assignments: &assignments,
        files: None,
        random: &|| [7; 16],
        limits: Limits::default(),
    };
    let lines = |list: Vec<hcl::Diagnostic>| list.iter().map(ToString::to_string).collect();
    parse_job("j.json", text, &options)
        .map(|(job, _)| serde_json::to_value(&job).expect("writes"))
        .map_err(lines)
}

fn same(native: &str, json: &str) {
    let flags: &[&str] = if native.contains("\"n\"") { &["n=3"] } else { &[] };
    let native = parse(native, flags).expect("the native file is valid");
    let json = parse(json, flags).unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert_eq!(
        serde_json::to_string_pretty(&json).expect("writes"),
        serde_json::to_string_pretty(&native).expect("writes")
    );
}

fn problems(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text, &[]).err().unwrap_or_default().join("\n"));
}

#[test]
fn both_spellings_give_the_same_job() {
    same(
        r#"
variable "n" {
  type    = number
  default = 1
  validation {
    condition     = var.n > 0
    error_message = "too few"
  }
}
variable "tags" {
  type    = list(string)
  default = ["a", "b"]
}
locals {
  name = "web-${var.n}"
}
job "j" {
  datacenters = ["dc1"]
  meta { owner = "me" }
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }
  spread {
    attribute = "${node.datacenter}"
    target "dc1" { percent = 70 }
    target "dc2" { percent = 30 }
  }
  group "one" {
    count = var.n
    network {
      port "http" { static = 8080 }
      port "admin" {}
    }
    dynamic "service" {
      for_each = var.tags
      iterator = it
      content {
        name = "${local.name}-${it.value}"
        port = "http"
        check {
          type     = "tcp"
          interval = "10s"
          timeout  = "2s"
        }
      }
    }
    task "t" {
      driver = "docker"
      config {
        image = "i:${var.n}"
        args  = ["-c", "echo \"$${HOME}\"\tx\\y\n", upper("q\"")]
        port_map = [{ http = 80 }]
      }
      env {
        PORT = "${NOMAD_PORT_http}"
        ONE  = "1"
      }
      resources {
        cpu = 100
        device "nvidia/gpu" { count = 2 }
      }
      template {
        data        = "a\n{{ key \"b\" }}\n%{ if var.n > 2 }many%{ endif }"
        destination = "local/a"
      }
      template {
        data        = "b"
        destination = "local/b"
      }
    }
  }
  group "two" {
    task "t" { driver = "exec" }
  }
}
"#,
        r#"{
  "//": "a remark",
  "variable": {
    "n": {
      "type": "number", "default": 1,
      "validation": {"condition": "${var.n > 0}", "error_message": "too few"}
    },
    "tags": {"type": "list(string)", "default": ["a", "b"]}
  },
  "locals": {"name": "web-${var.n}"},
  "job": {
    "j": {
      "datacenters": ["dc1"],
      "meta": {"owner": "me"},
      "constraint": {"attribute": "${attr.kernel.name}", "value": "linux"},
      "spread": [{
        "attribute": "${node.datacenter}",
        "target": [{"dc1": {"percent": 70}}, {"dc2": {"percent": 30}}]
      }],
      "group": [
        {"one": {
          "count": "${var.n}",
          "network": {"port": {"http": {"static": 8080}, "admin": {}}},
          "dynamic": {
            "service": {
              "for_each": "${var.tags}",
              "iterator": "it",
              "content": {
                "name": "${local.name}-${it.value}",
                "port": "http",
                "check": [{"type": "tcp", "interval": "10s", "timeout": "2s"}]
              }
            }
          },
          "task": {
            "t": {
              "driver": "docker",
              "config": [{
                "image": "i:${var.n}",
                "args": ["-c", "echo \"$${HOME}\"\tx\\y\n", "${upper(\"q\\\"\")}"],
                "port_map": [{"http": 80}]
              }],
              "env": {"PORT": "${NOMAD_PORT_http}", "ONE": "1"},
              "resources": {"cpu": 100, "device": {"nvidia/gpu": {"count": 2}}},
              "template": [
                {"data": "a\n{{ key \"b\" }}\n%{ if var.n > 2 }many%{ endif }", "destination": "local/a"},
                {"data": "b", "destination": "local/b"}
              ]
            }
          }
        }},
        {"two": {"task": {"t": {"driver": "exec"}}}}
      ]
    }
  }
}"#,
    );
}

#[test]
fn an_optional_label_is_told_from_a_field() {
    same(
        r#"job "j" {
  spread {
    attribute = "a"
    target {
      value   = "x"
      percent = 100
    }
  }
}"#,
        r#"{"job": {"j": {"spread": {"attribute": "a", "target": {"value": "x", "percent": 100}}}}}"#,
    );
}

#[test]
fn problems_stand_where_the_json_has_them() {
    problems(
        r#"{"job": {"j": {
  "group": {"g": {
    "count": "many",
    "cuont": 2,
    "taks": {"t": {"driver": "exec"}},
    "restart": {"delay": "5 seconds"},
    "task": {"t": {"driver": "${var.driver}", "config": {"x": "${nothing.at.all + 1}"}, "env": "no"}}
  }},
  "spread": {"weight": 200}
}}}"#,
        expect![[r#"
            j.json:3,14-20: Unsuitable value type; Unsuitable value for "count": a number is required, not the text "many"
            j.json:4,5-12: Unsupported argument; An argument named "cuont" is not expected here. Did you mean "count"?
            j.json:5,5-11: Unsupported argument; An argument named "taks" is not expected here. Did you mean "task"?
            j.json:6,26-37: Unsuitable value type; Unsuitable value for "delay": invalid duration "5 seconds"; write for example "1h30m" or "45s"; units are h, m, s, ms, us and ns
            j.json:7,36-43: Unsupported attribute; The file has no variable named "driver". If it is missing, declare it with a block: variable "driver" {}.
            j.json:7,66-73: Unknown variable; There is no variable named "nothing". A variable is written var.nothing, a local value local.nothing, and a text stands in quotes: "nothing".
            j.json:7,96-100: Unsuitable value type; Unsuitable value for "env": map of string required, such as { name = "value" }, not the text "no"
            j.json:9,24-27: Unsuitable value type; Unsuitable value for "weight": value must be a whole number, between 0 and 100"#]],
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    problems(
        "{\"job\": {\"j\": {\"group\": [}]}}",
        expect![[
            r#"j.json:1,26-27: Invalid JSON; A value is required here: a text in quotes, a number, true, false, null, a list or an object."#
        ]],
    );
    problems(
        "{\"job\": {\"j\": {\n",
        expect![[
            r#"j.json:1,15-16: Unexpected end of file; The file ends too early. A name in quotes is required here."#
        ]],
    );
    problems(
        r#"{"job": {"j": {"type": "${a", "region": "x}\" y", "group": "g", "a b": 1}}}"#,
        expect![[r#"
            j.json:1,24-29: Text not closed; The text that begins here is not closed: a quotation mark is missing.
            j.json:1,60-63: Incorrect JSON value type; "group" is a block; its value must be an object whose names are the labels of the blocks.
            j.json:1,65-70: Invalid argument name; "a b" cannot be the name of an argument: it must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."#]],
    );
    problems(
        r#"{"job": {"j": {"type": "a", "type": "b"}}}"#,
        expect![[
            r#"j.json:1,29-35: Attribute redefined; The argument "type" was already set. Each argument may be set only once."#
        ]],
    );
    problems(
        r#"{"variable": {"v": {"type": "string) } job \"x\" {"}}, "job": {"j": {}}}"#,
        expect!["j.json:1,29-52: Invalid syntax; Unexpected token."],
    );
}

#[test]
fn the_json_of_the_api_is_told_apart() {
    problems(
        r#"{"Job": {"ID": "x"}}"#,
        expect![[
            r#"j.json:1,1-1: Not a job file; This is a job in the JSON of the API; give it with -json. In the JSON spelling of a job file the outermost name is "job"."#
        ]],
    );
}

#[test]
fn every_problem_of_a_schema_reader_is_found_in_both_spellings() {
    let native =
        parse("job \"j\" {\n group \"g\" {\n task \"t\" {\n lifecycle {}\n zz = 1\n }\n }\n}", &[]);
    let json =
        parse(r#"{"job":{"j":{"group":{"g":{"task":{"t":{"lifecycle":{},"zz":1}}}}}}}"#, &[]);
    assert_eq!(native.unwrap_err().len(), json.unwrap_err().len());
}
