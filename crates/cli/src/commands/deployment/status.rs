//! `deployment status`: how far a deployment has come.

use std::time::Duration;

use sdk::{Fields, Query};

use crate::context::{Context, Format, maybe_word};
use crate::failure::{Failure, Outcome};
use crate::output::when;
use crate::{lookup, monitor, show};

/// Show how far a deployment has come, or with -monitor follow it to its end; without an id, list
/// the deployments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Follow it to its end
    #[arg(long)]
    monitor: bool,
    /// With -monitor: how long one look waits for news; 10s unless given
    #[arg(long, value_name = "DURATION")]
    wait: Option<String>,
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
        Self { monitor: false, wait: None, verbose, format, words: vec![id.to_owned()] }
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
        let wait = wait(args.wait.as_deref())?;
        return monitor::deployment(ctx, deployment.text("ID"), args.verbose, wait).await;
    }
    let text = show::deployment::details(&deployment, args.verbose, ctx.palette());
    ctx.say(text);
    Ok(())
}

fn wait(text: Option<&str>) -> Result<Duration, Failure> {
    let Some(text) = text else { return Ok(monitor::WAIT) };
    let nanos = when::parse_duration(text).and_then(|nanos| u64::try_from(nanos).ok());
    let nanos = nanos.filter(|nanos| *nanos > 0);
    let nanos =
        nanos.ok_or_else(|| Failure::usage(format!("-wait: invalid duration \"{text}\"")))?;
    Ok(Duration::from_nanos(nanos))
}
