//! Ends allocations whose group says how long it may run out of contact with the servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::alloc::Alloc;
use tokio::sync::mpsc;

use crate::alloc::runner::Command;
use crate::clock;
use crate::roster::{Entry, Roster};
use crate::session::Session;

/// The longest time between two looks while contact is lost: new allocations cannot arrive then,
/// but one may have arrived after the last look with contact.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Watches until the client ends.
pub(crate) async fn run(session: Arc<Session>, roster: Arc<Roster>) {
    let mut contact = session.contact.subscribe();
    loop {
        let state = *contact.borrow_and_update();
        let Some(last) = state.last_heartbeat else {
            if contact.changed().await.is_err() {
                return;
            }
            continue;
        };
        // While heartbeats come in time there is nothing to look at.
        let overdue = tokio::time::Instant::from_std(last + state.heartbeat_ttl.max(LOOK_MAX));
        tokio::select! {
            changed = contact.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            () = tokio::time::sleep_until(overdue) => {}
        }
        while !contact.has_changed().unwrap_or(true) {
            end_overdue(&roster, last).await;
            tokio::time::sleep(LOOK_MAX).await;
        }
    }
}

async fn end_overdue(roster: &Roster, last_heartbeat: Instant) {
    let mut overdue: Vec<(Arc<Alloc>, mpsc::Sender<Command>)> = Vec::new();
    roster.each(|_, entry| {
        if let Entry::Live(live) = entry
            && let Some(limit) = stop_after(&live.alloc)
            && last_heartbeat.elapsed() >= limit
            && !live.alloc.is_server_terminal()
        {
            let mut alloc = (*live.alloc).clone();
            alloc.desired = model::alloc::DesiredStatus::Stop;
            live.alloc = Arc::new(alloc);
            overdue.push((live.alloc.clone(), live.commands.clone()));
        }
    });
    for (alloc, commands) in overdue {
        tracing::warn!(alloc_id = %alloc.id, "out of contact for too long; the allocation ends");
        // A runner that has ended needs no telling.
        let _ = commands.send(Command::Update(alloc)).await;
    }
}

fn stop_after(alloc: &Alloc) -> Option<Duration> {
    let group = alloc.spec.group(&alloc.group)?;
    let disconnect = group.disconnect.as_ref().and_then(|rule| rule.stop_on_client_after);
    let limit = disconnect.or(group.stop_after_client_disconnect)?;
    (limit > 0).then(|| clock::duration(limit))
}
