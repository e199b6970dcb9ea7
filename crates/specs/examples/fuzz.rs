//! A fuzzer for every parser of texts from outside: `cargo xtask fuzz [--seconds N] [--seed N]`.
//!
//! It starts from texts that are kept (`crates/specs/fuzz/<target>/` and the job files of the golden
//! corpus), changes them at random, and demands of every result what its target promises. A finding
//! is a panic, a broken promise or a text that takes too long; its text is kept below `target/fuzz`,
//! and belongs into `crates/specs/fuzz` once it is understood. Equal seeds give equal runs.

// A program for developers beside a pure crate: it reads files and looks at the clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hcl::variables::{Undeclared, read_var_file};
use hcl::{Diagnostic, Limits};
use specs::job::{Options, parse_job};

/// How long each target runs unless told otherwise.
const SECONDS: u64 = 5;
/// A text may take this long in a build without optimisation; the limits of the language keep it
/// far below.
const SLOWEST: Duration = Duration::from_secs(10);
/// The stack of a thread that parses for the HTTP endpoint.
const STACK_BYTES: usize = 2 << 20;
/// Longest text that is tried.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// What a target promises of a text, or how it was broken.
type Check = fn(&str) -> Result<(), String>;

/// The targets: a name, the folders that its first texts are in, and its promise.
const TARGETS: &[(&str, &[&str], Check)] = &[
    ("job", &["crates/specs/fuzz/job", "tests/golden/golden/parse", "examples"], job),
    ("json", &["crates/specs/fuzz/json"], job),
    ("agent", &["crates/specs/fuzz/agent", "tests/golden/golden"], agent),
    ("format", &["crates/specs/fuzz/format", "tests/golden/golden/parse", "examples"], format),
    ("variables", &["crates/specs/fuzz/variables"], variables),
    ("spec", &["crates/specs/fuzz/spec"], spec),
];

/// Pieces of the languages that chance would not find.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "${",
    "%{",
    "$${",
    "~}",
    "<<EOF\n",
    "<<-E\n",
    "\nEOF\n",
    "=",
    ":",
    ",",
    ".",
    "...",
    "=>",
    "?",
    "*",
    "[*]",
    ".*",
    "\\",
    "\n",
    "\r\n",
    "#",
    "//",
    "/*",
    "*/",
    "-",
    "!",
    "0",
    "1e9",
    "99999999999999999999",
    "null",
    "true",
    "for x in y : x",
    "if",
    "endif",
    "else",
    "var.a",
    "local.a",
    "dynamic \"group\" {\nfor_each = [1]\ncontent {}\n}\n",
    "\u{feff}",
    "ä",
    "\u{0}",
    "range(1000)",
    "flatten(",
    "setproduct(",
    "format(\"%d\", ",
    "regex(\"(a+)+$\", \"aaaa\")",
    "jsondecode(\"",
    "group",
    "task",
    "service",
    "config",
    "\"//\": \"\"",
    "{\"job\":",
    "timeadd(",
    "cidrsubnets(",
    "substr(",
    "join(",
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (mut seconds, mut seed, mut only) = (SECONDS, 1, None);
    while let Some(arg) = args.next() {
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        match (arg.as_str(), args.next()) {
            ("--seconds", value) => seconds = number(value).unwrap_or(seconds),
            ("--seed", value) => seed = number(value).unwrap_or(seed),
            ("--target", value) => only = value,
            (other, _) => {
                println!(
                    "unknown argument {other}: --seconds N, --seed N and --target NAME are known"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    // A panic is a finding and is told as one; its own words would bury the report.
    std::panic::set_hook(Box::new(|_| {}));
    let mut well = true;
    for (name, folders, check) in TARGETS {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let work = move || fuzz(name, folders, *check, Duration::from_secs(seconds), seed);
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
        well &= thread.is_ok_and(|thread| thread.join().unwrap_or(false));
    }
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fuzz(name: &str, folders: &[&str], check: Check, time: Duration, seed: u64) -> bool {
    let seeds = kept(name, folders);
    if seeds.is_empty() {
        println!("{name}: no texts to start from");
        return false;
    }
    let mut chance = Chance(seed ^ 0x9e37_79b9_7f4a_7c15);
    let (mut tried, mut slowest, mut findings) = (0_u64, Duration::ZERO, 0);
    let begin = Instant::now();
    let mut run = |text: &str| {
        // A stack that overflows ends the process: then the text is found here.
        let current = found_in(&format!("{name}-current"));
        drop(std::fs::write(&current, text));
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| check(text)));
        let took = start.elapsed();
        slowest = slowest.max(took);
        tried += 1;
        let fault = match outcome {
            Err(panic) => Some(format!("panic: {}", words(&*panic))),
            Ok(Err(fault)) => Some(fault),
            Ok(Ok(())) if took > SLOWEST => Some(format!("took {took:?}")),
            Ok(Ok(())) => None,
        };
        if let Some(fault) = fault {
            findings += 1;
            let path = found_in(&format!("{name}-{findings}"));
            drop(std::fs::write(&path, text));
            println!("{name}: {fault}\n  text: {}", path.display());
        }
        findings
    };
    for text in &seeds {
        run(text);
    }
    while begin.elapsed() < time {
        if run(&mutate(&seeds, &mut chance)) >= 10 {
            break;
        }
    }
    println!("{name}: {tried} texts, slowest {slowest:?}, {findings} findings");
    findings == 0
}

fn found_in(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz");
    drop(std::fs::create_dir_all(&folder));
    folder.join(name)
}

fn words(panic: &dyn std::any::Any) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The texts to start from, by name so that runs are equal.
fn kept(name: &str, folders: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        paths.extend(entries.flatten().map(|entry| entry.path()).filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
            path.is_file() && (matches!(ending, "hcl" | "nomad") || folder.contains("fuzz"))
        }));
    }
    paths.sort();
    let texts = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let is_json = |text: &String| match name {
        "agent" | "variables" | "spec" => true,
        name => hcl::is_json(text) == (name == "json"),
    };
    texts.filter(is_json).collect()
}

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % limit.max(1)
    }
}

fn mutate(seeds: &[String], chance: &mut Chance) -> String {
    let mut text: Vec<char> = seeds[chance.below(seeds.len())].chars().collect();
    for _ in 0..=chance.below(6) {
        let (one, two) = (chance.below(text.len() + 1), chance.below(text.len() + 1));
        let (start, end) = (one.min(two), one.max(two));
        match chance.below(9) {
            0 => drop(text.drain(start..end.min(start + 40))),
            1..=3 => {
                let piece = PIECES[chance.below(PIECES.len())];
                text.splice(start..start, piece.chars());
            }
            4 => {
                let piece: Vec<char> = text[start..end.min(start + 200)].to_vec();
                text.splice(end..end, piece);
            }
            5 => {
                let piece: Vec<char> = text[start..end.min(start + 20)].to_vec();
                let many = piece.repeat(1 + chance.below(100));
                text.splice(start..start, many);
            }
            6 => {
                let other: Vec<char> = seeds[chance.below(seeds.len())].chars().collect();
                let from = chance.below(other.len() + 1);
                let to = other.len().min(from + chance.below(400));
                text.splice(start..start, other[from..to].iter().copied());
            }
            7 if start < text.len() => {
                let swap = PIECES[chance.below(PIECES.len())].chars().next().unwrap_or('x');
                text[start] = swap;
            }
            _ => text.truncate(end),
        }
    }
    text.truncate(TEXT_BYTES_MAX / 4);
    text.into_iter().collect()
}

/// Problems must lie within the text and be counted from one.
fn sound(text: &str, problems: &[Diagnostic]) -> Result<(), String> {
    for problem in problems {
        let inside = problem.span.start <= problem.span.end && problem.span.end <= text.len() + 1;
        if !inside || problem.line() == 0 || problem.column() == 0 || problem.summary.is_empty() {
            return Err(format!("a problem without a sound place: {problem:?}"));
        }
    }
    Ok(())
}

fn job(text: &str) -> Result<(), String> {
    let random = &|| [7; 16];
    let options = Options { assignments: &[], files: None, random, limits: Limits::default() };
    match parse_job("fuzz", text, &options) {
        Err(problems) if problems.iter().all(|problem| !problem.is_error()) => {
            Err("refused without an error".to_owned())
        }
        Err(problems) => sound(text, &problems),
        Ok((mut job, warnings)) => {
            sound(text, &warnings)?;
            model::canonical::canonicalize(&mut job);
            let once = serde_json::to_string(&job).map_err(|error| error.to_string())?;
            model::canonical::canonicalize(&mut job);
            let twice = serde_json::to_string(&job).map_err(|error| error.to_string())?;
            if once != twice {
                return Err("the canonical form has another canonical form".to_owned());
            }
            drop(model::validate::validate(&job));
            drop(model::validate::unsupported(&job));
            let read: model::job::Job =
                model::wire::from_json(once.as_bytes()).map_err(|error| error.to_string())?;
            let again = serde_json::to_string(&read).map_err(|error| error.to_string())?;
            if once == again {
                Ok(())
            } else {
                Err("the job's JSON reads as another job".to_owned())
            }
        }
    }
}

fn agent(text: &str) -> Result<(), String> {
    match specs::agent::parse("fuzz", text) {
        Ok((_, warnings)) => sound(text, &warnings),
        Err(problems) => sound(text, &problems),
    }
}

fn format(text: &str) -> Result<(), String> {
    let limits = Limits::default();
    match hcl::format("fuzz", text, &limits) {
        Err(problems) => {
            if problems.iter().any(|problem| problem.summary.contains("Cannot format")) {
                return Err("a valid text was not formatted".to_owned());
            }
            sound(text, &problems)
        }
        Ok(once) => {
            match hcl::format("fuzz", &once, &Limits { source_bytes: usize::MAX, ..limits }) {
                Ok(twice) if once == twice => Ok(()),
                Ok(_) => Err("formatting again changes the text".to_owned()),
                Err(_) => Err("the formatted text is not valid".to_owned()),
            }
        }
    }
}

fn variables(text: &str) -> Result<(), String> {
    let found = read_var_file("fuzz", text, &Limits::default(), &|| [7; 16], Undeclared::Refuse);
    found.map_or_else(|problems| sound(text, &problems), |_| Ok(()))
}

fn spec(text: &str) -> Result<(), String> {
    use specs::spec::*;
    fn check<T>(text: &str, parsed: Parsed<T>) -> Result<(), String> {
        parsed.map_or_else(|problems| sound(text, &problems), |(_, found)| sound(text, &found))
    }
    let random: hcl::Random<'_> = &|| [7; 16];
    check(text, parse_variable("fuzz", text, random))?;
    check(text, parse_namespace("fuzz", text, random))?;
    check(text, parse_node_pool("fuzz", text, random))?;
    check(text, parse_quota("fuzz", text, random))?;
    check(text, parse_volume("fuzz", text, random))?;
    check(text, parse_acl_policy("fuzz", text, random))
}
