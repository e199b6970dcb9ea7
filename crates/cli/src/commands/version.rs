//! `version`: what is running, under the name it was called by.

use crate::context::{Context, Program};
use crate::failure::Outcome;

/// The version whose API and command line this follows.
const NOMAD_VERSION: &str = "1.11.3";

/// Print the version of this program and of the API it follows.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(ctx: &mut Context<'_>, _args: Args) -> Outcome {
    ctx.say(text(ctx.program));
    Ok(())
}

/// The line of `version` and `-version`.
pub(crate) fn text(program: Program) -> String {
    let own = env!("CARGO_PKG_VERSION");
    match program {
        Program::Nomad => format!("Nomad v{NOMAD_VERSION} (Muster v{own})"),
        Program::Muster => format!("Muster v{own} (Nomad {NOMAD_VERSION} API)"),
    }
}
