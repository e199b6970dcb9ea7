//! Hop 18 of `job run`: follows an evaluation, then its deployment, and prints what happens.
//!
//! Blocking queries wait for changes; nothing is polled. The state kept here is only what has been
//! printed, so that each change is told once.

use std::collections::BTreeMap;
use std::time::Duration;

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, FAILED, Failure, NOT_PLACED, Outcome};
use crate::output::table::indented;
use crate::output::units::id;
use crate::output::when;
use crate::show;

/// How long one blocking query waits before it is asked again.
pub(crate) const WAIT: Duration = Duration::from_secs(10);
/// How often in a row an unreachable agent is asked again.
const RETRIES_MAX: u32 = 5;
/// The pause before asking an unreachable agent again, times the number of the try.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Follows evaluation `eval` until it is final, then its deployment; fails when either does.
pub(crate) async fn evaluation(ctx: &mut Context<'_>, eval: &str, verbose: bool) -> Outcome {
    let mut eval = eval.to_owned();
    loop {
        let mut told = Told { verbose, status: "pending".to_owned(), ..Told::default() };
        let done = follow(ctx, &eval, &mut told).await?;
        let next = done.text("NextEval");
        let failed = done.entries("FailedTGAllocs");
        let status = done.text("Status");
        if !failed.is_empty() && status == "complete" {
            return Err(Failure::silent(NOT_PLACED));
        }
        if status != "complete" {
            return Err(Failure::silent(NOT_PLACED));
        }
        if next.is_empty() {
            let deployment = done.text("DeploymentID");
            if deployment.is_empty() {
                return Ok(());
            }
            return self::deployment(ctx, deployment, verbose, WAIT).await;
        }
        let wait = when::duration(done.int("Wait"));
        let line = format!("Monitoring next evaluation \"{}\" in {wait}", id(next, verbose));
        head(ctx, &line);
        eval = next.to_owned();
    }
}

/// What has been printed of one evaluation.
#[derive(Default)]
struct Told {
    verbose: bool,
    begun: bool,
    job: bool,
    status: String,
    deployment: String,
    allocations: BTreeMap<String, String>,
}

/// Prints the changes of one evaluation until it is final and returns it.
async fn follow(ctx: &mut Context<'_>, eval: &str, told: &mut Told) -> Result<Value, Failure> {
    let path = format!("/v1/evaluation/{}", sdk::segment(eval));
    let (mut index, mut tries) = (0, 0);
    loop {
        let query = match index {
            0 => Query::new(),
            _ => Query::new().blocking(index, WAIT),
        };
        let answer = match ctx.client.get(&path, query).await {
            Err(error) if error.status().is_none() && index > 0 && tries < RETRIES_MAX => {
                tries += 1;
                tokio::time::sleep(RETRY_PAUSE * tries).await;
                continue;
            }
            answer => answer.attempt("Error reading evaluation")?,
        };
        tries = 0;
        let done = is_final(answer.value.text("Status"));
        let allocations = ctx.client.get(&format!("{path}/allocations"), Query::new()).await;
        let allocations = allocations.attempt("Error reading allocations")?.value;
        for line in changes(&answer.value, &allocations, told) {
            match line {
                Line::Head(text) => head(ctx, &text),
                Line::Body(text) => body(ctx, &text),
            }
        }
        if done {
            finish(ctx, &answer.value, told.verbose);
            return Ok(answer.value);
        }
        index = answer.index.max(1);
    }
}

fn is_final(status: &str) -> bool {
    matches!(status, "complete" | "failed" | "canceled" | "cancelled")
}

#[derive(Debug)]
enum Line {
    Head(String),
    Body(String),
}

/// The lines for everything that is new since the last look.
fn changes(eval: &Value, allocations: &Value, told: &mut Told) -> Vec<Line> {
    let verbose = told.verbose;
    let mut lines = Vec::new();
    if !told.begun {
        told.begun = true;
        let short = id(eval.text("ID"), verbose);
        lines.push(Line::Head(format!("Monitoring evaluation \"{short}\"")));
    }
    let mut add = |text: String| lines.push(Line::Body(text));
    if !told.job {
        told.job = true;
        match eval.text("NodeID") {
            "" => add(format!("Evaluation triggered by job \"{}\"", eval.text("JobID"))),
            node => add(format!("Evaluation triggered by node \"{}\"", id(node, verbose))),
        }
    }
    if told.deployment != eval.text("DeploymentID") {
        told.deployment = eval.text("DeploymentID").to_owned();
        let deployment = id(&told.deployment, verbose);
        add(format!("Evaluation within deployment: \"{deployment}\""));
    }
    let rows = allocations.as_array().map(Vec::as_slice).unwrap_or_default();
    for alloc in rows {
        let (name, status) = (id(alloc.text("ID"), verbose), alloc.text("ClientStatus"));
        match told.allocations.insert(alloc.text("ID").to_owned(), status.to_owned()) {
            None => {
                let new = alloc.int("CreateIndex") >= eval.int("CreateIndex");
                let verb = if new { "created" } else { "modified" };
                let (node, group) = (id(alloc.text("NodeID"), verbose), alloc.text("TaskGroup"));
                add(format!("Allocation \"{name}\" {verb}: node \"{node}\", group \"{group}\""));
            }
            Some(before) if before != status => {
                let why = alloc.text("ClientDescription");
                let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
                add(format!(
                    "Allocation \"{name}\" status changed: \"{before}\" -> \"{status}\"{why}"
                ));
            }
            Some(_) => {}
        }
    }
    let status = eval.text("Status");
    if told.status != status {
        add(format!("Evaluation status changed: \"{}\" -> \"{status}\"", told.status));
        told.status = status.to_owned();
    }
    lines
}

fn finish(ctx: &mut Context<'_>, eval: &Value, verbose: bool) {
    let (short, status) = (id(eval.text("ID"), verbose), eval.text("Status"));
    let failed = eval.entries("FailedTGAllocs");
    let mut line = format!("Evaluation \"{short}\" finished with status \"{status}\"");
    if !failed.is_empty() {
        line.push_str(" but failed to place all allocations:");
    }
    head(ctx, &line);
    let why = eval.text("StatusDescription");
    if status == "failed" && !why.is_empty() {
        body(ctx, &format!("Reason: {why}"));
    }
    for line in show::placement::failures(&failed, 0) {
        body(ctx, &line);
    }
    let blocked = eval.text("BlockedEval");
    if !blocked.is_empty() {
        let blocked = id(blocked, verbose);
        body(
            ctx,
            &format!("Evaluation \"{blocked}\" waiting for additional capacity to place remainder"),
        );
    }
}

/// Follows a deployment until it is final; fails when it does.
pub(crate) async fn deployment(
    ctx: &mut Context<'_>,
    id_: &str,
    verbose: bool,
    wait: Duration,
) -> Outcome {
    let path = format!("/v1/deployment/{}", sdk::segment(id_));
    let (mut index, mut tries, mut before) = (0, 0, String::new());
    loop {
        let query = match index {
            0 => Query::new(),
            _ => Query::new().blocking(index, wait),
        };
        let answer = match ctx.client.get(&path, query).await {
            // A purged job takes its deployment along: nothing is left to follow.
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) if error.status().is_none() && index > 0 && tries < RETRIES_MAX => {
                tries += 1;
                tokio::time::sleep(RETRY_PAUSE * tries).await;
                continue;
            }
            answer => answer.attempt("Error reading deployment")?,
        };
        tries = 0;
        let (status, short) = (answer.value.text("Status"), id(id_, verbose));
        if index == 0 {
            head(ctx, &format!("Monitoring deployment \"{short}\""));
        }
        let description = answer.value.text("StatusDescription").to_owned();
        let done = matches!(status, "successful" | "failed" | "cancelled");
        if before != description && !done {
            body(ctx, &format!("Deployment \"{short}\" {status}: {description}"));
            before = description;
        }
        if done {
            body(ctx, &format!("Deployment \"{short}\" {status}"));
            let details = show::deployment::details(&answer.value, verbose, ctx.palette());
            ctx.say(format!("\n{}", indented(&details, 4)));
            let failed = status == "failed";
            return if failed { Err(Failure::silent(FAILED)) } else { Ok(()) };
        }
        index = answer.index.max(1);
    }
}

/// People see when each line was printed; scripts get the lines alone.
fn stamp(ctx: &Context<'_>) -> String {
    if ctx.terminal.is_terminal { format!("{}: ", when::at(when::now())) } else { String::new() }
}

fn head(ctx: &mut Context<'_>, text: &str) {
    let line = ctx.palette().bold(&format!("==> {}{text}", stamp(ctx)));
    ctx.say(line);
}

fn body(ctx: &mut Context<'_>, text: &str) {
    let line = format!("    {}{text}", stamp(ctx));
    ctx.say(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn shown(eval: &Value, allocations: Value, told: &mut Told) -> String {
        let text = |line: Line| match line {
            Line::Head(text) => format!("==> {text}\n"),
            Line::Body(text) => format!("    {text}\n"),
        };
        changes(eval, &allocations, told).into_iter().map(text).collect()
    }

    #[test]
    fn each_change_is_told_once() {
        let mut told = Told { status: "pending".to_owned(), ..Told::default() };
        let mut eval =
            json!({"ID": "11111111-2", "JobID": "web", "Status": "pending", "CreateIndex": 7});
        expect![[r#"
            ==> Monitoring evaluation "11111111"
                Evaluation triggered by job "web"
        "#]]
        .assert_eq(&shown(&eval, json!([]), &mut told));
        eval["DeploymentID"] = "dddddddd-1".into();
        eval["Status"] = "complete".into();
        let mut allocs = json!([
            {"ID": "aaaaaaaa-1", "NodeID": "nnnnnnnn-1", "TaskGroup": "g", "CreateIndex": 9,
             "ClientStatus": "pending"},
            {"ID": "bbbbbbbb-1", "NodeID": "nnnnnnnn-1", "TaskGroup": "g", "CreateIndex": 3,
             "ClientStatus": "running"}]);
        expect![[r#"
            Evaluation within deployment: "dddddddd"
            Allocation "aaaaaaaa" created: node "nnnnnnnn", group "g"
            Allocation "bbbbbbbb" modified: node "nnnnnnnn", group "g"
            Evaluation status changed: "pending" -> "complete"
        "#]]
        .assert_eq(&shown(&eval, allocs.clone(), &mut told).replace("    ", ""));
        allocs[0]["ClientStatus"] = "running".into();
        expect![[r#"
            Allocation "aaaaaaaa" status changed: "pending" -> "running"
        "#]]
        .assert_eq(&shown(&eval, allocs.clone(), &mut told).replace("    ", ""));
        assert_eq!(shown(&eval, allocs, &mut told), "");
    }
}
