//! The long poll for the node's allocations. Hop 13 of `job run`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::alloc::Alloc;
use model::job::Job;
use rpc::methods::NodeAllocs;
use rpc::{Reply, Request};

use crate::alloc::record::JobVersion;
use crate::backoff::Backoff;
use crate::clock;
use crate::roster::Roster;
use crate::session::Session;

/// How long a poll may stay without news.
const POLL_WAIT: Duration = Duration::from_secs(300);
/// How much longer than that the answer may take.
const POLL_GRACE: Duration = Duration::from_secs(30);
const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Polls until the client ends.
pub(crate) async fn run(session: Arc<Session>, roster: Arc<Roster>) {
    let mut backoff = Backoff::new(WAIT_MIN, WAIT_MAX);
    let mut since = 0;
    loop {
        let credential = session.credential();
        let request = Request::NodeAllocs { credential, since, wait: clock::nanos(POLL_WAIT) };
        match session.call(&request, POLL_WAIT + POLL_GRACE).await {
            Ok(Reply::NodeAllocs(answer)) => {
                backoff.reset();
                let index = answer.index;
                let complete = joined(answer, &roster);
                let lags = index < since;
                roster.apply(complete.answer, since).await;
                // A job version that was missing is asked for again, with everything else.
                since = if complete.is_complete && !lags { index } else { 0 };
                if since == 0 && index > 0 {
                    backoff.wait().await;
                }
            }
            Ok(_) => backoff.wait().await,
            Err(error) => {
                tracing::warn!(%error, "the node's allocations cannot be read");
                backoff.wait().await;
            }
        }
    }
}

struct Joined {
    answer: NodeAllocs,
    is_complete: bool,
}

/// Gives each allocation its job version, from the answer or from what is here.
fn joined(mut answer: NodeAllocs, roster: &Roster) -> Joined {
    let specs: BTreeMap<JobVersion, Arc<Job>> = answer
        .specs
        .drain(..)
        .map(|job| {
            let version = JobVersion {
                job: job.key(),
                create_index: job.create_index(),
                version: job.version(),
            };
            (version, job)
        })
        .collect();
    let mut is_complete = true;
    let mut changed: Vec<Arc<Alloc>> = Vec::with_capacity(answer.changed.len());
    for alloc in answer.changed.drain(..) {
        let version = JobVersion::of(&alloc);
        match specs.get(&version).cloned().or_else(|| roster.job(&version)) {
            Some(spec) => {
                let mut alloc = Arc::unwrap_or_clone(alloc);
                alloc.spec = spec;
                // Scores and counts of the placement are of no use to a node.
                alloc.metrics = None;
                changed.push(Arc::new(alloc));
            }
            None => {
                tracing::error!(alloc_id = %alloc.id, "an allocation came without its job");
                is_complete = false;
            }
        }
    }
    answer.changed = changed;
    Joined { answer, is_complete }
}
