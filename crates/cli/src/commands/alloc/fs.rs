//! `alloc fs`: the files of an allocation.

use sdk::{Fields, Frames, Query};
use serde_json::Value;

use crate::context::Context;
use crate::failure::{Attempt, Failure, Outcome};
use crate::lookup;
use crate::output::table::Table;
use crate::output::units::bytes;
use crate::output::when;

use super::tail::{Pieces, Tail};

/// List a directory of an allocation, or print a file of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes in bytes and exact times
    #[arg(long = "H")]
    machine: bool,
    /// Whole ids
    #[arg(long)]
    verbose: bool,
    /// Take an allocation of this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// With -job: an allocation of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// What a file is instead of what it holds
    #[arg(long)]
    stat: bool,
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
    #[arg(value_name = "<allocation> [<path>]")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let (alloc, path) = target(ctx, &args).await?;
    let stat = get(ctx, "stat", &alloc, &path).await.attempt("")?;
    if args.stat {
        let table = stat_table(&stat, args.machine);
        if args.verbose {
            ctx.say(format!("Allocation {}\n", alloc.text("ID")));
        }
        ctx.say(table);
        return Ok(());
    }
    if stat.flag("IsDir") {
        let files = get(ctx, "ls", &alloc, &path).await.attempt("Error listing alloc dir")?;
        let rows = files.as_array().map(Vec::as_slice).unwrap_or_default();
        if args.verbose {
            ctx.say(format!("Allocation {}\n", alloc.text("ID")));
        }
        ctx.say(list_table(rows, args.machine));
        return Ok(());
    }
    let tail = Tail::new(args.tail, args.n, args.c);
    let query = query(&alloc, &path).with("follow", args.f);
    let target = format!("/v1/client/fs/stream/{}", alloc.text("ID"));
    let body = ctx.client.stream(&target, tail.apply(query)).await.attempt("Error reading file")?;
    tail.print(ctx, args.f, &mut body.frames()).await
}

async fn target(ctx: &Context<'_>, args: &Args) -> Result<(Value, String), Failure> {
    let root = || "/".to_owned();
    if let Some(job) = &args.job {
        let group = args.group.as_deref().unwrap_or_default();
        let alloc = lookup::allocation_of_job(ctx, job, group).await?;
        return match &args.words[..] {
            [] => Ok((alloc, root())),
            [path] => Ok((alloc, path.clone())),
            _ => Err(Failure::usage("With -job this command takes at most one argument: <path>")),
        };
    }
    if args.group.is_some() {
        return Err(Failure::usage("-group can only be used with -job"));
    }
    match &args.words[..] {
        [given] => Ok((lookup::allocation(ctx, given).await?, root())),
        [given, path] => Ok((lookup::allocation(ctx, given).await?, path.clone())),
        _ => Err(Failure::usage(
            "This command takes one or two arguments: <allocation> [<path>], or -job <job>",
        )),
    }
}

fn query(alloc: &Value, path: &str) -> Query {
    Query::new().with_some("namespace", alloc.text("Namespace")).with("path", path)
}

async fn get(ctx: &Context<'_>, verb: &str, alloc: &Value, path: &str) -> sdk::Result<Value> {
    let target = format!("/v1/client/fs/{verb}/{}", alloc.text("ID"));
    Ok(ctx.client.get(&target, query(alloc, path)).await?.value)
}

fn size(file: &Value, machine: bool) -> String {
    let size = u64::try_from(file.int("Size")).unwrap_or(0);
    if machine { size.to_string() } else { bytes(size) }
}

fn time(file: &Value, machine: bool) -> String {
    let text = file.text("ModTime");
    if machine { text.to_owned() } else { when::at(when::parse(text)) }
}

fn name(file: &Value) -> String {
    let slash = if file.flag("IsDir") { "/" } else { "" };
    format!("{}{slash}", file.text("Name"))
}

fn stat_table(file: &Value, machine: bool) -> String {
    let mut table = Table::new(&["Mode", "Size", "Modified Time", "Content Type", "Name"]);
    table.row([
        file.text("FileMode").to_owned(),
        size(file, machine),
        time(file, machine),
        file.text("ContentType").to_owned(),
        name(file),
    ]);
    table.render()
}

fn list_table(files: &[Value], machine: bool) -> String {
    let mut table = Table::new(&["Mode", "Size", "Modified Time", "Name"]);
    for file in files {
        let mode = file.text("FileMode").to_owned();
        table.row([mode, size(file, machine), time(file, machine), name(file)]);
    }
    table.render()
}

impl Pieces for Frames {
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.next().await.attempt("Error reading file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn directories_end_in_a_slash_and_sizes_have_units() {
        let files = [
            json!({"FileMode": "drwxrwxrwx", "IsDir": true, "Name": "alloc", "Size": 4096}),
            json!({"FileMode": "-rw-r--r--", "Name": "f.txt", "Size": 5}),
        ];
        expect![[r#"
            Mode        Size     Modified Time  Name
            drwxrwxrwx  4.0 KiB  N/A            alloc/
            -rw-r--r--  5 B      N/A            f.txt"#]]
        .assert_eq(&list_table(&files, false));
        assert!(list_table(&files, true).contains("4096"));
    }
}
