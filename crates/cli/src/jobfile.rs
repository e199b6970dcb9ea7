//! Job files: reading them, their variables, and turning them into the JSON of a job.
//!
//! The only place that knows how a file becomes a job (hop 1 of `job run`).

use std::path::Path;

use clap::Args;
use sdk::{Fields, Query};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Attempt, Failure};
use crate::settings::NOMAD_VAR_PREFIX;

/// The largest job file that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// What precedes every problem with a job file.
const WHAT: &str = "Error getting job struct";

/// The flags of every command that reads a job file.
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
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
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

/// Reads `path`, or standard input for `-`.
pub(crate) async fn read(
    ctx: &mut Context<'_>,
    path: &str,
    flags: &FileFlags,
) -> Result<JobFile, Failure> {
    let text = source(ctx, path).attempt(&format!("{WHAT}: Error reading job file from \"{path}\""))?;
    if flags.json {
        let value: Value = serde_json::from_str(&text)
            .attempt(&format!("{WHAT}: Error parsing job file from {path}"))?;
        let job = if value.at("Job").is_object() { value.at("Job").clone() } else { value };
        if !job.is_object() || job.text("ID").is_empty() {
            return Err(Failure::new(format!("{WHAT}: {path} holds no job: an ID is missing")));
        }
        let submission = json!({"Source": text, "Format": "json"});
        return Ok(JobFile { job, submission });
    }
    parse(ctx, path, text, flags).await
}

fn source(ctx: &mut Context<'_>, path: &str) -> Result<String, Failure> {
    let bytes = if path == "-" {
        ctx.terminal.read_input()?
    } else {
        let size = std::fs::metadata(Path::new(path))?.len();
        if size > FILE_BYTES_MAX {
            return Err(Failure::new(format!("larger than {FILE_BYTES_MAX} bytes")));
        }
        std::fs::read(path)?
    };
    String::from_utf8(bytes).map_err(|_| Failure::new("not UTF-8"))
}

/// Lets the agent parse the file.
async fn parse(
    ctx: &mut Context<'_>,
    path: &str,
    text: String,
    flags: &FileFlags,
) -> Result<JobFile, Failure> {
    let variables = variables(ctx, flags)?;
    let body = json!({"JobHCL": text, "Variables": variables, "Canonicalize": false});
    let answer = ctx.client.put("/v1/jobs/parse", Query::new(), &body).await;
    let job = answer.attempt(&format!("{WHAT}: Error parsing job file from {path}"))?.value;
    let submission = json!({"Source": text, "Format": "hcl2", "Variables": variables});
    Ok(JobFile { job, submission })
}

fn variables(ctx: &Context<'_>, flags: &FileFlags) -> Result<String, Failure> {
    let mut text = String::new();
    for (name, value) in ctx.environment.with_prefix(NOMAD_VAR_PREFIX) {
        text.push_str(&format!("{name} = {}\n", json!(value)));
    }
    for file in &flags.var_file {
        text.push_str(&std::fs::read_to_string(file).attempt(&format!("{WHAT}: {file}"))?);
    }
    for pair in &flags.var {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::new(format!("{WHAT}: -var {pair}: expected name=value")))?;
        text.push_str(&format!("{name} = {}\n", json!(value)));
    }
    Ok(text)
}
