//! Job files: reading them, their variables, and turning them into the JSON of a job.
//!
//! The only place that knows how a file becomes a job (hop 1 of `job run`).

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use specs::job::{Assignment, Diagnostic, Files, Limits, Options, Undeclared};

use crate::context::Context;
use crate::diagnostics;
use crate::failure::{Attempt, Failure, system_text};
use crate::settings::HOME;

/// The largest file that is read: a job file, a variable file, or one a function names.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The most files a function may list.
const LISTED_FILES_MAX: usize = 10_000;
/// What precedes every problem with a job file.
const WHAT: &str = "Error getting job struct";

// The flags of every command that reads a job file. (A doc comment would become their help.)
#[derive(Debug, Args)]
pub(crate) struct FileFlags {
    /// The file is JSON: a job, or an object with the job below Job
    #[arg(long)]
    pub(crate) json: bool,
    /// Give a variable of the file a value: name=value; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) var: Vec<String>,
    /// Read values of variables from a file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) var_file: Vec<String>,
    /// Whether a value for a variable the file does not declare is an error; true unless given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) hcl2_strict: bool,
}

/// A job with the text it came from.
#[derive(Debug)]
pub(crate) struct JobFile {
    /// The job as the API takes it.
    pub(crate) job: Value,
    /// What the agent keeps so that the text can be shown again.
    pub(crate) submission: Value,
}

/// Reads `path`, or standard input for `-`. Warnings go to the error stream.
pub(crate) async fn read(
    ctx: &mut Context<'_>,
    path: &str,
    flags: &FileFlags,
) -> Result<JobFile, Failure> {
    let text = if path == "-" { input(ctx).await } else { file(Path::new(path)) };
    let text = text.attempt(&format!("{WHAT}: Error reading job file from \"{path}\""))?;
    if flags.json {
        let job = specs::job::parse_json_job(path, &text).attempt(WHAT)?;
        let submission = json!({"Source": text, "Format": "json"});
        return Ok(JobFile { job: as_json(&job)?, submission });
    }
    let mut texts = BTreeMap::from([(path.to_owned(), text.clone())]);
    let mut submission = json!({"Source": text, "Format": "hcl2"});
    let parsed = values(ctx, flags, &mut texts, &mut submission).and_then(|assignments| {
        let home = ctx.environment.get(HOME).map(str::to_owned);
        let disk = Disk { home, directory: OnceCell::new() };
        let options = Options {
            assignments: &assignments,
            files: Some(&disk),
            random: &random_bytes,
            limits: Limits::default(),
        };
        specs::job::parse_job(path, &text, &options).map_err(Problems::Found)
    });
    match parsed {
        Ok((job, warnings)) => {
            if !warnings.is_empty() {
                let text = diagnostics::render(&warnings, &texts, ctx.terminal.err_colour);
                ctx.complain(format!("{text}\n"));
            }
            Ok(JobFile { job: as_json(&job)?, submission })
        }
        Err(Problems::Failed(failure)) => Err(failure),
        Err(Problems::Found(problems)) => {
            let text = diagnostics::render(&problems, &texts, ctx.terminal.err_colour);
            Err(Failure::new(format!("{WHAT}: Error parsing job file from {path}:\n{text}")))
        }
    }
}

/// Why a file gave no job.
enum Problems {
    Found(Vec<Diagnostic>),
    Failed(Failure),
}

/// The values for the file's variables: environment, then files, then flags; the last counts.
fn values(
    ctx: &Context<'_>,
    flags: &FileFlags,
    texts: &mut BTreeMap<String, String>,
    submission: &mut Value,
) -> Result<Vec<Assignment>, Problems> {
    let undeclared = if flags.hcl2_strict { Undeclared::Refuse } else { Undeclared::Ignore };
    let mut all = specs::job::read_environment(ctx.environment.all());
    let mut kept = String::new();
    for name in &flags.var_file {
        let what = format!("{WHAT}: Error reading variable file \"{name}\"");
        let text = file(Path::new(name)).attempt(&what).map_err(Problems::Failed)?;
        texts.insert(name.clone(), text.clone());
        let limits = Limits::default();
        let found = specs::job::read_var_file(name, &text, &limits, &random_bytes, undeclared);
        all.extend(found.map_err(Problems::Found)?);
        kept.push_str(&text);
        kept.push('\n');
    }
    let mut flag_values = serde_json::Map::new();
    for pair in &flags.var {
        let found = specs::job::read_flag(pair, undeclared);
        let found = found.attempt(&format!("{WHAT}: -var")).map_err(Problems::Failed)?;
        let value = pair.split_once('=').map(|(_, value)| value).unwrap_or_default();
        flag_values.insert(found.name.clone(), value.into());
        all.push(found);
    }
    submission["Variables"] = kept.into();
    submission["VariableFlags"] = flag_values.into();
    Ok(all)
}

/// For UUIDs and salts. Six bits are those of a UUID, which harms neither.
fn random_bytes() -> [u8; 16] {
    *uuid::Uuid::new_v4().as_bytes()
}

fn as_json(job: &model::job::Job) -> Result<Value, Failure> {
    serde_json::to_value(job).attempt(WHAT)
}

async fn input(ctx: &mut Context<'_>) -> Result<String, Failure> {
    let bytes = ctx.terminal.read_input().await?;
    String::from_utf8(bytes).map_err(|_| Failure::new("it is not UTF-8"))
}

fn file(path: &Path) -> Result<String, Failure> {
    let bytes = bytes(path).map_err(Failure::new)?;
    String::from_utf8(bytes).map_err(|_| Failure::new("it is not UTF-8"))
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let info = std::fs::metadata(path).map_err(|error| system_text(&error))?;
    if info.len() > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    std::fs::read(path).map_err(|error| system_text(&error))
}

/// The files of the user's machine, for the file functions of job files.
struct Disk {
    home: Option<String>,
    directory: OnceCell<String>,
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        bytes(Path::new(path))
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, String> {
        let root = Path::new(directory);
        let (mut left, mut found) = (vec![PathBuf::new()], Vec::new());
        while let Some(below) = left.pop() {
            let entries =
                std::fs::read_dir(root.join(&below)).map_err(|error| system_text(&error))?;
            for entry in entries {
                let entry = entry.map_err(|error| system_text(&error))?;
                let path = below.join(entry.file_name());
                let kind = entry.file_type().map_err(|error| system_text(&error))?;
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_file() {
                    found.push(path.to_string_lossy().into_owned());
                }
                if found.len() + left.len() > LISTED_FILES_MAX {
                    return Err(format!("more than {LISTED_FILES_MAX} files"));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn working_directory(&self) -> String {
        let read = || {
            let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
            directory.to_string_lossy().into_owned()
        };
        self.directory.get_or_init(read).clone()
    }

    fn home_directory(&self) -> Option<String> {
        self.home.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Program;
    use crate::settings::Environment;
    use crate::terminal::Terminal;
    use expect_test::expect;

    async fn read_text(text: &str, flags: &FileFlags) -> Result<Value, String> {
        let environment = Environment::of(&[("NOMAD_VAR_n", "8")]);
        let (mut terminal, _) = Terminal::captured(text);
        let client = sdk::Client::new(sdk::Address::parse(sdk::DEFAULT_ADDRESS).unwrap());
        let terminal = &mut terminal;
        let mut ctx =
            Context { program: Program::Nomad, terminal, environment: &environment, client };
        read(&mut ctx, "-", flags).await.map(|file| file.job).map_err(|failure| failure.text)
    }

    fn flags(var: &[&str]) -> FileFlags {
        let var = var.iter().map(|pair| (*pair).to_owned()).collect();
        FileFlags { json: false, var, var_file: Vec::new(), hcl2_strict: true }
    }

    const TEXT: &str = r#"
variable "n" { type = number }
job "web" {
  group "g" {
    count = var.n
    task "t" { driver = "raw_exec" }
  }
}
"#;

    #[tokio::test]
    async fn flags_go_before_the_environment() {
        for (given, count) in [(&[][..], 8), (&["n=3"], 3)] {
            let job = read_text(TEXT, &flags(given)).await.unwrap();
            assert_eq!(job["TaskGroups"][0]["Count"], count);
        }
    }

    #[tokio::test]
    async fn problems_show_the_line_they_are_about() {
        let text = "job \"web\" {\n  group \"g\" {\n    task \"t\" { drvier = \"exec\" }\n  }\n}\n";
        let shown = read_text(text, &flags(&[])).await.unwrap_err();
        expect![[r#"
            Error getting job struct: Error parsing job file from -:
            error: Unsupported argument; An argument named "drvier" is not expected here. Did you mean "driver"?
             --> -:3:16
              |
            3 |     task "t" { drvier = "exec" }
              |                ^^^^^^"#]].assert_eq(&shown);
    }

    #[tokio::test]
    async fn undeclared_values_are_refused_unless_told_otherwise() {
        let mut given = flags(&["zz=1"]);
        assert!(read_text(TEXT, &given).await.unwrap_err().contains("zz"));
        given.hcl2_strict = false;
        assert!(read_text(TEXT, &given).await.is_ok());
    }

    #[tokio::test]
    async fn json_is_a_job_or_holds_one() {
        let mut given = flags(&[]);
        given.json = true;
        let text = r#"{"Job": {"ID": "web", "Name": "web"}}"#;
        assert_eq!(read_text(text, &given).await.unwrap()["ID"], "web");
        assert!(read_text("[]", &given).await.unwrap_err().contains("Error getting job struct"));
    }
}
