//! `fmt`: job files and configuration in canonical form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specs::hcl;

use crate::context::Context;
use crate::diagnostics;
use crate::failure::{Attempt, FAILED, Failure, Outcome};

/// Endings of the files that are formatted.
const ENDINGS: [&str; 2] = ["hcl", "nomad"];
/// Standard input.
const INPUT: &str = "-";
/// The largest file that is formatted.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Deepest folder that is looked into.
const FOLDERS_DEEP_MAX: usize = 64;

/// Bring job files and agent configuration into canonical form.
///
/// A folder stands for the .hcl and .nomad files in it, - for standard input, whose formatted text
/// goes to standard output. The exit code is 1 when a file is no valid HCL2, and with -check also
/// when a file is not in canonical form.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Change nothing; exit with 1 when a file is not in canonical form
    #[arg(long)]
    check: bool,
    /// Print the names of files that are not in canonical form; true unless given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    list: bool,
    /// Change files; true unless given. Without it and -list, formatted texts are printed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    write: bool,
    /// Look into folders below the given ones, too
    #[arg(long)]
    recursive: bool,
    #[arg(value_name = "PATH")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let here = [".".to_owned()];
    let paths = if args.words.is_empty() { &here[..] } else { &args.words[..] };
    let mut all_well = true;
    for path in paths {
        if path == INPUT {
            all_well &= input(ctx, &args).await?;
            continue;
        }
        for file in files(Path::new(path), args.recursive)? {
            all_well &= one(ctx, &args, &file)?;
        }
    }
    if all_well { Ok(()) } else { Err(Failure::silent(FAILED)) }
}

/// The files that a path stands for, in the order of their names.
fn files(path: &Path, recursive: bool) -> Result<Vec<PathBuf>, Failure> {
    let shown = path.display();
    let info = std::fs::metadata(path).attempt(&format!("Error reading {shown}"))?;
    if !info.is_dir() {
        if !has_ending(path) {
            return Err(Failure::new(format!(
                "{shown}: only .nomad and .hcl files can be formatted"
            )));
        }
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let what = format!("Error reading {}", folder.display());
        for entry in std::fs::read_dir(&folder).attempt(&what)? {
            let entry = entry.attempt(&what)?;
            let kind = entry.file_type().attempt(&what)?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            // A folder behind a link may hold the link itself, so links are followed for files only.
            if kind.is_dir() {
                if recursive && !is_hidden && depth < FOLDERS_DEEP_MAX {
                    folders.push((path, depth + 1));
                }
            } else if has_ending(&path) && !is_hidden && path.is_file() {
                found.push(path.strip_prefix("./").map(Path::to_owned).unwrap_or(path));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

async fn input(ctx: &mut Context<'_>, args: &Args) -> Result<bool, Failure> {
    let bytes = ctx.terminal.read_input().await?;
    let Some(text) = text(ctx, INPUT, bytes) else { return Ok(false) };
    let Some(formatted) = formatted(ctx, INPUT, &text) else { return Ok(false) };
    if args.check {
        return Ok(formatted == text);
    }
    ctx.terminal.bytes(formatted.as_bytes())?;
    Ok(true)
}

/// Formats one file; false when it is not as it should be.
fn one(ctx: &mut Context<'_>, args: &Args, path: &Path) -> Result<bool, Failure> {
    let name = path.display().to_string();
    let what = format!("Error reading {name}");
    if std::fs::metadata(path).attempt(&what)?.len() > FILE_BYTES_MAX {
        return Err(Failure::new(format!("{what}: it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let bytes = std::fs::read(path).attempt(&what)?;
    let Some(text) = text(ctx, &name, bytes) else { return Ok(false) };
    let Some(formatted) = formatted(ctx, &name, &text) else { return Ok(false) };
    let differs = formatted != text;
    if differs && args.list {
        ctx.say(&name);
    }
    if args.check {
        return Ok(!differs);
    }
    if args.write {
        if differs {
            replace(path, &formatted).attempt(&format!("Error writing {name}"))?;
        }
    } else if !args.list {
        ctx.terminal.bytes(formatted.as_bytes())?;
    }
    Ok(true)
}

/// Puts a new text in the place of a file, whole or not at all: a full disk must not cost anybody
/// their job file. A link stays one, and the rights stay as they are.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = std::fs::write(&beside, text)
        .and_then(|()| std::fs::set_permissions(&beside, std::fs::metadata(&path)?.permissions()))
        .and_then(|()| std::fs::rename(&beside, &path));
    if written.is_err() {
        // The error that led here says more than one of this.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// The bytes as text; one file that is none does not keep the others from being formatted.
fn text(ctx: &mut Context<'_>, name: &str, bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes);
    if text.is_err() {
        ctx.complain(format!("Error formatting {name}: it is not UTF-8"));
    }
    text.ok()
}

fn formatted(ctx: &mut Context<'_>, name: &str, text: &str) -> Option<String> {
    match hcl::format(name, text, &hcl::Limits::default()) {
        Ok(formatted) => Some(formatted),
        Err(problems) => {
            let texts = BTreeMap::from([(name.to_owned(), text.to_owned())]);
            let shown = diagnostics::render(&problems, &texts, ctx.terminal.err_colour);
            ctx.complain(shown);
            None
        }
    }
}
