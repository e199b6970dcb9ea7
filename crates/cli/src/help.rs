//! Help pages: the list of commands, and one page for each command.

use clap::ArgAction;

use crate::commands::{COMMANDS, Command};
use crate::context::Program;
use crate::output::table::indented;

/// Columns of the first column of a list of flags or commands.
const NAME_WIDTH: usize = 30;

/// All commands, or those that start with `group`.
pub(crate) fn list(program: Program, group: &str) -> String {
    let name = program.name();
    let mut text = if group.is_empty() {
        format!("Usage: {name} [-version] [-help] <command> [options] [args]\n\nCommands:\n")
    } else {
        format!("Usage: {name} {group} <subcommand> [options] [args]\n\nSubcommands:\n")
    };
    for command in COMMANDS.iter().filter(|command| within(command, group)) {
        text.push_str(&format!("    {:<NAME_WIDTH$}  {}\n", command.path, command.about));
    }
    if group.is_empty() {
        let about = "Run an agent: server, client, or both with -dev";
        text.push_str(&format!("    {:<NAME_WIDTH$}  {about}\n", "agent"));
    }
    text.push_str(&format!("\nFor one command: {name} <command> -help"));
    text
}

fn within(command: &Command, group: &str) -> bool {
    let rest = command.path.strip_prefix(group);
    group.is_empty() || rest.is_some_and(|rest| rest.starts_with(' '))
}

/// The page of one command.
pub(crate) fn page(program: Program, command: &Command) -> String {
    let built = command.build();
    let words = built.get_positionals().next();
    let words = words.and_then(|arg| arg.get_value_names()).and_then(|names| names.first());
    let words = words
        .map(|name| match name.starts_with('<') {
            true => format!(" {name}"),
            false => format!(" <{}>", name.to_lowercase()),
        })
        .unwrap_or_default();
    let mut text = format!("Usage: {} {} [options]{words}\n\n", program.name(), command.path);
    let about = built.get_long_about().or(built.get_about());
    let about = about.map_or_else(|| command.about.to_owned(), ToString::to_string);
    text.push_str(&indented(&about, 2));
    if let Some(old) = command.old.first() {
        text.push_str(&format!("\n\n  Alias: {old}"));
    }
    for (title, general) in [("Options", false), ("General options", true)] {
        let flags: Vec<String> = built
            .get_opts()
            .filter(|arg| !arg.is_hide_set())
            .filter(|arg| (arg.get_help_heading() == Some("General options")) == general)
            .map(flag)
            .collect();
        if !flags.is_empty() {
            text.push_str(&format!("\n\n{title}:\n\n{}", flags.join("\n")));
        }
    }
    text
}

fn flag(arg: &clap::Arg) -> String {
    let name = arg.get_long().unwrap_or_default();
    let value = match arg.get_action() {
        ArgAction::SetTrue => String::new(),
        _ => {
            let names = arg.get_value_names().and_then(|names| names.first());
            let name = names.map(|name| name.to_lowercase()).unwrap_or_else(|| "value".to_owned());
            format!("=<{name}>")
        }
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    format!("  {:<NAME_WIDTH$}  {help}", format!("-{name}{value}"))
}
