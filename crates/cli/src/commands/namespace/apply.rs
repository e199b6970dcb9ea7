//! `namespace apply`: a namespace is made or changed.

use sdk::{Fields, Query};
use serde_json::json;

use crate::context::{Context, one_word};
use crate::failure::{Attempt, Failure, Outcome};

/// Create a namespace, or change the description of one that exists.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[arg(value_name = "NAMESPACE")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let name = one_word(&args.words, "<namespace>")?;
    let path = format!("/v1/namespace/{}", sdk::segment(name));
    let mut namespace = match ctx.client.get(&path, Query::new()).await {
        Ok(found) if found.value.is_object() => found.value,
        Ok(_) => json!({}),
        Err(error) if error.is_not_found() => json!({}),
        Err(error) => return Err(Failure::new(format!("Error applying namespace: {error}"))),
    };
    namespace["Name"] = name.into();
    if let Some(description) = &args.description {
        namespace["Description"] = description.as_str().into();
    }
    if namespace.is_empty_at("Description") {
        namespace["Description"] = "".into();
    }
    let answer = ctx.client.put(&path, Query::new(), &namespace).await;
    answer.attempt("Error applying namespace")?;
    ctx.say(format!("Successfully applied namespace \"{name}\"!"));
    Ok(())
}
