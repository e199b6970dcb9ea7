//! `operator api`: one request to the HTTP API, as it is.

use bytes::Bytes;
use sdk::{Address, Method, Query};

use crate::context::{Context, one_word};
use crate::failure::{Attempt, FAILED, Failure, Outcome};

/// Send one request to the HTTP API and print the answer. A body is read from standard input.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the request as a curl command instead of sending it
    #[arg(long)]
    dryrun: bool,
    /// Only what this expression holds for
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Print what goes over the wire to the error stream
    #[arg(long)]
    verbose: bool,
    /// The method; POST with a body, else GET, unless given
    #[arg(long = "X", value_name = "METHOD")]
    method: Option<String>,
    /// Another header: Name: value; may be repeated
    #[arg(long = "H", value_name = "HEADER")]
    headers: Vec<String>,
    #[arg(value_name = "PATH")]
    words: Vec<String>,
}

pub(crate) async fn run(ctx: &mut Context<'_>, args: Args) -> Outcome {
    let path = path(one_word(&args.words, "<path>")?);
    let bodiless = matches!(args.method.as_deref(), Some("GET" | "HEAD" | "DELETE"));
    let body = if ctx.terminal.input_is_terminal || bodiless {
        Vec::new()
    } else {
        ctx.terminal.read_input().await.attempt("Error reading standard input")?
    };
    let method = match &args.method {
        Some(method) => method.to_uppercase(),
        None if body.is_empty() => "GET".to_owned(),
        None => "POST".to_owned(),
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(Failure::usage)?;
    let headers = args.headers.iter().map(|text| header(text)).collect::<Result<Vec<_>, _>>()?;
    let query = Query::new().with_some("filter", args.filter.as_deref().unwrap_or_default());
    if args.dryrun {
        let line = curl(ctx, &method, &path, query, &headers);
        ctx.say(line);
        return Ok(());
    }
    if args.verbose {
        let target = ctx.client.target(&path, query.clone());
        ctx.complain(format!("> {method} {target}\n* to {}", ctx.client.address));
    }
    let answer = ctx.client.raw(method, &path, query, &headers, Bytes::from(body)).await;
    let mut answer = answer.attempt("Error performing request")?;
    if args.verbose {
        ctx.complain(format!("< HTTP/1.1 {}", answer.status));
        for (name, value) in &answer.headers {
            ctx.complain(format!("< {name}: {}", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    while let Some(piece) = answer.body.next().await.attempt("Error reading the answer")? {
        ctx.terminal.bytes(&piece)?;
    }
    if answer.status >= 400 { Err(Failure::silent(FAILED)) } else { Ok(()) }
}

/// The path, which may be given without what every path begins with.
fn path(given: &str) -> String {
    let given = given.trim_start_matches('/');
    if given.starts_with("v1/") { format!("/{given}") } else { format!("/v1/{given}") }
}

fn header(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| Failure::usage(format!("-H {text}: expected Name: value")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn curl(
    ctx: &Context<'_>,
    method: &Method,
    path: &str,
    query: Query,
    headers: &[(String, String)],
) -> String {
    let mut parts = vec![format!("curl \\\n  -X {method}")];
    let base = match &ctx.client.address {
        Address::Unix(path) => {
            parts.push(format!("--unix-socket '{}'", path.display()));
            "http://localhost".to_owned()
        }
        address @ Address::Tcp { .. } => format!("http://{}", address.host_header()),
    };
    for (name, value) in headers {
        parts.push(format!("-H '{name}: {value}'"));
    }
    if !ctx.client.token.is_empty() {
        // The secret stays where it is: the shell that runs this has it.
        parts.push("-H \"X-Nomad-Token: ${NOMAD_TOKEN}\"".to_owned());
    }
    parts.push(format!("'{base}{}'", ctx.client.target(path, query)));
    parts.join(" \\\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_headers_are_read_as_people_write_them() {
        assert_eq!(path("/v1/jobs?pretty"), "/v1/jobs?pretty");
        assert_eq!((path("v1/jobs"), path("jobs")), ("/v1/jobs".into(), "/v1/jobs".into()));
        assert_eq!(header("A: b:c").unwrap(), ("A".into(), "b:c".into()));
        assert!(header("A").is_err());
    }
}
