//! Replays the recorded corpus against the built binary and compares with what passed before.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::ci::{binary, target_dir};
use crate::root;
use crate::steps::{Done, command, present, say};

const CHECKER: &str = "tests/golden/check_golden.py";
/// Names of the checks that have passed; one of these must not fail again.
const BASELINE: &str = "tests/golden/baseline.txt";
const DEVIATIONS: &str = "docs/deviations.tsv";
/// Cases of an agent with ACLs, which Muster refuses to start (docs/gaps.md).
const WITHOUT_ACLS: &str = "^(?!api/acl-|cli/acl$)";
/// Cases that run at a time: they wait more than they compute.
const JOBS: &str = "4";
/// The recorded waits fit a machine of one's own; what is asked again gets more.
const PATIENCE: &str = "1";
const PATIENCE_AGAIN: &str = "3";
/// Above this many lost checks timing is not the reason, and asking again would take long.
const ASKED_AGAIN_MAX: usize = 40;
/// Where the search for free ports starts: below the range that the kernel hands out itself.
const FIRST_PORT: u16 = 24646;
const PORT_STEP: u16 = 20;
const PORT_ATTEMPTS: u16 = 100;
/// The checker gives its agent three ports in a row.
const PORTS: u16 = 3;

/// Replays every case that has something to lose; all cases when there is no baseline.
pub(crate) fn replay() -> Result<Done> {
    let root = root();
    if !root.join(CHECKER).is_file() {
        return Ok(Done::Skipped("there is no corpus in tests/golden".into()));
    }
    if !present(&["python3", "--version"]) {
        return Ok(Done::Skipped("python3 is not installed (.ci/run installs it)".into()));
    }
    if !is_root()? {
        return Ok(Done::Skipped("an agent that runs tasks needs root".into()));
    }
    let Some(binary) = binary()? else {
        return Ok(Done::Skipped("the workspace has no binary `muster` yet".into()));
    };
    let program = as_recorded(&binary)?;
    let baseline = read_baseline(&root)?;
    if baseline.is_empty() {
        say(&format!("{BASELINE} does not exist: every check has to pass"));
    }
    let filter = case_filter(baseline.iter().map(String::as_str));
    let first = run_checker(&program, filter.as_deref().unwrap_or(WITHOUT_ACLS), PATIENCE)?;
    let mut lost = first.lost(&baseline);
    if !lost.is_empty() && lost.len() <= ASKED_AGAIN_MAX {
        let filter = case_filter(lost.iter().copied()).expect("some check is lost");
        say(&format!("asking {} lost checks again, with more patience", lost.len()));
        let second = run_checker(&program, &filter, PATIENCE_AGAIN)?;
        lost.retain(|name| !second.passed.contains(*name));
    }
    if lost.is_empty() {
        return Ok(Done::Passed);
    }
    for name in &lost {
        say(&format!("LOST {name}"));
    }
    bail!("{} recorded checks fail", lost.len())
}

/// Help texts name the program they were called as, and the corpus was recorded as `nomad`.
fn as_recorded(binary: &Path) -> Result<PathBuf> {
    let dir = target_dir()?.join("golden");
    std::fs::create_dir_all(&dir)?;
    let link = dir.join("nomad");
    if link.symlink_metadata().is_ok() {
        std::fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(binary, &link)?;
    Ok(link)
}

fn read_baseline(root: &Path) -> Result<BTreeSet<String>> {
    let path = root.join(BASELINE);
    if !path.is_file() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(path).context(BASELINE)?;
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(names.filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
}

/// What the checker said of each check.
#[derive(Debug, Default)]
struct Verdicts {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    on_purpose: BTreeSet<String>,
}

impl Verdicts {
    fn read(output: &str) -> Self {
        let mut verdicts = Self::default();
        for line in output.lines() {
            let Some((verdict, rest)) = line.split_once(' ') else { continue };
            let set = match verdict {
                "ok" => &mut verdicts.passed,
                "FAIL" => &mut verdicts.failed,
                "dev" => &mut verdicts.on_purpose,
                _ => continue,
            };
            let name = rest.trim_start();
            let name = name.split([':', ' ']).next().unwrap_or(name);
            set.insert(name.into());
        }
        verdicts
    }

    /// Checks that passed before and did not now; without a baseline, all that fail.
    /// A check that was not reached at all is lost too.
    fn lost<'a>(&'a self, baseline: &'a BTreeSet<String>) -> Vec<&'a str> {
        let well = |name: &&String| self.passed.contains(*name) || self.on_purpose.contains(*name);
        if baseline.is_empty() {
            return self.failed.iter().map(String::as_str).collect();
        }
        baseline.iter().filter(|name| !well(name)).map(String::as_str).collect()
    }
}

fn run_checker(program: &Path, filter: &str, patience: &str) -> Result<Verdicts> {
    let mut checker = command(&["python3", CHECKER, "--start", "--jobs", JOBS]);
    checker.arg("--bin").arg(program).args(["--filter", filter]);
    checker.args(["--port-base", &free_ports()?.to_string()]);
    if root().join(DEVIATIONS).is_file() {
        checker.args(["--deviations", DEVIATIONS]);
    }
    // No byte-code files beside the corpus.
    checker.env("PYTHONDONTWRITEBYTECODE", "1").env("GOLDEN_TIME_SCALE", patience);
    let mut child = checker.stdout(Stdio::piped()).spawn().context("cannot run python3")?;
    let lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    let mut text = String::new();
    for line in lines {
        let line = line?;
        // Thousands of lines that say "ok" hide the few that matter.
        if !line.starts_with("ok ") {
            say(&line);
        }
        text += &line;
        text.push('\n');
    }
    let status = child.wait()?;
    // 1 says that checks failed, which is judged here; anything else, that they did not run.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("the checker ended with {status}");
    }
    Ok(Verdicts::read(&text))
}

/// A regular expression for the cases of these checks; a check is called `section/case#step`.
fn case_filter<'a>(checks: impl Iterator<Item = &'a str>) -> Option<String> {
    let cases: BTreeSet<&str> =
        checks.map(|name| name.split('#').next().unwrap_or_default()).collect();
    let cases: Vec<String> = cases.into_iter().map(|case| case.replace('.', "\\.")).collect();
    (!cases.is_empty()).then(|| format!("^({})$", cases.join("|")))
}

fn is_root() -> Result<bool> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

/// The first of three ports in a row that nobody listens on.
fn free_ports() -> Result<u16> {
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    (0..PORT_ATTEMPTS)
        .map(|attempt| FIRST_PORT + attempt * PORT_STEP)
        .find(|base| (*base..base + PORTS).all(free))
        .context("no three free ports in a row for the agent")
}

#[cfg(test)]
mod tests {
    //! Checks how the checker's words are read.

    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn check_that_fails_or_is_not_reached_is_lost() {
        let output = "ok   api/a#one\nFAIL api/a#two: status: 1 | x\ndev  api/b#c (since 1.5)\n\
                      FAIL api/new#x: y\n1 passed, 2 failed\n";
        let verdicts = Verdicts::read(output);
        let baseline = names(&["api/a#one", "api/a#two", "api/b#c", "api/gone#d"]);
        assert_eq!(verdicts.lost(&baseline), ["api/a#two", "api/gone#d"]);
        assert_eq!(verdicts.lost(&BTreeSet::new()), ["api/a#two", "api/new#x"]);
    }

    #[test]
    fn cases_of_lost_checks_are_named_once_and_whole() {
        let lost = ["api/a#one", "api/a#two", "cli/v1.0"];
        let filter = case_filter(lost.into_iter());
        assert_eq!(filter.as_deref(), Some("^(api/a|cli/v1\\.0)$"));
        assert_eq!(case_filter(std::iter::empty()), None);
    }
}
