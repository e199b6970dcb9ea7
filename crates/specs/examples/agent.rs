//! Prints the settings of agent configuration files, laid over one another: `agent FILE...`.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::disallowed_methods)] // an example is a program: it reads its arguments and files

use specs::agent::{self, AgentConfig};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut config = AgentConfig::default();
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        };
        match agent::parse(&path, &text) {
            Ok((later, warnings)) => {
                warnings.iter().for_each(|warning| eprintln!("{warning}"));
                config.merge(later);
            }
            Err(problems) => {
                problems.iter().for_each(|problem| eprintln!("{problem}"));
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{config:#?}");
    ExitCode::SUCCESS
}
