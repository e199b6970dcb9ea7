//! `alloc logs`: what a task writes.

use sdk::{Body, Fields, Query};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::lookup;

use super::tail::Tail;

/// Read what a task has written, or follow it with -f.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Standard output; the default except with -f, which follows both
    #[arg(long)]
    stdout: bool,
    /// The error stream
    #[arg(long)]
    stderr: bool,
    /// Go on when the end is reached; Ctrl-C ends it
    #[arg(long)]
    f: bool,
    /// Begin near the end: 10 lines unless -n or -c say otherwise
    #[arg(long)]
    tail: bool,
    /// With -tail: this many lines
    #[arg(long, value_name = "LINES")]
    n: Option<u64>,
    /// With -tail: this many bytes
    #[arg(long, value_name = "BYTES")]
    c: Option<u64>,
    /// Take an allocation of this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// With -job: an allocation of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The task, when the allocation has several
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    #[arg(value_name = "<allocation> [<task>]")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (alloc, task) = target(ctx, &args).await?;
    let task = match args.task.clone().or(task) {
        Some(task) => task,
        None => lookup::only_task(&alloc, args.verbose).attempt("Failed to validate task")?,
    };
    let tail = Tail::new(args.tail, args.n, args.c);
    let both = args.f && !args.stdout && !args.stderr;
    if both || (args.stdout && args.stderr) {
        if !args.f {
            return Err(Failure::usage("-stdout and -stderr can be used together only with -f"));
        }
        let out = open(ctx, &alloc, &task, "stdout", &tail, true).await?;
        let err = open(ctx, &alloc, &task, "stderr", &tail, true).await?;
        return follow_both(ctx, out, err).await;
    }
    let stream = if args.stderr { "stderr" } else { "stdout" };
    let mut body = open(ctx, &alloc, &task, stream, &tail, args.f).await?;
    tail.print(ctx, args.f, &mut body).await
}

/// The allocation, and the task when a word names it.
async fn target(ctx: &Context<'_>, args: &Args) -> Result<(Value, Option<String>), Failure> {
    if let Some(job) = &args.job {
        let group = args.group.as_deref().unwrap_or_default();
        let alloc = lookup::allocation_of_job(ctx, job, group).await?;
        return match &args.words[..] {
            [] => Ok((alloc, None)),
            [task] => Ok((alloc, Some(task.clone()))),
            _ => Err(Failure::usage("With -job this command takes at most one argument: <task>")),
        };
    }
    if args.group.is_some() {
        return Err(Failure::usage("-group can only be used with -job"));
    }
    match &args.words[..] {
        [given] => Ok((lookup::allocation(ctx, given).await?, None)),
        [given, task] => Ok((lookup::allocation(ctx, given).await?, Some(task.clone()))),
        _ => Err(Failure::usage(
            "This command takes one or two arguments: <allocation> [<task>], or -job <job>",
        )),
    }
}

async fn open(
    ctx: &Context<'_>,
    alloc: &Value,
    task: &str,
    stream: &str,
    tail: &Tail,
    follow: bool,
) -> Result<Body, Failure> {
    let query = Query::new()
        .with_some("namespace", alloc.text("Namespace"))
        .with("task", task)
        .with("type", stream)
        .with("plain", true)
        .with_flag("follow", follow);
    let path = format!("/v1/client/fs/logs/{}", alloc.text("ID"));
    ctx.client.stream(&path, tail.apply(query)).await.attempt("Error reading file")
}

/// Copies both streams, each to its own, until both end or the user has enough.
async fn follow_both(ctx: &mut Context<'_>, mut out: Body, mut err: Body) -> Outcome {
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        tokio::select! {
            piece = out.next(), if out_open => match piece.attempt("Error reading file")? {
                Some(bytes) => ctx.terminal.bytes(&bytes)?,
                None => out_open = false,
            },
            piece = err.next(), if err_open => match piece.attempt("Error reading file")? {
                Some(bytes) => ctx.terminal.error_bytes(&bytes)?,
                None => err_open = false,
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
    Ok(())
}

/// Pieces of a log as they arrive.
impl super::tail::Pieces for Body {
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let piece = self.next().await.attempt("Error reading file")?;
        Ok(piece.map(|bytes| bytes.to_vec()))
    }
}
