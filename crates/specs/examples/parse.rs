//! Prints the job of a file as JSON: `parse FILE [canonical]`. Problems go to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::disallowed_methods)] // an example is a program: it reads its arguments and files

use hcl::Limits;
use specs::job::{Options, parse_job};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: parse FILE [canonical]");
        return ExitCode::FAILURE;
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let options =
        Options { assignments: &[], files: None, random: &|| [7; 16], limits: Limits::default() };
    match parse_job("input.hcl", &text, &options) {
        Ok((mut job, warnings)) => {
            warnings.iter().for_each(|warning| eprintln!("{warning}"));
            if arguments.next().is_some() {
                model::canonical::canonicalize(&mut job);
            }
            match serde_json::to_string(&job) {
                Ok(json) => println!("{json}"),
                Err(error) => eprintln!("{error}"),
            }
            ExitCode::SUCCESS
        }
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
    }
}
