//! Mistakes that people make in job files, and what they are shown: one page for each theme.
//!
//! A page is read like documentation: would somebody who has never seen the language know what is
//! wrong, where, and what to do?

use std::fmt::Write as _;

use expect_test::{ExpectFile, expect_file};

use crate::agent::run;

/// Runs each file through `job run -output` and compares everything that is shown.
async fn page(expected: ExpectFile, mistakes: &[(&str, &str)]) {
    let mut page = String::new();
    for (title, text) in mistakes {
        let (code, out, err) = run(&["job", "run", "-output", "-"], &[], text).await;
        let shown = if code == 0 { format!("accepted\n{err}") } else { err };
        assert!(code == 0 || out.is_empty(), "{title}: {out}");
        let shown = shown.replace("Error getting job struct: Error parsing job file from -:\n", "");
        let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let _ = write!(page, "== {title}\n\n{}\n\n", shown.join("\n").trim_end());
    }
    expected.assert_eq(&page);
}

/// The same with the text in a task of a job, from its fourth line on.
async fn task_page(expected: ExpectFile, mistakes: &[(&str, &str)]) {
    let whole: Vec<(&str, String)> = mistakes
        .iter()
        .map(|(title, text)| {
            (*title, format!("job \"web\" {{\n  group \"g\" {{\n    task \"t\" {{\n{text}\n    }}\n  }}\n}}\n"))
        })
        .collect();
    let whole: Vec<(&str, &str)> = whole.iter().map(|(title, text)| (*title, &**text)).collect();
    page(expected, &whole).await;
}

#[tokio::test]
async fn syntax() {
    let mistakes = [
        ("a brace is missing at the end", "job \"web\" {\n  group \"g\" {\n    count = 2\n  }\n"),
        (
            "a brace is missing in the middle",
            "job \"web\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n  }\n}\n",
        ),
        ("a brace too many", "job \"web\" {\n  type = \"batch\"\n}\n}\n"),
        ("a bracket is missing", "job \"web\" {\n  datacenters = [\"dc1\", \"dc2\"\n}\n"),
        ("a text is not closed", "job \"web\" {\n  type = \"batch\n}\n"),
        ("a heredoc is not closed", "job \"web\" {\n  meta {\n    a = <<EOF\nline\n  }\n}\n"),
        ("no equals sign", "job \"web\" {\n  type \"batch\"\n}\n"),
        ("a colon for an equals sign", "job \"web\" {\n  type: \"batch\"\n}\n"),
        ("a text without quotes", "job \"web\" {\n  type = batch job\n}\n"),
        ("single quotes", "job \"web\" {\n  type = 'batch'\n}\n"),
        ("a quoted argument name", "job \"web\" {\n  \"type\" = \"batch\"\n}\n"),
        ("two arguments in one line", "job \"web\" {\n  type = \"batch\" priority = 50\n}\n"),
        ("a semicolon", "job \"web\" {\n  type = \"batch\";\n}\n"),
        ("nested blocks in one line", "job \"web\" { group \"g\" { count = 1 } }\n"),
        ("an argument twice", "job \"web\" {\n  type = \"batch\"\n  type = \"service\"\n}\n"),
        ("no comma between items", "job \"web\" {\n  datacenters = [\"a\" \"b\"]\n}\n"),
        ("the word job is missing", "\"web\" {\n  type = \"batch\"\n}\n"),
        ("YAML", "job:\n  web:\n    type: batch\n"),
        ("an empty file", ""),
    ];
    page(expect_file!["mistakes/syntax.txt"], &mistakes).await;
}

#[tokio::test]
async fn names_and_blocks() {
    let mistakes = [
        (
            "several slips at once",
            "job \"web\" {\n  priorty = 50\n  gruop \"g\" {}\n  group \"h\" {\n    cuont = 1\n    task \"t\" {\n      drvier = \"exec\"\n    }\n  }\n}\n",
        ),
        ("a block as an argument", "job \"web\" {\n  update = {\n    max_parallel = 1\n  }\n}\n"),
        ("an argument as a block", "job \"web\" {\n  datacenters {\n  }\n}\n"),
        (
            "a block in the wrong place",
            "job \"web\" {\n  task \"t\" {\n    driver = \"exec\"\n    count  = 2\n  }\n}\n",
        ),
        ("a block without its label", "job \"web\" {\n  group {\n    count = 1\n  }\n}\n"),
        ("a label too many", "job \"web\" {\n  group \"g\" \"h\" {\n    count = 1\n  }\n}\n"),
        ("a label where none is", "job \"web\" {\n  group \"g\" {\n    restart \"r\" {}\n  }\n}\n"),
        (
            "a block twice",
            "job \"web\" {\n  group \"g\" {\n    restart {}\n    restart {}\n  }\n}\n",
        ),
        (
            "two groups of one name",
            "job \"web\" {\n  group \"g\" {}\n  group \"h\" {}\n  group \"g\" {}\n}\n",
        ),
        (
            "two tasks of one name",
            "job \"web\" {\n  group \"g\" {\n    task \"t\" {}\n    task \"t\" {}\n  }\n}\n",
        ),
        ("two jobs", "job \"a\" {}\njob \"b\" {}\n"),
        ("no job", "group \"g\" {}\n"),
        ("arguments outside of the job", "type = \"batch\"\njob \"web\" {}\n"),
    ];
    page(expect_file!["mistakes/names_and_blocks.txt"], &mistakes).await;
}

#[tokio::test]
async fn values() {
    let mistakes = [
        ("a text for a number", "resources { cpu = \"a lot\" }"),
        ("a unit on a number", "resources { memory = \"256MB\" }"),
        ("a fraction for a whole number", "resources { cpu = 1.5 }"),
        ("a duration without unit", "kill_timeout = \"30\""),
        ("a duration in words", "kill_timeout = \"5 minutes\""),
        ("a duration in days", "shutdown_delay = \"1d\""),
        ("a text for a bool", "leader = \"yes\""),
        (
            "a text for a list",
            "driver = \"exec\"\nconfig { command = \"x\" }\nidentity {\n  aud = \"a\"\n}",
        ),
        ("a list for a text", "driver = [\"exec\"]"),
        ("a list for a map", "env = [\"A=1\"]"),
        ("a map in a map of texts", "meta {\n  a = { b = 1 }\n}"),
        (
            "a port that does not exist",
            "resources {\n  network {\n    port \"http\" { static = 80808 }\n  }\n}",
        ),
        ("a weight out of range", "affinity {\n  attribute = \"a\"\n  weight    = 101\n}"),
        (
            "two operators",
            "constraint {\n  attribute = \"a\"\n  regexp    = \"b\"\n  version   = \"c\"\n}",
        ),
        ("an unknown resource to scale", "scaling \"disk\" {}"),
    ];
    task_page(expect_file!["mistakes/values.txt"], &mistakes).await;
}

#[tokio::test]
async fn expressions() {
    let mistakes = [
        (
            "a shell variable in a heredoc",
            "template {\n  data = <<EOF\nexport PATH=${PATH:-/bin}\nEOF\n  destination = \"local/x\"\n}",
        ),
        ("a shell variable with a default in a text", "env {\n  A = \"${HOME:-/root}/x\"\n}"),
        ("a shell substitution", "env {\n  A = \"${#items}\"\n}"),
        ("a printf verb in a template", "env {\n  A = \"%{time}\"\n}"),
        ("a name without var", "user = image"),
        ("a variable that is not declared", "user = var.usr"),
        ("a local that does not exist", "user = local.usr"),
        ("an unknown function", "user = uper(\"a\")"),
        ("too few arguments", "user = join(\",\")"),
        ("a wrong argument", "user = upper([\"a\"])"),
        ("a text plus a text", "user = \"a\" + \"b\""),
        ("division by zero", "kill_timeout = 1 / 0"),
        ("an index that is not there", "user = [\"a\"][3]"),
        ("a list in a text", "user = \"x-${[1, 2]}\""),
        ("two types in a condition", "user = true ? \"a\" : [1]"),
        ("a file that does not exist", "user = file(\"/does/not/exist\")"),
        ("dynamic without for_each", "dynamic \"template\" {\n  content {}\n}"),
        ("dynamic without content", "dynamic \"template\" {\n  for_each = [1]\n  data = 1\n}"),
    ];
    task_page(expect_file!["mistakes/expressions.txt"], &mistakes).await;
}

#[tokio::test]
async fn variables() {
    let mistakes = [
        (
            "a variable without a value",
            "variable \"image\" {\n  type = string\n}\njob \"web\" {}\n",
        ),
        (
            "a default of another type",
            "variable \"n\" {\n  type    = number\n  default = \"many\"\n}\njob \"web\" {}\n",
        ),
        ("an unknown type", "variable \"n\" {\n  type = strnig\n}\njob \"web\" {}\n"),
        (
            "a rule that does not hold",
            "variable \"n\" {\n  default = 0\n  validation {\n    condition     = var.n > 0\n    error_message = \"n must be above zero.\"\n  }\n}\njob \"web\" {}\n",
        ),
        (
            "a variable twice",
            "variable \"n\" {\n  default = 0\n}\nvariable \"n\" {\n  default = 1\n}\njob \"web\" {}\n",
        ),
        ("locals in a circle", "locals {\n  a = local.b\n  b = local.a\n}\njob \"web\" {}\n"),
    ];
    page(expect_file!["mistakes/variables.txt"], &mistakes).await;
}

#[tokio::test]
async fn json() {
    let mistakes = [
        ("a trailing comma", "{\"job\": {\"web\": {\"type\": \"batch\",}}}"),
        ("a block that is no object", "{\"job\": {\"web\": {\"group\": \"g\"}}}"),
        ("an unknown name", "{\"job\": {\"web\": {\n  \"gruop\": {\"g\": {}}\n}}}"),
        ("the JSON of the API", "{\"Job\": {\"ID\": \"web\"}}"),
    ];
    page(expect_file!["mistakes/json.txt"], &mistakes).await;
}

#[tokio::test]
async fn drivers() {
    let mistakes = [
        (
            "a setting the driver does not have",
            "driver = \"docker\"\nconfig {\n  imgae = \"redis\"\n}",
        ),
        (
            "a text for a list",
            "driver = \"raw_exec\"\nconfig {\n  command = \"echo\"\n  args    = \"a b\"\n}",
        ),
    ];
    task_page(expect_file!["mistakes/drivers.txt"], &mistakes).await;
}
