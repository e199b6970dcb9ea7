//! Jobs in, problems out.

use super::*;
use crate::canonical::canonicalize_for_register;
use crate::wire::from_json;

/// A valid job with members of the task, the group and the job replaced or added.
fn job(job: &str, group: &str, task: &str) -> Job {
    let text = format!(
        r#"{{"ID":"j","Datacenters":["dc1"],"TaskGroups":[{{"Name":"g","EphemeralDisk":{{"SizeMB":10}},
        "Tasks":[{{"Name":"t","Driver":"raw_exec","LogConfig":{{"MaxFiles":1,"MaxFileSizeMB":1}}{task}}}]{group}}}]{job}}}"#
    );
    let mut job: Job = from_json(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
    canonicalize_for_register(&mut job);
    job
}

fn errors(of_job: &str, group: &str, task: &str) -> String {
    validate(&job(of_job, group, task)).error_texts().join("; ")
}

#[test]
fn a_plain_job_has_no_problems() {
    let report = validate(&job("", "", ""));
    assert_eq!(report, Report::default());
    assert_eq!((report.error_text(), report.warning_text()), (String::new(), String::new()));
    assert_eq!(unsupported(&job("", "", "")), []);
}

#[test]
fn problems_carry_their_place_and_come_all_at_once() {
    assert_eq!(
        errors(r#","Priority":200"#, r#","Count":-1"#, r#","Resources":{"CPU":0}"#),
        "Job priority must be between [1, 100], got 200; \
         group \"g\": Task group count can't be negative; \
         group \"g\" > task \"t\": minimum CPU value is 1; got 0"
    );
}

#[test]
fn errors_are_joined_in_the_form_of_the_wire() {
    let report = validate(&job(r#","Priority":200"#, r#","Count":-1"#, ""));
    assert_eq!(
        report.error_text(),
        "2 errors occurred:\n\t* Job priority must be between [1, 100], got 200\n\t\
         * group \"g\": Task group count can't be negative\n\n"
    );
}

#[test]
fn warnings_are_joined_in_the_form_of_the_wire() {
    let report = validate(&job(r#","Update":{"MaxParallel":5}"#, "", ""));
    assert!(report.is_ok());
    assert_eq!(
        report.warning_text(),
        "1 warning(s):\n\n* Group \"g\" has warnings: 1 error occurred:\n\t* Update max parallel count \
         is greater than task group count (5 > 1). A destructive change would result in the \
         simultaneous replacement of all allocations.\n\n"
    );
}

#[test]
fn each_fault_is_named() {
    let of_job = [
        (
            r#","Constraints":[{"LTarget":"a","RTarget":"x.y","Operand":"version"}]"#,
            "Version constraint",
        ),
        (
            r#","Constraints":[{"LTarget":"a","RTarget":"(","Operand":"regexp"}]"#,
            "failed to compile",
        ),
        (r#","Constraints":[{"LTarget":"a","Operand":"near"}]"#, "operator \"near\""),
        (
            r#","Constraints":[{"LTarget":"a","RTarget":"many","Operand":"distinct_property"}]"#,
            "many",
        ),
        (r#","Type":"batch","Periodic":{"Spec":"not cron"}"#, "cron spec"),
        (r#","Type":"batch","Periodic":{"Spec":"@daily","TimeZone":"Mars/Olympus"}"#, "time zone"),
        (r#","Periodic":{"Spec":"@daily"}"#, "Periodic can only"),
        (r#","Type":"system","Affinities":[{"LTarget":"a","RTarget":"b"}]"#, "affinity"),
        (r#","Update":{"HealthyDeadline":700000000000}"#, "progress deadline"),
        (r#","Update":{"AutoPromote":true}"#, "Auto Promote"),
    ];
    for (text, word) in of_job {
        let found = errors(text, "", "");
        assert!(found.contains(word), "{text}: {found:?}");
    }
    let of_group = [
        (
            r#","RestartPolicy":{"Attempts":20,"Interval":10000000000,"Delay":1000000000}"#,
            "restart 20 times",
        ),
        (r#","ReschedulePolicy":{"Delay":1000000}"#, "cannot be less than 5s (got 1ms)"),
        (
            r#","Networks":[{"ReservedPorts":[{"Label":"a","Value":8080},{"Label":"b","Value":8080}]}]"#,
            "8080",
        ),
        (r#","Networks":[{"ReservedPorts":[{"Label":"a","Value":70000}]}]"#, "70000"),
        (r#","Count":9,"Scaling":{"Min":1,"Max":5}"#, "maximum count"),
    ];
    for (text, word) in of_group {
        let found = errors("", text, "");
        assert!(found.contains(word), "{text}: {found:?}");
    }
    let of_task = [
        (r#","Templates":[{"EmbeddedTmpl":"x","DestPath":"../../../x"}]"#, "escapes"),
        (
            r#","Artifacts":[{"GetterSource":"http://x","GetterOptions":{"checksum":"crc:12"}}]"#,
            "checksum type",
        ),
        (r#","VolumeMounts":[{"Volume":"nope"}]"#, "nope"),
        (r#","Lifecycle":{"Hook":"midstart"}"#, "hook"),
        (r#","Services":[{"Name":"s","PortLabel":"nolabel"}]"#, "nolabel"),
    ];
    for (text, word) in of_task {
        let found = errors("", "", text);
        assert!(found.contains(word), "{text}: {found:?}");
    }
}

#[test]
fn what_cannot_run_yet_is_named_with_its_place() {
    let job = job(
        r#","Type":"system""#,
        r#","Volumes":{"v":{"Type":"host"}}"#,
        r#","Templates":[{"EmbeddedTmpl":"x","DestPath":"a"}],"Resources":{"Cores":2}"#,
    );
    let found: Vec<String> = unsupported(&job).iter().map(Problem::to_string).collect();
    assert_eq!(
        found,
        [
            "type = \"system\" is not supported by Muster yet (docs/gaps.md)",
            "group \"g\": volume is not supported by Muster yet (docs/gaps.md)",
            "group \"g\" > task \"t\": template is not supported by Muster yet (docs/gaps.md)",
            "group \"g\" > task \"t\": resources.cores is not supported by Muster yet (docs/gaps.md)",
        ]
    );
}

#[test]
fn durations_read_as_people_write_them() {
    assert_eq!(duration_text(90 * SECOND), "1m30s");
    assert_eq!(duration_text(SECOND / 4), "250ms");
    assert_eq!(duration_text(3600 * SECOND), "1h0m0s");
    assert_eq!(duration_text(0), "0s");
}

#[test]
fn problems_of_a_group_stand_below_its_name() {
    let problem =
        |path: &str, message: &str| Problem { path: path.to_owned(), message: message.to_owned() };
    let text = nested_error_text(&[
        problem("", "a"),
        problem("group \"g\"", "b"),
        problem("group \"g\" > task \"t\"", "c"),
        problem("group \"g\" > task \"t\" > service \"s\"", "d"),
        problem("group \"h\"", "e"),
    ]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let expected = [
        "3 errors occurred:",
        "\t* a",
        "\t* Task group g validation failed: 2 errors occurred:",
        "\t* b",
        "\t* Task t validation failed: 2 errors occurred:",
        "\t* c",
        "\t* service \"s\": d",
        "\t* Task group h validation failed: 1 error occurred:",
        "\t* e",
    ];
    assert_eq!(lines, expected);
}
