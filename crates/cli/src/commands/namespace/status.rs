//! `namespace status`: one namespace.

use sdk::{Fields, Query};
use serde_json::Value;

use crate::context::{Context, Format, one_word};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::table::Pairs;

/// Show a namespace.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "NAMESPACE")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(name: &str) -> Self {
        Self { format: Format::default(), words: vec![name.to_owned()] }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let namespace = find(ctx, one_word(&args.words, "<namespace>")?).await?;
    if ctx.formatted(&args.format, &namespace)? {
        return Ok(());
    }
    let mut pairs = Pairs::new();
    pairs
        .add("Name", namespace.text("Name"))
        .add("Description", namespace.text("Description"))
        .add("Quota", namespace.text("Quota"));
    ctx.say(pairs.render());
    let mut meta = namespace.entries("Meta");
    meta.sort_by_key(|(key, _)| *key);
    let mut pairs = Pairs::new();
    for (key, value) in meta {
        pairs.add(key, value.as_str().unwrap_or_default());
    }
    if !pairs.is_empty() {
        ctx.title("Metadata");
        ctx.say(pairs.render());
    }
    Ok(())
}

/// The namespace a whole name or the beginning of one means.
pub(crate) async fn find(ctx: &Context<'_>, given: &str) -> Result<Value, Failure> {
    let what = "Error retrieving namespaces";
    let query = Query::new().with("prefix", given);
    let answer = ctx.client.get("/v1/namespaces", query).await.attempt(what)?.value;
    let rows = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<_> = rows.iter().filter(|row| row.text("Name").starts_with(given)).collect();
    let exact = rows.iter().find(|row| row.text("Name") == given);
    match (exact, &rows[..]) {
        (Some(row), _) | (None, [row]) => Ok((*row).clone()),
        (None, []) => {
            let text = format!("{what}: Namespace \"{given}\" matched no namespaces");
            Err(Failure::new(text))
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|row| row.text("Name")).collect();
            let names = names.join("\n");
            Err(Failure::new(format!("Prefix matched multiple namespaces\n\n{names}")))
        }
    }
}
