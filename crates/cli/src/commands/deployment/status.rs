//! `deployment status`: how far a deployment has come.

use sdk::{Fields, Query};

use crate::context::{Context, Format, maybe_word};
use crate::failure::Outcome;
use crate::{lookup, monitor, show};

/// Show how far a deployment has come, or with -monitor follow it to its end; without an id, list
/// the deployments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow it to its end
    #[arg(long)]
    monitor: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    format: Format,
    #[arg(value_name = "DEPLOYMENT")]
    words: Vec<String>,
}

impl Args {
    /// What `status ID` asks for.
    pub(crate) fn of(id: &str, verbose: bool) -> Self {
        let format = Format::default();
        Self { monitor: false, verbose, format, words: vec![id.to_owned()] }
    }
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let Some(given) = maybe_word(&args.words, "<deployment>")? else {
        return super::list::list(ctx, &args.format, args.verbose, Query::new()).await;
    };
    let deployment = lookup::deployment(ctx, given).await?;
    if ctx.formatted(&args.format, &deployment)? {
        return Ok(());
    }
    if args.monitor {
        return monitor::deployment(ctx, deployment.text("ID"), args.verbose).await;
    }
    let text = show::deployment::details(&deployment, args.verbose, ctx.palette());
    ctx.say(text);
    Ok(())
}
