//! `/v1/client/fs/…`: files and logs of allocations, on the node that has them.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use client::{Client, FrameStream, LogKind};
use futures_util::StreamExt;
use model::ids::AllocId;

use crate::answer::Answer;
use crate::error::Failure;
use crate::request::Request;

fn target(request: &Request) -> Result<(&Client, AllocId), Failure> {
    let text = request.part("alloc");
    let unknown = || Failure::not_found(format!("Unknown allocation {text:?}"));
    let id = text.parse().map_err(|_| unknown())?;
    let client = request.api.inner.client.as_ref().ok_or_else(unknown)?;
    Ok((client, id))
}

fn file_name(request: &Request) -> Result<&str, Failure> {
    request.query.text("path").ok_or_else(|| Failure::bad("must provide a file name"))
}

/// A path without an allocation.
pub(crate) async fn without_alloc(_: Request) -> Result<Answer, Failure> {
    Err(Failure::bad("must provide a valid alloc id"))
}

/// A directory's entries.
pub(crate) async fn list(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    let path = request.query.text("path").unwrap_or("/");
    Answer::json(&client.fs_list(&id, path).await?)
}

/// One file's facts.
pub(crate) async fn stat(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    Answer::json(&client.fs_stat(&id, file_name(&request)?).await?)
}

/// A whole file.
pub(crate) async fn cat(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    let path = file_name(&request)?;
    let info = client.fs_stat(&id, path).await?;
    if info.is_dir {
        return Err(Failure::bad(format!("file {path:?} is a directory")));
    }
    let content = client.fs_read(&id, path, 0, None).await?;
    text(Body::from_stream(content), "text/plain; charset=utf-8")
}

/// A part of a file.
pub(crate) async fn read_at(request: Request) -> Result<Answer, Failure> {
    let number = |key: &str| -> Result<i64, Failure> {
        let value = request.query.get(key).unwrap_or_default();
        value.parse().map_err(|_| {
            Failure::bad(format!(
                "error parsing {key}: strconv.ParseInt: parsing {value:?}: invalid syntax"
            ))
        })
    };
    let (client, id) = target(&request)?;
    let path = file_name(&request)?;
    let offset = number("offset")?;
    let limit = match request.query.text("limit") {
        Some(_) => Some(number("limit")?),
        None => None,
    };
    let content = client.fs_read(&id, path, offset, limit).await?;
    text(Body::from_stream(content), "text/plain; charset=utf-8")
}

fn text(body: Body, kind: &'static str) -> Result<Answer, Failure> {
    Response::builder()
        .header(header::CONTENT_TYPE, kind)
        .body(body)
        .map(Answer::Raw)
        .map_err(|e| Failure::internal(e.to_string()))
}

struct Following {
    offset: i64,
    from_end: bool,
    follow: bool,
    plain: bool,
}

fn following(request: &Request, follow_default: bool) -> Result<Following, Failure> {
    let query = &request.query;
    let flag = |key: &str, default: bool| {
        match query.text(key) {
        None => Ok(default),
        Some(text) => query.flag(key).map_err(|_| {
            Failure::bad(format!("failed to parse {key} field to boolean: strconv.ParseBool: parsing {text:?}: invalid syntax"))
        }),
    }
    };
    let offset = match query.text("offset") {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::bad(format!("error parsing offset: {text:?} is not a number")))?,
    };
    let from_end = match query.text("origin") {
        None | Some("start") => false,
        Some("end") => true,
        Some(_) => return Err(Failure::bad("origin must be start or end")),
    };
    Ok(Following {
        offset,
        from_end,
        follow: flag("follow", follow_default)?,
        plain: flag("plain", false)?,
    })
}

/// A file, followed as it grows.
pub(crate) async fn stream(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    let path = file_name(&request)?;
    let how = following(&request, true)?;
    let as_bad = |fault: client::Fault| {
        let failure = Failure::from(fault);
        // A stream's failures before its first byte have always been bad requests.
        let status = if failure.status == StatusCode::NOT_FOUND {
            failure.status
        } else {
            StatusCode::BAD_REQUEST
        };
        Failure::new(status, failure.text)
    };
    let frames =
        client.fs_follow(&id, path, how.offset, how.from_end, how.follow).await.map_err(as_bad)?;
    frames_body(frames, how.plain)
}

/// A task's log.
pub(crate) async fn logs(request: Request) -> Result<Answer, Failure> {
    let (client, id) = target(&request)?;
    let task = request.query.text("task").ok_or_else(|| Failure::bad("must provide task name"))?;
    let how = following(&request, false)?;
    let kind = match request.query.text("type") {
        Some("stdout") => LogKind::Stdout,
        Some("stderr") => LogKind::Stderr,
        _ => return Err(Failure::bad("must provide log type (stdout/stderr)")),
    };
    let frames = client.logs(&id, task, kind, how.offset, how.from_end, how.follow).await?;
    frames_body(frames, how.plain)
}

/// Frames as JSON objects one after the other, or their bytes alone.
fn frames_body(frames: FrameStream, plain: bool) -> Result<Answer, Failure> {
    if plain {
        let bytes = frames.map(|frame| frame.map(|f| bytes::Bytes::from(f.data.0)));
        return text(Body::from_stream(bytes), "text/plain");
    }
    let lines = frames.map(|frame| {
        frame.and_then(|f| {
            serde_json::to_vec(&f).map(bytes::Bytes::from).map_err(std::io::Error::other)
        })
    });
    text(Body::from_stream(lines), "application/json")
}
