//! What operators look at: the scheduler's settings, the log, the leader's loops.

use serde_json::json;
use server::{SchedulerConfig, Table};

use crate::answer::Answer;
use crate::blocking::{self, Found};
use crate::error::Failure;
use crate::request::Request;

/// The scheduler's settings.
pub(crate) async fn scheduler(request: Request) -> Result<Answer, Failure> {
    blocking::read(&request, &[Table::Config], |snapshot| {
        let config = snapshot.scheduler_config();
        let index = snapshot.table_index(Table::Config);
        let value = json!({ "SchedulerConfig": &**config, "Index": index, "LastContact": 0, "KnownLeader": true });
        Ok(Found { value, index })
    })
    .await
}

/// Changes the scheduler's settings.
pub(crate) async fn set_scheduler(request: Request) -> Result<Answer, Failure> {
    let wrong = |f: Failure| Failure::bad(format!("Error parsing scheduler config: {}", f.text));
    let config: SchedulerConfig = request.body().map_err(wrong)?;
    let cas = match request.query.text("cas") {
        None => None,
        Some(text) => Some(text.parse::<u64>().map_err(|_| {
            let problem = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
            Failure::bad(format!("Error parsing cas value: {problem}"))
        })?),
    };
    match request.server()?.set_scheduler_config(config, cas).await {
        Ok(index) => Answer::json(&json!({ "Updated": true, "Index": index })),
        Err(fault) if fault.kind == server::Kind::Conflict => {
            let index = request.server()?.snapshot().table_index(Table::Config);
            Answer::json(&json!({ "Updated": false, "Index": index }))
        }
        Err(fault) => Err(fault.into()),
    }
}

/// The members of the log.
pub(crate) async fn raft(request: Request) -> Result<Answer, Failure> {
    let facts = request.facts();
    let leads = request.server()?.is_leader();
    Answer::json(&json!({
        "Index": 0,
        "Servers": [{
            "ID": facts.rpc_address, "Node": format!("{}.{}", facts.name, facts.region), "Address": facts.rpc_address,
            "Leader": leads, "Voter": true, "RaftProtocol": "3",
        }],
    }))
}

/// What each loop of the leader did last, and how many evaluations wait where (ours).
pub(crate) async fn loops(request: Request) -> Result<Answer, Failure> {
    let server = request.server()?;
    let rows: Vec<_> = server
        .loop_statuses()
        .into_iter()
        .map(|s| json!({ "Name": s.name, "Did": s.did, "At": s.at }))
        .collect();
    let broker = server.broker_figures();
    let log = server.log_stats();
    Answer::json(&json!({
        "Loops": rows,
        "Evaluations": {
            "Ready": broker.ready, "HeldBack": broker.held_back, "Leased": broker.leased,
            "Delayed": broker.delayed, "Blocked": broker.blocked,
        },
        "Log": {
            "LastIndex": log.last_log_index, "Applied": log.last_applied, "SnapshotIndex": log.snapshot_index,
            "Bytes": log.log_bytes, "Syncs": log.syncs, "Entries": log.entries_written,
        },
    }))
}
