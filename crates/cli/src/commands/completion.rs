//! `completion`: what a shell needs to complete commands and flags.

use clap_complete::Shell;

use crate::commands::COMMANDS;
use crate::context::{Context, one_word};
use crate::failure::{Failure, Outcome};

/// Print completions for bash, elvish, fish, powershell or zsh.
///
/// For bash: muster completion bash > ~/.local/share/bash-completion/completions/muster
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_name = "SHELL")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let shell: Shell = one_word(&args.words, "<shell>")?.parse().map_err(Failure::usage)?;
    let name = ctx.program.name();
    let mut root = clap::Command::new(name);
    for command in COMMANDS {
        root = with(root, command.path.split(' ').collect::<Vec<_>>().as_slice(), command.build());
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut root, name, &mut text);
    ctx.terminal.bytes(&text)?;
    Ok(())
}

/// The tree with one command added at its place.
fn with(parent: clap::Command, path: &[&'static str], command: clap::Command) -> clap::Command {
    match path {
        [] => parent,
        [last] => parent.subcommand(command.name(*last)),
        [group, rest @ ..] => {
            if parent.find_subcommand(group).is_none() {
                let group = with(clap::Command::new(*group), rest, command);
                return parent.subcommand(group);
            }
            parent.mut_subcommand(group, |group| with(group, rest, command))
        }
    }
}
