//! `job init`: an example to start from.

use std::fs::OpenOptions;
use std::io::Write;

use crate::context::{Context, maybe_word};
use crate::failure::{Attempt, Failure, Outcome};

/// Where the example goes unless told otherwise.
const DEFAULT_FILE: &str = "example.nomad.hcl";
/// The example with explanations.
const EXAMPLE: &str = include_str!("init/example.nomad.hcl");
/// The example without.
const SHORT: &str = include_str!("init/short.nomad.hcl");

/// Write an example job file, example.nomad.hcl unless another name is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Without explanations
    #[arg(long)]
    short: bool,
    #[arg(value_name = "FILENAME")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let file = maybe_word(&args.words, "<filename>")?.unwrap_or(DEFAULT_FILE);
    let text = if args.short { SHORT } else { EXAMPLE };
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let mut created = match created {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::new(format!("Job '{file}' already exists")));
        }
        created => created.attempt(&format!("Failed to write '{file}'"))?,
    };
    created.write_all(text.as_bytes()).attempt(&format!("Failed to write '{file}'"))?;
    ctx.say(format!("Example job file written to {file}"));
    Ok(())
}
