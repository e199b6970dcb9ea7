//! From the words of the command line to a command and its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use crate::commands::refused::REFUSED;
use crate::commands::{COMMANDS, Command};
use crate::context::{Context, Program};
use crate::failure::{FAILED, Failure, INTERRUPTED, Outcome, UNKNOWN_COMMAND};
use crate::flags::{FlagError, normalise};
use crate::help;
use crate::settings::{Environment, General};
use crate::terminal::Terminal;

/// Most letters a mistyped command may be away from the one suggested.
const SUGGESTION_DISTANCE_MAX: usize = 2;

/// Flags of the original that no command has yet: refused by name, never ignored.
const LATER_FLAGS: &[&str] = &["ui", "wait", "connect", "template", "list-templates", "quota"];

/// The words behind `agent`, when the user asks for an agent: `args` starts with the program.
pub fn agent_arguments(args: &[OsString]) -> Option<&[OsString]> {
    match args {
        [_, word, rest @ ..] if word == "agent" => Some(rest),
        _ => None,
    }
}

/// Runs the command line of this process; `args` starts with the program's name. Needs a tokio
/// runtime with I/O, time and signals.
pub async fn run(args: Vec<OsString>) -> ExitCode {
    let mut terminal = Terminal::of_process();
    let environment = Environment::of_process();
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let running = run_with(&args, &environment, &mut terminal);
    // A command that follows something ends by itself on Ctrl-C; it is asked first.
    let code = tokio::select! {
        biased;
        code = running => code,
        _ = tokio::signal::ctrl_c() => INTERRUPTED,
    };
    ExitCode::from(code)
}

/// Runs a command line with these surroundings and returns the exit code.
pub async fn run_with(args: &[String], environment: &Environment, terminal: &mut Terminal) -> u8 {
    let program = Program::of(args.first().map(String::as_str).unwrap_or_default());
    let words = args.get(1..).unwrap_or_default();
    match start(program, words, environment, terminal).await {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.text.is_empty() {
                terminal.complain(failure.text.trim_end_matches('\n'));
            }
            if failure.usage
                && let Some(command) = find(words).map(|(command, _)| command)
            {
                let (name, path) = (program.name(), command.path);
                terminal.complain(format!("For additional help try '{name} {path} -help'"));
            }
            failure.code
        }
    }
}

async fn start(
    program: Program,
    words: &[String],
    environment: &Environment,
    terminal: &mut Terminal,
) -> Outcome {
    let first = words.first().map(String::as_str).unwrap_or_default();
    match first {
        "" => {
            terminal.say(help::list(program, ""));
            return Err(Failure::silent(UNKNOWN_COMMAND));
        }
        "-h" | "-help" | "--help" | "help" => {
            terminal.say(help::list(program, ""));
            return Ok(());
        }
        "-v" | "-version" | "--version" => {
            terminal.say(crate::commands::version::text(program));
            return Ok(());
        }
        "-autocomplete-install" | "-autocomplete-uninstall" => {
            let name = program.name();
            return Err(Failure::new(format!(
                "No files of yours are changed: write the output of '{name} completion \
                 bash|zsh|fish' to where your shell reads completions"
            )));
        }
        _ => {}
    }
    match find(words) {
        Some((command, rest)) => launch(program, command, rest, environment, terminal).await,
        None => Err(not_found(program, words, terminal)),
    }
}

/// The command with the longest name that the words start with, and the words behind it.
fn find(words: &[String]) -> Option<(&'static Command, &[String])> {
    let fits = |path: &str| {
        let count = path.split(' ').count();
        let same = words.len() >= count && path.split(' ').zip(words).all(|(a, b)| a == b);
        same.then_some(count)
    };
    let names = |command: &'static Command| {
        command.old.iter().chain([&command.path]).filter_map(|path| fits(path)).max()
    };
    let found = COMMANDS.iter().filter_map(|command| Some((names(command)?, command)));
    let (count, command) = found.max_by_key(|(count, _)| *count)?;
    // A longer name that is refused hides a shorter one that exists.
    let refused = REFUSED.iter().filter_map(|path| fits(path)).max().unwrap_or(0);
    (count >= refused).then_some((command, &words[count..]))
}

async fn launch(
    program: Program,
    command: &'static Command,
    words: &[String],
    environment: &Environment,
    terminal: &mut Terminal,
) -> Outcome {
    let built = command.build();
    let words = match normalise(&built, words) {
        Ok(words) => words,
        Err(FlagError::Help) => {
            terminal.say(help::page(program, command));
            return Ok(());
        }
        Err(FlagError::Unknown(flag)) if LATER_FLAGS.contains(&flag.as_str()) => {
            return Err(Failure::new(format!("-{flag} is not there yet (docs/gaps.md)")));
        }
        Err(error) => return Err(Failure::usage(error)),
    };
    let matches = built.try_get_matches_from(words).map_err(|error| {
        let text = error.to_string();
        let text = text.lines().next().unwrap_or_default();
        Failure::usage(text.trim_start_matches("error: "))
    })?;
    let general = General::from_arg_matches(&matches).map_err(Failure::usage)?;
    terminal.palette.colour = general.colour(environment, terminal.is_terminal);
    terminal.err_colour = general.colour(environment, terminal.err_is_terminal);
    let client = general.client(environment)?;
    let mut context = Context { program, terminal, environment, client };
    (command.start)(&mut context, &matches).await
}

/// What to say of words that are no command: a group, one that is not there yet, or a mistake.
fn not_found(program: Program, words: &[String], terminal: &mut Terminal) -> Failure {
    let name = program.name();
    let plain: Vec<&str> =
        words.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    for count in (1..=plain.len()).rev() {
        let path = plain[..count].join(" ");
        let is_group = |known: &str| known.starts_with(&format!("{path} "));
        let has_commands = COMMANDS.iter().any(|command| is_group(command.path));
        if has_commands && count == plain.len() {
            terminal.say(help::list(program, &path));
            return Failure::silent(FAILED);
        }
        let none_yet = !has_commands && REFUSED.iter().any(|known| is_group(known));
        if none_yet || REFUSED.contains(&path.as_str()) {
            let path = if count == plain.len() { path } else { plain.join(" ") };
            return Failure::new(format!("\"{name} {path}\" is not there yet (docs/gaps.md)"));
        }
    }
    let typed = plain.join(" ");
    let typed = if typed.is_empty() { words.join(" ") } else { typed };
    let mut text = format!("\"{name} {typed}\" is not a command");
    if let Some(near) = suggestion(&plain) {
        text.push_str(&format!("; did you mean \"{name} {near}\"?"));
    }
    text.push_str(&format!("\nRun '{name} -help' for the list of commands."));
    Failure::new(text).with_code(UNKNOWN_COMMAND)
}

/// The known command nearest to the first words.
fn suggestion(words: &[&str]) -> Option<&'static str> {
    let near = |path: &&'static str| {
        let count = path.split(' ').count().min(words.len());
        let distance = distance(&words[..count].join(" "), path);
        (distance <= SUGGESTION_DISTANCE_MAX).then_some((distance, *path))
    };
    let all = COMMANDS.iter().flat_map(|command| command.old.iter().chain([&command.path]));
    all.filter_map(near).min().map(|(_, path)| path)
}

/// Letters to change, add or drop to get from one text to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], line + 1);
        for (column, wanted) in other.iter().enumerate() {
            let swap = corner + usize::from(letter != *wanted);
            corner = row[column + 1];
            row[column + 1] = swap.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(line: &str, code: u8, expected: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (mut terminal, captured) = Terminal::captured("");
        let got = run_with(&words, &Environment::default(), &mut terminal).await;
        let text = captured.out() + &captured.err();
        assert!(text.contains(expected), "{line}: {text}");
        assert_eq!(got, code, "{line}: {text}");
    }

    #[tokio::test]
    async fn unknown_commands_end_with_127_and_a_suggestion() {
        check("nomad job rnu x", 127, "did you mean \"nomad job run\"?").await;
        check("muster frobnicate", 127, "\"muster frobnicate\" is not a command").await;
    }

    #[tokio::test]
    async fn commands_that_are_not_there_yet_are_refused_by_name() {
        check("muster acl token list", 1, "\"muster acl token list\" is not there yet").await;
        check("nomad quota", 1, "\"nomad quota\" is not there yet (docs/gaps.md)").await;
        check("nomad var get x -out json", 1, "\"nomad var get x\" is not there yet").await;
        check("nomad operator raft list-peers", 1, "operator raft list-peers").await;
    }

    #[tokio::test]
    async fn groups_and_no_words_list_commands() {
        check("muster", 127, "job run").await;
        check("nomad -help", 0, "Usage: nomad").await;
        check("nomad job", 1, "job status").await;
        check("nomad job run -h", 0, "-check-index=<index>").await;
    }

    #[tokio::test]
    async fn the_name_decides_the_version_text() {
        check("/usr/bin/nomad version", 0, "Nomad v1.11.3 (Muster v").await;
        check("muster -version", 0, "(Nomad 1.11.3 API)").await;
    }

    #[tokio::test]
    async fn a_wrong_flag_points_to_the_help_of_its_command() {
        check("nomad job status -ui x", 1, "-ui is not there yet").await;
        check("nomad job run -quick x", 1, "flag provided but not defined: -quick").await;
        check("nomad job init a b", 1, "For additional help try 'nomad job init -help'").await;
    }

    #[test]
    fn only_the_word_agent_belongs_to_the_agent() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let args = words("nomad agent -dev");
        assert_eq!(agent_arguments(&args), Some(&words("-dev")[..]));
        assert_eq!(agent_arguments(&words("nomad agent-info")), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!((distance("job run", "job rnu"), distance("", "ab")), (2, 2));
    }
}
