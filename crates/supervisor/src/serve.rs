//! The loop while the task runs: wait for output, requests and the end of children, in one `poll`.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus, wait};
use sandbox::{ChildEvents, Process};
use supervisor::protocol::{Launch, Reply, Request};

use crate::agent::Connection;
use crate::start::{Stream, Task};

/// Agents connected at once; a newcomer beyond that takes the place of the oldest, who may hang.
const CONNECTIONS_MAX: usize = 4;
/// Bytes of output read at once: a quarter of a pipe, small since each task pays for it.
const OUTPUT_BYTES: usize = 16 * 1024;
/// Reads from one stream in a row before others get their turn.
const READS_MAX: usize = 8;

pub(crate) struct Supervisor {
    pub(crate) task: Task,
    pub(crate) agents: Vec<Connection>,
    events: ChildEvents,
}

impl Supervisor {
    pub(crate) fn new(task: Task, events: ChildEvents, agent: Connection, launch: Launch) -> Self {
        // The launch is the largest thing in memory and no longer needed.
        drop(launch);
        agent.send(&Reply::Started(task.running.clone()));
        Self { task, agents: vec![agent], events }
    }

    /// Returns when the task has ended and everything about it is in place.
    pub(crate) fn serve(mut self) {
        loop {
            if let Some(status) = self.reap() {
                self.finish(status);
                return;
            }
            self.wait_and_handle();
        }
    }

    fn wait_and_handle(&mut self) {
        let mut polled = Vec::with_capacity(4 + CONNECTIONS_MAX);
        polled.push(PollFd::new(&self.events, PollFlags::IN));
        polled.push(PollFd::new(&self.task.listener, PollFlags::IN));
        for stream in [&self.task.stdout, &self.task.stderr] {
            if let Some(pipe) = &stream.pipe {
                polled.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        polled.extend(self.agents.iter().map(|agent| PollFd::new(agent, PollFlags::IN)));
        // An interruption is as good as a wake-up: nothing below waits.
        if poll(&mut polled, None).is_err() {
            return;
        }
        let ready: Vec<bool> = polled.iter().map(|entry| !entry.revents().is_empty()).collect();
        drop(polled);
        let mut ready = ready.into_iter();
        if ready.next() == Some(true) {
            self.events.clear();
        }
        let newcomer = ready.next() == Some(true);
        for stream in [&mut self.task.stdout, &mut self.task.stderr] {
            if stream.pipe.is_some() && ready.next() == Some(true) {
                pump(stream, READS_MAX);
            }
        }
        let agents = std::mem::take(&mut self.agents);
        for (mut agent, ready) in agents.into_iter().zip(ready) {
            if !ready || (agent.receive() && self.answer_all(&mut agent)) {
                self.agents.push(agent);
            }
        }
        if newcomer {
            self.accept();
        }
    }

    fn accept(&mut self) {
        if let Ok((stream, _)) = self.task.listener.accept() {
            if self.agents.len() >= CONNECTIONS_MAX {
                self.agents.remove(0);
            }
            self.agents.push(Connection::new(stream.into()));
        }
    }

    /// `false` when the connection is to be given up.
    fn answer_all(&mut self, agent: &mut Connection) -> bool {
        loop {
            match agent.next_request() {
                Ok(Some(request)) => {
                    if !self.answer(agent, request) {
                        return false;
                    }
                }
                Ok(None) => return true,
                Err(()) => return false,
            }
        }
    }

    fn answer(&mut self, agent: &mut Connection, request: Request) -> bool {
        match request {
            Request::Attach { .. } => {
                agent.attached = true;
                agent.send(&Reply::Started(self.task.running.clone()))
            }
            _ if !agent.attached => false,
            Request::Signal { number } => {
                let errno = self.signal(number);
                agent.send(&Reply::Signalled { errno })
            }
            Request::SetLogs(limits) => {
                self.task.stdout.log.set_limits(limits);
                self.task.stderr.log.set_limits(limits);
                agent.send(&Reply::LogsSet)
            }
            Request::Kill => {
                self.kill();
                true
            }
            Request::Launch(_) => false,
        }
    }

    /// The error number, 0 for none.
    fn signal(&self, number: i32) -> i32 {
        let pidfd = match self.task.pidfd.as_fd().try_clone_to_owned() {
            Ok(pidfd) => pidfd,
            Err(error) => return error.raw_os_error().unwrap_or(0),
        };
        match Process::from_pidfd(pidfd).signal(number) {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
        }
    }

    /// Ends the main process; the rest of the task follows when that end is noticed.
    fn kill(&self) {
        // It may be ending already.
        let _ = self.signal(9);
    }

    /// Takes the end of all children that have ended; the main process's status is the answer.
    /// The others are orphans of the task, for which nobody else can wait.
    fn reap(&self) -> Option<WaitStatus> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((ended, status)))
                    if ended.as_raw_nonzero().get() == self.task.pid as i32 =>
                {
                    return Some(status);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

/// Moves what the pipe holds into the log; a stream at its end loses its pipe.
pub(crate) fn pump(stream: &mut Stream, reads_max: usize) {
    let mut buffer = [0; OUTPUT_BYTES];
    for _ in 0..reads_max {
        let Some(pipe) = &stream.pipe else { return };
        match rustix::io::read(pipe, &mut buffer[..]) {
            Ok(0) => stream.pipe = None,
            Ok(count) => stream.log.write(&buffer[..count]),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return,
            Err(_) => stream.pipe = None,
        }
    }
}
