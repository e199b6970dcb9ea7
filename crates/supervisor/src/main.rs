//! The supervisor of one task: parent of its processes, taker of its output, keeper of its exit.
//!
//! The agent starts it with a connected socket as standard input and sends a launch over it; from
//! then on the supervisor needs nobody. It ends by itself once the task has ended and the exit
//! record is in place. If it is killed, the kernel ends the task's main process with it.
//!
//! ```text
//!   launch ─► started ─► pump output, answer the agent ─► main process ended
//!                                                            │ kill what is left of the task
//!                                                            │ take the last output
//!                                                            ▼ remove the cgroup, store the record,
//!                                                         tell the agent, end
//! ```
//! Never: threads, timers, memory that grows with what the task does.

mod agent;
mod finish;
mod serve;
mod start;

use std::os::fd::AsFd;
use std::process::ExitCode;

use rustix::process::{getpid, set_child_subreaper};
use sandbox::ChildEvents;

use crate::agent::Connection;
use crate::serve::Supervisor;

fn main() -> ExitCode {
    match run() {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// `None` when there was nobody to start a task for.
fn run() -> Option<()> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    // The connection must end when it is dropped, so no second descriptor of it may stay open.
    rustix::stdio::dup2_stdin(std::io::stdout().as_fd()).ok()?;
    let mut agent = Connection::new(socket);
    let launch = agent.receive_launch()?;
    // Descendants that lose their parent become children of this process, to be reaped and ended.
    set_child_subreaper(Some(getpid())).ok()?;
    let events = ChildEvents::take().ok()?;
    match start::start(&launch) {
        Ok(task) => {
            Supervisor::new(task, events, agent, launch).serve();
            Some(())
        }
        Err(failure) => {
            agent.send(&failure);
            None
        }
    }
}
