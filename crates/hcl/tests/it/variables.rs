//! Variables and locals: declarations, values from outside, and the order of locals.

use crate::fixed;
use expect_test::{Expect, expect};
use hcl::variables::{self, Assignment, Undeclared, read_flag};
use hcl::{EvalContext, Limits};
use std::fmt::Write as _;

fn check_with(text: &str, given: &[Assignment], expected: Expect) {
    let limits = Limits::default();
    let body = hcl::parse("t.hcl", text, &limits).expect("good syntax");
    let mut ctx = EvalContext::new(&body, &limits, &fixed);
    let (declarations, problems) = variables::resolve(&body, &mut ctx, given);
    let mut out = String::new();
    for root in ["var", "local"] {
        if let Some(value) = ctx.get(root) {
            let json = serde_json::Value::from(value).to_string();
            if json != "{}" {
                let _ = writeln!(out, "{root} {json}");
            }
        }
    }
    for declaration in declarations.iter().filter(|declaration| declaration.sensitive) {
        let _ = writeln!(out, "sensitive {} {:?}", declaration.name, declaration.description);
    }
    for problem in problems {
        let _ = writeln!(out, "{problem}");
    }
    expected.assert_eq(&out);
}

fn check(text: &str, expected: Expect) {
    check_with(text, &[], expected);
}

fn flags(texts: &[&str]) -> Vec<Assignment> {
    let read = |text: &&str| read_flag(text, Undeclared::Refuse).expect("name=value");
    texts.iter().map(read).collect()
}

#[test]
fn defaults_are_converted_to_the_declared_type() {
    check(
        r#"
variable "dcs" {
  type    = list(string)
  default = ["a", 1]
}
variable "o" {
  type        = object({ name = string, port = optional(number, 80), t = optional(string) })
  default     = { name = 1 }
  sensitive   = true
  description = "an object"
}
variable "t" {
  type    = tuple([string, number])
  default = [1, "2"]
}
variable "old" {
  type    = "string"
  default = 5
}
variable "s" {
  type = set(number)
  default = [3, "1", 3]
}
variable "any" {
  default = { a = true }
}
variables {
  plain = "x"
}
"#,
        expect![[r#""#]],
    );
}

#[test]
fn values_from_outside_take_the_type_and_the_last_wins() {
    let text = r#"
variable "n" { type = number }
variable "l" { type = list(string) }
variable "s" { type = string }
variable "untyped" { default = 5 }
variable "plain" {}
"#;
    let given = flags(&["n=1", "n=2", "l=[\"a\", \"b\"]", "s=[not parsed", "untyped=6", "plain=x=y"]);
    check_with(text, &given, expect![[r#""#]]);
    let given = flags(&["n=ten", "l=oops(", "s=1", "plain=1", "nn=1"]);
    check_with(text, &given, expect![[r#""#]]);
}

#[test]
fn environment_and_files_give_values_too() {
    let limits = Limits::default();
    let mut given =
        variables::read_environment([("NOMAD_VAR_n", "1"), ("NOMAD_VAR_other", "x"), ("HOME", "/")]);
    given.extend(
        variables::read_var_file("a.vars", "n = 2\nl = [\"${1 + 1}\"]\n", &limits, &fixed, Undeclared::Refuse)
            .expect("a good file"),
    );
    given.extend(
        variables::read_var_file("b.json", "{\"l\": [3]}", &limits, &fixed, Undeclared::Refuse)
            .expect("a good file"),
    );
    let text = "variable \"n\" {\n  type = number\n}\nvariable \"l\" {\n  type = list(string)\n}\n";
    check_with(text, &given, expect![[r#""#]]);
    let problems =
        variables::read_var_file("c.vars", "n = x\nb {}\n", &limits, &fixed, Undeclared::Refuse)
            .expect_err("two mistakes");
    assert_eq!(problems.len(), 2);
}

#[test]
fn wrong_declarations_are_reported_together() {
    check(
        r#"
variable "1bad" {
  default = 1
}
variable "twice" {
  default = 1
}
variable "twice" {
  default = 2
}
variable "n" {
  type    = number
  default = "ten"
}
variable "v" {
  defualt = 1
}
variable "unset" {}
variable "t" {
  type    = strin
  default = 1
}
variable "x" {
  default = 1
  validation {
    condition     = var.x > 3
    error_message = "Bigger, please."
  }
}
"#,
        expect![[r#""#]],
    );
}

#[test]
fn locals_are_evaluated_in_the_order_of_their_dependencies() {
    check(
        r#"
variable "base" {
  default = "root"
}
locals {
  inner = "${local.dir}/in"
  both  = [local["dir"], local.inner]
}
locals {
  dir = "/${var.base}"
}
"#,
        expect![[r#""#]],
    );
    check(
        "locals {\n  a = local.b\n  b = local.a\n  c = 1\n  d = local.nope\n}\nlocals {\n  c = 2\n}\n",
        expect![[r#""#]],
    );
}
