//! What no compiler checks: sizes, names and first lines of files, paths named in Markdown.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::root;
use crate::steps::{capture, say};

/// Production lines of a file: told above the first, refused above the second.
const LINES_TOLD: usize = 500;
const LINES_MAX: usize = 800;
/// Lines of a file below `tests/`.
const TEST_LINES_MAX: usize = 1000;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc", "manager"];
/// Folders of the repository a path in Markdown may start with.
const PATH_STARTS: &[&str] = &["crates/", "docs/", "xtask/", "examples/", "tests/", ".ci/", "ui/"];

pub(crate) fn check() -> Result<()> {
    let root = root();
    let (mut told, mut problems) = (Vec::new(), Vec::new());
    for file in files(&root)? {
        let name = file.to_string_lossy().into_owned();
        if !is_text(&name) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&file)).with_context(|| name.clone())?;
        if name.ends_with(".rs") {
            let found = rust_problems(&name, &text);
            problems.extend(found.refused);
            told.extend(found.told);
        } else {
            problems.extend(path_problems(&name, &text, |path| root.join(path).exists()));
        }
    }
    problems.extend(purity_problems(&root)?);
    for line in &told {
        say(&format!("tidy: note: {line}"));
    }
    if problems.is_empty() {
        return Ok(());
    }
    for problem in &problems {
        say(&format!("tidy: {problem}"));
    }
    bail!("{} untidy places", problems.len())
}

/// Crates whose clippy configuration bans clocks, chance, files, network and threads.
const PURE: &[&str] = &["model", "hcl", "specs", "state", "scheduler"];
/// The one source of that configuration; clippy wants a copy in each crate.
const PURE_CLIPPY: &str = "xtask/pure-clippy.toml";

/// Pure crates that exist.
fn pure_crates(root: &Path) -> impl Iterator<Item = PathBuf> {
    let dirs = PURE.iter().map(|name| root.join("crates").join(name));
    dirs.filter(|dir| dir.join("Cargo.toml").is_file())
}

fn purity_problems(root: &Path) -> Result<Vec<String>> {
    let wanted = std::fs::read_to_string(root.join(PURE_CLIPPY)).context(PURE_CLIPPY)?;
    let differs = |dir: &PathBuf| {
        std::fs::read_to_string(dir.join("clippy.toml")).ok().as_ref() != Some(&wanted)
    };
    let problem = |dir: PathBuf| {
        let file = dir.join("clippy.toml");
        format!("{} is not {PURE_CLIPPY}; `cargo xtask fix` copies it", file.display())
    };
    Ok(pure_crates(root).filter(differs).map(problem).collect())
}

/// Gives each pure crate its clippy configuration.
pub(crate) fn copy_pure_clippy() -> Result<()> {
    let root = root();
    for dir in pure_crates(&root) {
        std::fs::copy(root.join(PURE_CLIPPY), dir.join("clippy.toml"))?;
    }
    Ok(())
}

/// Whether any library of the workspace has a doc test.
pub(crate) fn has_doc_tests(root: &Path) -> Result<bool> {
    for file in files(root)? {
        let name = file.to_string_lossy();
        if name.ends_with(".rs") && name.contains("/src/") {
            let text = std::fs::read_to_string(root.join(&file))?;
            if doc_tests(&text) > 0 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Counts fenced blocks in doc comments that rustdoc would compile.
fn doc_tests(text: &str) -> usize {
    let (mut count, mut inside) = (0, false);
    for line in text.lines() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            inside = false;
            continue;
        };
        if let Some(language) = doc.trim().strip_prefix("```") {
            if !inside && matches!(language, "" | "rust" | "no_run" | "should_panic") {
                count += 1;
            }
            inside = !inside;
        }
    }
    count
}

/// Files that git tracks or would track, so that build output is never looked at.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let listed = capture(&["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"])?;
    let files = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // A file deleted but not yet committed is still listed.
    Ok(files.filter(|file| root.join(file).is_file()).collect())
}

fn is_text(name: &str) -> bool {
    // The corpus is recorded data and keeps the words it was recorded with.
    let recorded = name.starts_with("tests/golden/");
    (name.ends_with(".rs") || name.ends_with(".md")) && !recorded
}

#[derive(Default)]
struct Found {
    told: Vec<String>,
    refused: Vec<String>,
}

fn rust_problems(name: &str, text: &str) -> Found {
    let mut found = Found::default();
    if !text.starts_with("//! ") {
        found.refused.push(format!("{name}:1: the first line is no `//!` saying what it is for"));
    }
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    if EMPTY_NAMES.contains(&stem.as_ref()) {
        found.refused.push(format!("{name}: the name says nothing about the content"));
    }
    let in_tests = name.starts_with("tests/") || name.contains("/tests/");
    let lines = text.lines().count();
    let production = production_lines(text);
    if in_tests || name.ends_with("tests.rs") {
        if lines > TEST_LINES_MAX {
            found.refused.push(format!("{name}: {lines} lines of tests, at most {TEST_LINES_MAX}"));
        }
    } else if production > LINES_MAX {
        found.refused.push(format!("{name}: {production} lines, at most {LINES_MAX}"));
    } else if production > LINES_TOLD {
        found.told.push(format!("{name}: {production} lines, aim for 300"));
    }
    for (number, line) in text.lines().enumerate() {
        let problem = word_problem(line).or_else(|| ignore_problem(line, text));
        found.refused.extend(problem.map(|p| format!("{name}:{}: {p}", number + 1)));
    }
    found
}

/// Lines before the unit tests that close a file.
fn production_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).rposition(|pair| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}

fn word_problem(line: &str) -> Option<&'static str> {
    // Written apart, so that this file does not accuse itself.
    let (fix, to_do) = (concat!("FIX", "ME"), concat!("TO", "DO"));
    if line.contains(fix) {
        return Some("fix it, or say in docs/gaps.md what is missing");
    }
    if let Some(at) = line.find(to_do) {
        let rest = &line[at + to_do.len()..];
        if !rest.starts_with('(') {
            return Some("a note about work to come names its issue in brackets");
        }
    }
    None
}

/// A test may be left out only when another test of its file runs it in a process of its own,
/// or when it judges nothing and prints figures.
fn ignore_problem(line: &str, text: &str) -> Option<&'static str> {
    let rest = line.trim_start().strip_prefix(concat!("#[", "ignore"))?;
    let reason = rest.trim_start_matches([' ', '=', '"']).trim_end_matches(['"', ']']);
    let runs = |test: &str| text.contains(&format!("fn {test}("));
    if reason.starts_with("prints figures: ") || reason.strip_prefix("run by ").is_some_and(runs) {
        return None;
    }
    Some("a test that does not run protects nothing")
}

/// Paths of the repository named between backticks that do not exist.
fn path_problems(name: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let (mut problems, mut in_block) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        for word in line.split('`').skip(1).step_by(2) {
            let path = word.split(['#', ':']).next().unwrap_or_default().trim_end_matches('/');
            let is_path = PATH_STARTS.iter().any(|start| word.starts_with(start))
                && !path.contains([' ', '*', '{', '<', '…', '$'])
                && !path.contains("NNNN");
            if is_path && !exists(path) {
                problems.push(format!("{name}:{}: `{path}` does not exist", number + 1));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    //! Checks the checker on small texts.

    use super::*;

    #[test]
    fn file_without_module_doc_or_with_an_empty_name_is_refused() {
        assert_eq!(rust_problems("crates/a/src/b.rs", "//! For b.\n").refused.len(), 0);
        assert_eq!(rust_problems("crates/a/src/b.rs", "use c;\n").refused.len(), 1);
        assert_eq!(rust_problems("crates/a/src/utils.rs", "//! For b.\n").refused.len(), 1);
    }

    #[test]
    fn long_file_is_told_then_refused_and_closing_tests_do_not_count() {
        let file = |lines: usize| format!("//! For b.\n{}", "x\n".repeat(lines - 1));
        let check = |text: &str| {
            let found = rust_problems("crates/a/src/b.rs", text);
            (found.told.len(), found.refused.len())
        };
        assert_eq!(check(&file(500)), (0, 0));
        assert_eq!(check(&file(501)), (1, 0));
        assert_eq!(check(&file(801)), (0, 1));
        let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", file(400), "x\n".repeat(900));
        assert_eq!(check(&tested), (0, 0));
        assert_eq!(rust_problems("crates/a/tests/it/b.rs", &file(1001)).refused.len(), 1);
    }

    #[test]
    fn words_that_put_work_off_are_refused() {
        assert!(word_problem(concat!("// TO", "DO later")).is_some());
        assert!(word_problem(concat!("// TO", "DO(#12) later")).is_none());
        assert!(word_problem(concat!("// FIX", "ME")).is_some());
    }

    #[test]
    fn test_that_nothing_runs_is_refused() {
        let text = "fn outer() {}";
        assert!(ignore_problem(concat!("  #[ig", "nore]"), text).is_some());
        assert!(ignore_problem(concat!("#[ig", "nore = \"slow\"]"), text).is_some());
        assert!(ignore_problem(concat!("#[ig", "nore = \"run by none\"]"), text).is_some());
        assert!(ignore_problem(concat!("#[ig", "nore = \"run by outer\"]"), text).is_none());
        assert!(ignore_problem(concat!("#[ig", "nore = \"prints figures: a\"]"), text).is_none());
    }

    #[test]
    fn path_in_markdown_has_to_exist() {
        let text = "see `crates/a/src/b.rs:12` and `docs/x.md#y`, `crates/*/src`, `cargo test`\n\
                    ```\n`crates/none`\n```\n";
        let problems = path_problems("R.md", text, |path| path == "crates/a/src/b.rs");
        assert_eq!(problems, ["R.md:1: `docs/x.md` does not exist"]);
    }

    #[test]
    fn only_rust_blocks_in_doc_comments_count_as_doc_tests() {
        assert_eq!(doc_tests("/// ```\n/// a();\n/// ```\n"), 1);
        assert_eq!(doc_tests("/// ```text\n/// a\n/// ```\nlet x = \"```\";\n"), 0);
    }
}
