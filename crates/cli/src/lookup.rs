//! Finding the one thing a user means by an id or the beginning of one.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, Failure};
use crate::output::table::Table;
use crate::output::units::id;

/// Letters of a whole id.
const WHOLE_ID: usize = 36;
/// A beginning must be at least this long.
const PREFIX_MIN: usize = 2;

/// A job found by its id or the beginning of it.
#[derive(Debug, Clone)]
pub(crate) struct JobRef {
    pub(crate) id: String,
    pub(crate) namespace: String,
    /// The user typed the whole id.
    pub(crate) exact: bool,
}

impl JobRef {
    /// `/v1/job/<id>` and what follows.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/job/{}{rest}", sdk::segment(&self.id))
    }

    /// Query options for the namespace of the job.
    pub(crate) fn query(&self) -> Query {
        Query::new().with_some("namespace", &self.namespace)
    }
}

/// The job the user means.
pub(crate) async fn job(ctx: &Context<'_>, given: &str) -> Result<JobRef, Failure> {
    let given = given.trim();
    let jobs = ctx.client.get("/v1/jobs", Query::new().with("prefix", given)).await;
    let jobs = jobs.attempt("Error querying jobs")?.value;
    let rows = jobs.as_array().map(Vec::as_slice).unwrap_or_default();
    let exact: Vec<&Value> = rows.iter().filter(|job| job.text("ID") == given).collect();
    let found = if exact.is_empty() { rows.iter().collect() } else { exact };
    match found[..] {
        [] => Err(Failure::new(format!("No job(s) with prefix or id \"{given}\" found"))),
        [job] => Ok(JobRef {
            id: job.text("ID").to_owned(),
            namespace: namespace_of(job),
            exact: job.text("ID") == given,
        }),
        _ => {
            let mut table = Table::new(&["ID", "Namespace", "Type", "Priority", "Status"]);
            for job in found {
                table.row([
                    job.text("ID").to_owned(),
                    namespace_of(job),
                    job.text("Type").to_owned(),
                    job.int("Priority").to_string(),
                    job.text("Status").to_owned(),
                ]);
            }
            Err(Failure::new(format!("Prefix matched multiple jobs\n\n{}", table.render())))
        }
    }
}

/// List rows carry their namespace, in older answers inside the summary.
fn namespace_of(row: &Value) -> String {
    let own = row.text("Namespace");
    let own = if own.is_empty() { row.at("JobSummary").text("Namespace") } else { own };
    own.to_owned()
}

/// What can be found by the beginning of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Allocation,
    Evaluation,
    Deployment,
    Node,
}

impl Kind {
    fn list(self) -> &'static str {
        match self {
            Self::Allocation => "/v1/allocations",
            Self::Evaluation => "/v1/evaluations",
            Self::Deployment => "/v1/deployments",
            Self::Node => "/v1/nodes",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Allocation => "allocation",
            Self::Evaluation => "evaluation",
            Self::Deployment => "deployment",
            Self::Node => "node",
        }
    }
}

/// The list row of the thing the user means.
pub(crate) async fn row(ctx: &Context<'_>, kind: Kind, given: &str) -> Result<Value, Failure> {
    let noun = kind.noun();
    let prefix = id_prefix(given)?;
    let rows = ctx.client.get(kind.list(), Query::new().with("prefix", &prefix)).await;
    let rows = rows.attempt(&format!("Error querying {noun}"))?.value;
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let given = given.to_lowercase();
    let mut found = rows.iter().filter(|row| row.text("ID").starts_with(&given));
    match (found.next(), found.next()) {
        (None, _) => Err(Failure::new(format!("No {noun}(s) with prefix or id \"{given}\" found"))),
        (Some(row), None) => Ok(row.clone()),
        (Some(_), Some(_)) => {
            let mut table = Table::new(&["ID", "Name", "Status"]);
            for row in rows.iter().filter(|row| row.text("ID").starts_with(&given)) {
                let name =
                    [row.text("Name"), row.text("JobID")].into_iter().find(|t| !t.is_empty());
                let status = [row.text("ClientStatus"), row.text("Status")];
                let status = status.into_iter().find(|text| !text.is_empty());
                table.row([row.text("ID"), name.unwrap_or_default(), status.unwrap_or_default()]);
            }
            let table = table.render();
            Err(Failure::new(format!("Prefix matched multiple {noun}s\n\n{table}")))
        }
    }
}

/// The whole allocation the user means.
pub(crate) async fn allocation(ctx: &Context<'_>, given: &str) -> Result<Value, Failure> {
    let row = row(ctx, Kind::Allocation, given).await?;
    let path = format!("/v1/allocation/{}", row.text("ID"));
    let query = Query::new().with_some("namespace", row.text("Namespace"));
    let found = ctx.client.get(&path, query).await.attempt("Error querying allocation")?;
    Ok(found.value)
}

/// A running allocation of a job, or else its newest; in `group` when one is named.
pub(crate) async fn allocation_of_job(
    ctx: &Context<'_>,
    given: &str,
    group: &str,
) -> Result<Value, Failure> {
    let job = job(ctx, given).await?;
    let rows = ctx.client.get(&job.path("/allocations"), job.query()).await;
    let rows = rows.attempt("Error querying allocations")?.value;
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let fits = |row: &&Value| group.is_empty() || row.text("TaskGroup") == group;
    let order = |row: &&Value| (row.text("ClientStatus") == "running", row.int("CreateIndex"));
    let best = rows.iter().filter(fits).max_by_key(order);
    let best = best.ok_or_else(|| Failure::new(format!("No allocations of job \"{}\"", job.id)))?;
    allocation(ctx, best.text("ID")).await
}

/// The deployment the user means; a whole id is asked for directly.
pub(crate) async fn deployment(ctx: &Context<'_>, given: &str) -> Result<Value, Failure> {
    let what = "Error retrieving deployment";
    let whole = if given.len() == WHOLE_ID {
        given.to_owned()
    } else {
        row(ctx, Kind::Deployment, given).await?.text("ID").to_owned()
    };
    let path = format!("/v1/deployment/{}", sdk::segment(&whole));
    Ok(ctx.client.get(&path, Query::new()).await.attempt(what)?.value)
}

/// The id of the node the agent itself is.
pub(crate) async fn own_node(ctx: &Context<'_>) -> Result<String, Failure> {
    let answer = ctx.client.get("/v1/agent/self", Query::new()).await;
    let answer = answer.attempt("Error querying agent info")?.value;
    let id = answer.at("stats").at("client").text("node_id").trim_matches('"');
    if id.is_empty() {
        return Err(Failure::new("The agent is not a client: it has no node of its own"));
    }
    Ok(id.to_owned())
}

/// Names a task of the allocation: the one asked for, or the only one there is.
pub(crate) fn only_task(allocation: &Value, verbose: bool) -> Result<String, Failure> {
    let tasks = task_names(allocation);
    match &tasks[..] {
        [task] => Ok(task.clone()),
        _ => {
            let list: String = tasks.iter().map(|task| format!("\n  * {task}")).collect();
            Err(Failure::new(format!(
                "Allocation \"{}\" is running the following tasks:{list}\n\nPlease specify the task.",
                id(allocation.text("ID"), verbose),
            )))
        }
    }
}

/// Refuses a task the allocation does not have.
pub(crate) fn known_task(allocation: &Value, task: &str) -> Result<(), Failure> {
    let tasks = task_names(allocation);
    if tasks.iter().any(|known| known == task) {
        return Ok(());
    }
    Err(Failure::new(format!("Could not find task named: {task}, found:\n{}", tasks.join("\n"))))
}

/// The tasks of the allocation's group, in the order of the job.
pub(crate) fn task_names(allocation: &Value) -> Vec<String> {
    let groups = allocation.at("Job").items("TaskGroups");
    let group = groups.iter().find(|group| group.text("Name") == allocation.text("TaskGroup"));
    let tasks = group.map(|group| group.items("Tasks")).unwrap_or_default();
    tasks.iter().map(|task| task.text("Name").to_owned()).collect()
}

/// The beginning of an id in the form the API takes: whole bytes, dashes in their places.
pub(crate) fn id_prefix(given: &str) -> Result<String, Failure> {
    if given.len() < PREFIX_MIN {
        return Err(Failure::new("Identifier must contain at least two characters."));
    }
    let letters = given.chars().filter(|letter| *letter != '-').count();
    let mut prefix = given.to_lowercase();
    if letters % 2 == 1 {
        prefix.pop();
    }
    Ok(prefix.trim_end_matches('-').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prefixes_are_cut_to_whole_bytes() {
        let prefix = |text: &str| id_prefix(text).unwrap();
        assert_eq!(prefix("abc"), "ab");
        assert_eq!(prefix("62EB607C-1"), "62eb607c");
        assert_eq!(prefix("62eb607c-12"), "62eb607c-12");
        assert!(id_prefix("a").unwrap_err().text.contains("two characters"));
    }

    #[test]
    fn a_task_must_be_named_when_there_are_several() {
        let alloc = |tasks: &[&str]| {
            let tasks: Vec<Value> = tasks.iter().map(|name| json!({"Name": name})).collect();
            json!({"ID": "0123456789", "TaskGroup": "g",
                   "Job": {"TaskGroups": [{"Name": "g", "Tasks": tasks}]}})
        };
        assert_eq!(only_task(&alloc(&["a"]), false).unwrap(), "a");
        let failure = only_task(&alloc(&["a", "b"]), false).unwrap_err();
        assert!(failure.text.starts_with("Allocation \"01234567\" is running"), "{}", failure.text);
        assert!(known_task(&alloc(&["a"]), "x").unwrap_err().text.ends_with("found:\na"));
    }
}
