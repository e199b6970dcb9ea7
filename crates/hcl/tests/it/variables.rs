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
        expect![[r#"
            var {"any":{"a":true},"dcs":["a","1"],"o":{"name":"1","port":80,"t":null},"old":"5","plain":"x","s":[1,3],"t":["1",2]}
            sensitive o "an object"
        "#]],
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
    let given =
        flags(&["n=1", "n=2", "l=[\"a\", \"b\"]", "s=[not parsed", "untyped=6", "plain=x=y"]);
    check_with(
        text,
        &given,
        expect![[r#"
        var {"l":["a","b"],"n":2,"plain":"x=y","s":"[not parsed","untyped":6}
    "#]],
    );
    let given = flags(&["n=ten", "l=oops(", "s=1", "plain=1", "nn=1"]);
    check_with(
        text,
        &given,
        expect![[r#"
            var {"plain":"1","s":"1","untyped":5}
            t.hcl:1,1-1: Undefined variable; A value for "nn" was given by flag -var nn, but the file declares no such variable. Did you mean "n"?
            t.hcl:2,10-13: Invalid value for variable "n"; The value given by flag -var n does not fit: a number is required.
            t.hcl:3,10-13: Invalid value for variable "l"; The value given by flag -var l does not fit: Invalid syntax: Unexpected token.
        "#]],
    );
}

#[test]
fn environment_and_files_give_values_too() {
    let limits = Limits::default();
    let mut given = variables::read_environment([
        ("NOMAD_VAR_n", "1"),
        ("NOMAD_VAR_other", "x"),
        ("HOME", "/"),
    ]);
    given.extend(
        variables::read_var_file(
            "a.vars",
            "n = 2\nl = [\"${1 + 1}\"]\n",
            &limits,
            &fixed,
            Undeclared::Refuse,
        )
        .expect("a good file"),
    );
    given.extend(
        variables::read_var_file("b.json", "{\"l\": [3]}", &limits, &fixed, Undeclared::Refuse)
            .expect("a good file"),
    );
    let text = "variable \"n\" {\n  type = number\n}\nvariable \"l\" {\n  type = list(string)\n}\n";
    check_with(
        text,
        &given,
        expect![[r#"
        var {"l":["3"],"n":2}
    "#]],
    );
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
        expect![[r#"
            var {"t":1,"twice":1,"x":1}
            t.hcl:2,10-16: Invalid variable name; The name "1bad" must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.
            t.hcl:8,10-17: Duplicate variable; Duplicate twice variable definition found.
            t.hcl:13,13-18: Invalid default value for variable; This default value is not compatible with the variable's type constraint: a number is required.
            t.hcl:16,3-10: Unsupported argument; An argument named "defualt" is not expected here. Did you mean "default"?
            t.hcl:20,13-18: Invalid type specification; A type is string, number, bool, any, list(T), set(T), map(T), tuple([T, ...]) or object({ name = T, ... }).
            t.hcl:18,10-17: Unset variable "unset"; A used variable must be set or have a default value. Set it with -var unset=..., with -var-file or with NOMAD_VAR_unset in the environment.
            t.hcl:24,13-14: Invalid value for variable "x"; Bigger, please.

            This was checked by the validation rule at t.hcl:25,3.
        "#]],
    );
}

#[test]
fn what_follows_from_a_failed_value_is_not_reported_again() {
    check(
        r#"
variable "a" {
  type    = number
  default = "ten"
}
locals {
  b = var.a + 1
  c = [local.b]
  d = nope.x
  e = upper(local.d)
}
"#,
        expect![[r#"
            t.hcl:4,13-18: Invalid default value for variable; This default value is not compatible with the variable's type constraint: a number is required.
            t.hcl:9,7-11: Unknown variable; There is no variable named "nope". A variable is written var.nope, a local value local.nope, and a text stands in quotes: "nope".
        "#]],
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
        expect![[r#"
            var {"base":"root"}
            local {"both":["/root","/root/in"],"dir":"/root","inner":"/root/in"}
        "#]],
    );
    check(
        "locals {\n  a = local.b\n  b = local.a\n  c = 1\n  d = local.nope\n}\nlocals {\n  c = 2\n}\n",
        expect![[r#"
            local {"c":1}
            t.hcl:8,3-4: Duplicate value in locals; The local value "c" was already defined at line 4.
            t.hcl:5,12-17: Unsupported attribute; The file has no local value named "nope". If it is missing, set it in a block: locals { nope = ... }.
            t.hcl:2,3-4: Cycle in local values; These local values refer to each other or to one that does: a, b.
        "#]],
    );
}
