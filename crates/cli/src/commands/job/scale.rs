//! `job scale`: changes the count of a group.

use sdk::Fields;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::{lookup, monitor};

/// Change the count of a group; its name may be left out when there is only one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only if the job's modify index is this
    #[arg(long, value_name = "INDEX")]
    check_index: Option<String>,
    /// Return once the change is taken
    #[arg(long)]
    detach: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<job> [<group>] <count>")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (given, group, count) = match &args.words[..] {
        [job, count] => (job, None, count),
        [job, group, count] => (job, Some(group.clone()), count),
        _ => {
            return Err(Failure::usage(
                "This command takes two or three arguments: <job> [<group>] <count>",
            ));
        }
    };
    let count: u64 = count
        .parse()
        .map_err(|_| Failure::new(format!("The count \"{count}\" is not a number from 0 up")))?;
    let job = lookup::job(ctx, given).await?;
    let group = match group {
        Some(group) => group,
        None => only_group(ctx, &job).await?,
    };
    let mut body = json!({
        "Count": count,
        "Target": {"Job": job.id, "Group": group},
        "Message": format!("submitted using the {} CLI", ctx.program.name()),
        "PolicyOverride": false,
    });
    match args.check_index.as_deref().map(super::run::check_index).transpose()? {
        None | Some(0) => {}
        Some(index) => body["JobModifyIndex"] = index.into(),
    }
    let answer = ctx.client.put(&job.path("/scale"), job.query(), &body).await;
    let answer = answer.attempt("Error submitting scaling request")?.value;
    let warnings = answer.text("Warnings").trim_end();
    if !warnings.is_empty() {
        ctx.say(format!("Job Warnings:\n{warnings}\n"));
    }
    let eval = answer.text("EvalID");
    if eval.is_empty() {
        return Ok(());
    }
    if args.detach {
        ctx.say(format!("Evaluation ID: {eval}"));
        return Ok(());
    }
    ctx.client.namespace = job.namespace;
    monitor::evaluation(ctx, eval, args.verbose).await
}

async fn only_group(ctx: &Context<'_>, job: &lookup::JobRef) -> Result<String, Failure> {
    let answer = ctx.client.get(&job.path(""), job.query()).await;
    let answer = answer.attempt("Error querying job")?.value;
    match answer.items("TaskGroups") {
        [group] => Ok(group.text("Name").to_owned()),
        groups => {
            let names: Vec<&str> = groups.iter().map(|group| group.text("Name")).collect();
            let names = names.join(", ");
            Err(Failure::usage(format!("The job has several groups; name one of: {names}")))
        }
    }
}
