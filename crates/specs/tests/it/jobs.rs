//! Job files: what each block becomes, and how wrong ones are refused.

use expect_test::{Expect, expect};
use hcl::Limits;
use hcl::variables::{Undeclared, read_flag};
use model::job::Job;
use serde_json::Value;
use specs::job::{Options, parse_job, parse_json_job};

fn parse(text: &str, flags: &[&str]) -> Result<(Job, Vec<String>), Vec<String>> {
    let assignments: Vec<_> =
        flags.iter().map(|flag| read_flag(flag, Undeclared::Refuse).expect("a flag")).collect();
    let options = Options {
        assignments: &assignments,
        files: None,
        random: &|| [7; 16],
        limits: Limits::default(),
    };
    let lines = |list: Vec<hcl::Diagnostic>| list.iter().map(ToString::to_string).collect();
    parse_job("j.hcl", text, &options).map(|(job, warnings)| (job, lines(warnings))).map_err(lines)
}

/// The JSON without what is empty.
fn lean(value: &Value) -> Value {
    let empty = |value: &Value| {
        matches!(value, Value::Null | Value::Bool(false))
            || value.as_str() == Some("")
            || value.as_i64() == Some(0)
    };
    match value {
        Value::Object(items) => Value::Object(
            items.iter().filter(|(_, v)| !empty(v)).map(|(k, v)| (k.clone(), lean(v))).collect(),
        ),
        Value::Array(items) => items.iter().map(lean).collect(),
        other => other.clone(),
    }
}

/// Compares the first task, as JSON without what is empty.
fn task(text: &str, expected: Expect) {
    let text = format!("job \"j\" {{\n group \"g\" {{\n task \"t\" {{\n{text}\n}}\n}}\n}}");
    let (job, _) = parse(&text, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
    let value = serde_json::to_value(&job.task_groups[0].tasks[0]).expect("writes");
    expected.assert_eq(&serde_json::to_string_pretty(&lean(&value)).expect("writes"));
}

fn problems(text: &str, expected: Expect) {
    let found = parse(text, &[]).map(|_| ()).err().unwrap_or_default();
    expected.assert_eq(&found.join("\n"));
}

#[test]
fn what_a_file_does_not_say_stays_open() {
    let (job, _) = parse("job \"j\" {\n group \"g\" {\n task \"t\" {}\n }\n}", &[]).expect("valid");
    assert_eq!(job.id.as_deref(), Some("j"));
    assert_eq!((job.kind, job.priority, job.update), (None, None, None));
    assert_eq!(job.task_groups[0].count, None);
    assert_eq!(job.task_groups[0].tasks[0].resources, None);
}

#[test]
fn driver_configuration_keeps_blocks_as_lists() {
    task(
        r#"driver = "docker"
           config {
             image = "i"
             size  = 1.5
             none  = null
             mount { type = "bind" }
             mount { type = "tmpfs" }
           }"#,
        expect![[r#"
            {
              "Name": "t",
              "Driver": "docker",
              "Config": {
                "image": "i",
                "mount": [
                  {
                    "type": "bind"
                  },
                  {
                    "type": "tmpfs"
                  }
                ],
                "size": 1.5
              }
            }"#]],
    );
}

#[test]
fn rules_have_short_spellings() {
    task(
        r#"constraint {
             attribute = "${meta.a}"
             regexp    = "^x"
           }
           constraint {
             distinct_property = "${meta.rack}"
             value             = 2
           }
           affinity {
             attribute        = "${meta.tags}"
             set_contains_any = "p,q"
             weight           = -5
           }"#,
        expect![[r#"
            {
              "Name": "t",
              "Constraints": [
                {
                  "LTarget": "${meta.a}",
                  "RTarget": "^x",
                  "Operand": "regexp"
                },
                {
                  "LTarget": "${meta.rack}",
                  "RTarget": "2",
                  "Operand": "distinct_property"
                }
              ],
              "Affinities": [
                {
                  "LTarget": "${meta.tags}",
                  "RTarget": "p,q",
                  "Operand": "set_contains_any",
                  "Weight": -5
                }
              ]
            }"#]],
    );
}

#[test]
fn tasks_take_vault_from_the_nearest_level_above() {
    let (job, _) = parse(
        r#"job "j" {
             vault { role = "from-job" }
             group "a" {
               vault { role = "from-group" }
               task "t" {}
               task "own" { 
                 vault { role = "from-task" }
               }
             }
             task "flat" {}
           }"#,
        &[],
    )
    .expect("valid");
    let roles: Vec<&str> = job
        .task_groups
        .iter()
        .flat_map(|group| group.tasks.iter())
        .map(|task| task.vault.as_ref().map_or("", |vault| vault.role.as_str()))
        .collect();
    assert_eq!(roles, ["from-group", "from-task", "from-job"]);
    assert_eq!(job.task_groups[1].name(), "flat");
}

#[test]
fn variables_come_from_the_caller() {
    let text =
        "variable \"n\" { type = number }\njob \"j\" {\n group \"g\" {\n count = var.n\n }\n}";
    let (job, _) = parse(text, &["n=3"]).expect("valid");
    assert_eq!(job.task_groups[0].count, Some(3));
    assert!(parse(text, &[]).is_err());
}

#[test]
fn all_problems_come_at_once_with_their_places() {
    problems(
        r#"job "j" {
  colour = "red"
  group "g" {
    network {
      port "a" { static = 70000 }
    }
    task "t" {
      drvier = "exec"
      kill_timeout = "soon"
    }
    task "t" {}
  }
  group "g" {}
}"#,
        expect![[r#"
            j.hcl:2,3-9: Unsupported argument; An argument named "colour" is not expected here.
            j.hcl:5,27-32: Unsuitable value type; Unsuitable value for "static": value must be a whole number, between 0 and 65535
            j.hcl:8,7-13: Unsupported argument; An argument named "drvier" is not expected here. Did you mean "driver"?
            j.hcl:9,22-28: Unsuitable value type; Unsuitable value for "kill_timeout": invalid duration "soon"; write for example "1h30m" or "45s"; units are h, m, s, ms, us and ns
            j.hcl:11,5-9: Duplicate task; The group has more than one task named "t"; give each a name of its own.
            j.hcl:13,3-8: Duplicate group; The job has more than one group named "g"; give each a name of its own."#]],
    );
}

#[test]
fn two_operators_in_one_rule_are_refused() {
    problems(
        "job \"j\" {\n constraint {\n operator = \"=\"\n regexp = \"x\"\n }\n}",
        expect![[
            r#"j.hcl:4,11-14: Unsuitable value; "regexp" and another operator are given; only one may be."#
        ]],
    );
}

#[test]
fn a_file_without_a_job_says_so() {
    problems("", expect!["j.hcl:1,1-1: Job spec is empty; A job file needs a job block."]);
    problems(
        "locals {\n a = 1\n}",
        expect![[r#"j.hcl:1,1-1: Missing job block; A job file needs one block of type "job"."#]],
    );
}

#[test]
fn removed_tokens_are_warned_about() {
    let (_, warnings) = parse("job \"j\" {\n vault_token = \"s\"\n}", &[]).expect("valid");
    assert_eq!(
        warnings,
        ["j.hcl:2,16-19: Removed argument; \"vault_token\" has no meaning any more; remove it."]
    );
}

#[test]
fn json_of_the_api_is_read_bare_and_wrapped() {
    for text in [r#"{"ID":"j","Meta":null}"#, r#"{"Job":{"ID":"j","Meta":null}}"#] {
        assert_eq!(
            parse_json_job("j.json", text).map(|job| job.id).ok(),
            Some(Some("j".to_owned()))
        );
    }
    let problem = |text| parse_json_job("j.json", text).err().unwrap_or_default();
    assert!(problem("{\n,}").starts_with("j.json: "));
    assert!(problem("{\n,}").contains("line 2"));
    assert!(problem(r#"{"job":{"j":{}}}"#).contains("JSON spelling of HCL"));
    assert!(problem(r#"{"Job":{"ID":"j","Priority":"high"}}"#).contains("string \"high\""));
}
