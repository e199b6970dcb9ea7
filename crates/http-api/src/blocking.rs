//! Blocking queries: wait until what is asked for is newer than the index the caller has.

use std::time::Instant;

use serde::Serialize;
use server::{Snapshot, Table};

use crate::answer::{Answer, Meta};
use crate::error::Failure;
use crate::request::Request;

/// What a read found: its value and the index it belongs to.
pub(crate) struct Found<T> {
    pub value: T,
    /// The index of this very object or list; the tables' index when it has none of its own.
    pub index: u64,
}

/// Answers a read, waiting as the query asks.
pub(crate) async fn read<T: Serialize>(
    request: &Request,
    tables: &[Table],
    find: impl Fn(&Snapshot) -> Result<Found<T>, Failure>,
) -> Result<Answer, Failure> {
    let server = request.server()?;
    let (index, wait) = (request.query.index()?, request.query.wait()?);
    let deadline = Instant::now() + wait;
    let mut snapshot = server.snapshot();
    let found = loop {
        let found = find(&snapshot);
        let passed = match &found {
            Ok(found) => found.index > index,
            // What is not there yet may come; a caller that waits gets the failure at the end.
            Err(_) => snapshot.tables_index(tables) > index,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if index == 0 || passed || left.is_zero() {
            break found?;
        }
        if !server.wait_next(tables, &snapshot, left).await {
            break find(&server.snapshot())?;
        }
        snapshot = server.snapshot();
    };
    let meta =
        Meta { index: found.index.max(1), known_leader: server.knows_leader(), next_token: None };
    Answer::read(&found.value, meta)
}
