//! `namespace inspect`: a namespace as the agent has it.

use crate::context::{Context, Format, one_word};
use crate::failure::Outcome;

/// Print a namespace as JSON, or through a template.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the answer through a Go template
    #[arg(long = "t", value_name = "TEMPLATE")]
    template: Option<String>,
    #[arg(value_name = "NAMESPACE")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let namespace = super::status::find(ctx, one_word(&args.words, "<namespace>")?).await?;
    let format = Format { json: args.template.is_none(), template: args.template };
    ctx.formatted(&format, &namespace).map(drop)
}
