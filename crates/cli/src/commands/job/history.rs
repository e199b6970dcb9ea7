//! `job history`: the versions of a job that are kept, and what changed between them.

use sdk::Fields;
use serde_json::Value;

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::table::Pairs;
use crate::output::{json, when};
use crate::{lookup, plandiff};

/// List the versions of a job; with -p, what each changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What changed between a version and the one before
    #[arg(long)]
    p: bool,
    /// The whole job of each version
    #[arg(long)]
    full: bool,
    /// Only this version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// With -p: compare with this version
    #[arg(long, value_name = "VERSION")]
    diff_version: Option<String>,
    /// With -p: compare with the version of this tag
    #[arg(long, value_name = "TAG")]
    diff_tag: Option<String>,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "JOB")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let given = one_word(&args.words, "<job>")?;
    if (args.format.is_given()) && (args.p || args.full) {
        return Err(Failure::usage("-json and -t are exclusive with -p and -full"));
    }
    let job = lookup::job(ctx, given).await?;
    let compare = args.diff_version.is_some() || args.diff_tag.is_some();
    let mut query = job.query().with_flag("diffs", args.p || compare);
    if let Some(version) = &args.diff_version {
        query = query.with("diff_version", super::inspect::version(version)?);
    }
    if let Some(tag) = &args.diff_tag {
        query = query.with("diff_tag", tag);
    }
    let answer = ctx.client.get(&job.path("/versions"), query).await;
    let answer = answer.attempt("Error retrieving job versions")?.value;
    let (versions, diffs) = (answer.items("Versions"), answer.items("Diffs"));
    let only = args.version.as_deref().map(super::inspect::version).transpose()?;
    let wanted = |job: &&Value| only.is_none_or(|only| job.at("Version").as_u64() == Some(only));
    let kept: Vec<&Value> = versions.iter().filter(wanted).collect();
    if let (Some(only), true) = (only, kept.is_empty()) {
        let id = &job.id;
        return Err(Failure::new(format!("Job \"{id}\" has no version {only} (any more)")));
    }
    if args.format.is_given() {
        let value = match (only, &kept[..]) {
            (Some(_), [job]) => (*job).clone(),
            _ => kept.into_iter().cloned().collect(),
        };
        return ctx.formatted(&args.format, &value).map(drop);
    }
    let mut texts = Vec::new();
    for (place, version) in versions.iter().enumerate().filter(|(_, job)| wanted(job)) {
        if args.full {
            texts.push(json::pretty(version));
        } else {
            texts.push(entry(version, diffs.get(place), ctx.palette()));
        }
    }
    ctx.say(texts.join("\n\n"));
    Ok(())
}

fn entry(job: &Value, diff: Option<&Value>, palette: crate::output::color::Palette) -> String {
    let mut pairs = Pairs::new();
    pairs
        .add("Version", job.int("Version"))
        .add("Stable", job.flag("Stable"))
        .add("Submit Date", when::at(job.int("SubmitTime")));
    let tag = job.at("VersionTag");
    if !tag.text("Name").is_empty() {
        pairs.add("Tag Name", tag.text("Name"));
        pairs.add("Tag Description", tag.text("Description"));
    }
    match diff {
        Some(diff) if diff.is_object() => {
            pairs.add("Diff", " ");
            format!("{}\n{}", pairs.render(), plandiff::job(diff, false, palette))
        }
        _ => pairs.render(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn the_difference_stands_below_its_version() {
        let job = json!({"Version": 1, "Stable": true, "SubmitTime": 0});
        let diff = json!({"Type": "Edited", "ID": "web", "Fields": [
            {"Type": "Edited", "Name": "Meta[v]", "Old": "0", "New": "1"}]});
        expect![[r#"
            Version     = 1
            Stable      = true
            Submit Date = N/A
            Diff        =
            +/- Job: "web"
            +/- Meta[v]: "0" => "1""#]]
        .assert_eq(&entry(&job, Some(&diff), Default::default()));
    }
}
