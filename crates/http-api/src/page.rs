//! Lists: prefix, filter, order, pages; the same for every resource.

use serde::Serialize;
use serde_json::Value;
use server::{Snapshot, Table};

use crate::answer::{Answer, Meta};
use crate::blocking::Found;
use crate::error::Failure;
use crate::filter::Filter;
use crate::request::{Query, Request};

/// The most rows one page may have.
pub(crate) const PER_PAGE_MAX: usize = 100_000;

/// A list's rows with the token of the next page.
pub(crate) struct Page {
    rows: Vec<Value>,
    next: Option<String>,
}

/// Answers a list. `rows` gives each row with the key that orders pages.
pub(crate) async fn list<T: Serialize>(
    request: &Request,
    tables: &[Table],
    rows: impl Fn(&Snapshot) -> Result<Vec<(String, T)>, Failure>,
) -> Result<Answer, Failure> {
    let query = &request.query;
    let plain = !query.has("filter") && !query.has("per_page") && !query.has("next_token");
    if plain {
        let reverse = query.flag("reverse")?;
        return crate::blocking::read(request, tables, |snapshot| {
            let mut rows: Vec<T> = rows(snapshot)?.into_iter().map(|(_, row)| row).collect();
            if reverse {
                rows.reverse();
            }
            Ok(Found { value: rows, index: snapshot.tables_index(tables) })
        })
        .await;
    }
    let snapshot = wait(request, tables).await?;
    let page = page(query, rows(&snapshot)?)?;
    let meta = Meta {
        index: snapshot.tables_index(tables),
        known_leader: request.server()?.knows_leader(),
        next_token: page.next,
    };
    Answer::read(&page.rows, meta)
}

async fn wait(request: &Request, tables: &[Table]) -> Result<Snapshot, Failure> {
    let server = request.server()?;
    match request.query.index()? {
        0 => Ok(server.snapshot()),
        index => Ok(server.wait(tables, index, request.query.wait()?).await),
    }
}

fn page<T: Serialize>(query: &Query, rows: Vec<(String, T)>) -> Result<Page, Failure> {
    let filter = match query.text("filter") {
        None => None,
        Some(text) => Some(
            Filter::parse(text)
                .map_err(|e| Failure::bad(format!("failed to read filter expression: {e}")))?,
        ),
    };
    let per_page: Option<usize> = query.number("per_page")?;
    let per_page = per_page.filter(|n| *n > 0).unwrap_or(PER_PAGE_MAX).min(PER_PAGE_MAX);
    let mut rows = rows;
    if query.flag("reverse")? {
        rows.reverse();
    }
    let start = match query.text("next_token") {
        None => 0,
        Some(token) => rows.iter().position(|(key, _)| key == token).unwrap_or(rows.len()),
    };
    let mut page = Page { rows: Vec::new(), next: None };
    for (key, row) in rows.into_iter().skip(start) {
        let value = serde_json::to_value(row).map_err(|e| Failure::internal(e.to_string()))?;
        let wanted = match &filter {
            None => true,
            Some(filter) => filter.matches(&value).map_err(Failure::bad)?,
        };
        if !wanted {
            continue;
        }
        if page.rows.len() == per_page {
            page.next = Some(key);
            break;
        }
        page.rows.push(value);
    }
    Ok(page)
}
