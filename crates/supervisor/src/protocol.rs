//! What agent and supervisor say to each other over a Unix socket.
//!
//! A frame is a length (four bytes), a kind (one byte) and a body. The agent sends requests; the
//! supervisor answers each but [`Request::Kill`] in order, and says [`Reply::Exited`] unasked, as
//! its last word. The first request on a connection carries the protocol's version.
//!
//! ```text
//!   agent                        supervisor
//!     Launch  ────────────────►               (inherited socket, once)
//!             ◄────────────────  Started | StartFailed
//!     Attach  ────────────────►               (each later connection, by path)
//!             ◄────────────────  Started
//!     Signal, SetLogs, Kill ──►
//!             ◄────────────────  Signalled, LogsSet
//!             ◄────────────────  Exited, end of stream
//! ```

use crate::logs::LogLimits;
use crate::record::ExitRecord;
use crate::wire::{Malformed, Reader, Writer};

/// The version spoken here: 2 brought isolation.
pub const VERSION: u32 = 2;
/// An agent also speaks the one before, to the supervisors it finds running after an update.
/// Only the launch differs, which goes to a supervisor of the agent's own version.
pub const VERSION_MIN: u32 = 1;
/// The kernel takes at most 2 MiB of arguments and environment.
pub const LAUNCH_BYTES_MAX: usize = 4 << 20;
/// Everything but a launch is small.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Bytes of a frame before its body: length and kind.
pub const HEADER_BYTES: usize = 5;

/// A task to start, in full. Texts are bytes, since Unix knows no encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Where the program may be; without isolation only the first counts.
    pub programs: Vec<Vec<u8>>,
    pub argv: Vec<Vec<u8>>,
    pub env: Vec<Vec<u8>>,
    pub directory: Vec<u8>,
    pub isolation: Option<LaunchIsolation>,
    pub user: Option<LaunchUser>,
    pub oom_score_adj: Option<i32>,
    /// Names the task's cgroup; without one, descendants are found by parentage.
    pub cgroup: Option<LaunchCgroup>,
    pub state_directory: Vec<u8>,
    pub logs_directory: Vec<u8>,
    /// File names of the two logs, to which a dot and a number are added.
    pub stdout_name: String,
    pub stderr_name: String,
    pub log_limits: LogLimits,
}

/// A root of its own, with `/dev`, `/proc` and `/sys` added by the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchIsolation {
    pub root: Vec<u8>,
    pub mounts: Vec<LaunchMount>,
    pub private_pids: bool,
    pub private_ipc: bool,
    /// Sets of capabilities as bits: the most there can be, and what is held from the start.
    pub capabilities_most: u64,
    pub capabilities_held: u64,
}

/// A place of the host shown below the root, or with an empty source nothing shown in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchMount {
    pub source: Vec<u8>,
    /// Without a leading slash.
    pub target: Vec<u8>,
    pub read_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchUser {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCgroup {
    pub node_id: String,
    pub name: String,
    /// The group is there in the trees for limits too.
    pub has_limits: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Launch(Box<Launch>),
    /// In the version of whom it is said to.
    Attach {
        version: u32,
    },
    Signal {
        number: i32,
    },
    SetLogs(LogLimits),
    Kill,
}

/// A running task and its supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub supervisor_pid: u32,
    pub supervisor_start_ticks: u64,
    pub task_pid: u32,
    pub task_start_ticks: u64,
    pub boot_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Started(Running),
    /// The step is a number of `sandbox::SpawnStep`, or 0 for the supervisor's own preparations.
    StartFailed {
        step: u8,
        errno: i32,
        message: String,
    },
    Signalled {
        errno: i32,
    },
    LogsSet,
    Exited(ExitRecord),
}

/// The length of a whole frame by its first bytes; `None` while they are too few to tell.
pub fn frame_bytes(buffer: &[u8], bytes_max: usize) -> Result<Option<usize>, Malformed> {
    let Some(length) = buffer.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 || length > bytes_max {
        return Err(Malformed);
    }
    Ok(Some(length + 4))
}

fn frame(kind: u8, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u32(0);
    writer.u8(kind);
    body(&mut writer);
    let length = (writer.bytes.len() - 4) as u32;
    writer.bytes[..4].copy_from_slice(&length.to_le_bytes());
    writer.bytes
}

/// The parts of one whole frame.
fn parts(frame: &[u8]) -> Result<(u8, Reader<'_>), Malformed> {
    let mut reader = Reader::new(frame);
    if reader.u32()? as usize + 4 != frame.len() {
        return Err(Malformed);
    }
    Ok((reader.u8()?, reader))
}

fn version(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    let version = reader.u32()?;
    if (VERSION_MIN..=VERSION).contains(&version) { Ok(version) } else { Err(Malformed) }
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Launch(launch) => frame(1, |writer| {
                writer.u32(VERSION);
                launch.encode(writer);
            }),
            Self::Attach { version } => frame(2, |writer| writer.u32(*version)),
            Self::Signal { number } => frame(3, |writer| writer.i32(*number)),
            Self::SetLogs(limits) => frame(4, |writer| limits.encode(writer)),
            Self::Kill => frame(5, |_| {}),
        }
    }

    pub fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let (kind, mut reader) = parts(frame)?;
        let request = match kind {
            1 if reader.u32()? == VERSION => Self::Launch(Box::new(Launch::decode(&mut reader)?)),
            2 => Self::Attach { version: version(&mut reader)? },
            3 => Self::Signal { number: reader.i32()? },
            4 => Self::SetLogs(LogLimits::decode(&mut reader)?),
            5 => Self::Kill,
            _ => return Err(Malformed),
        };
        reader.end()?;
        Ok(request)
    }
}

impl Reply {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Started(running) => frame(65, |writer| {
                writer.u32(VERSION);
                writer.u32(running.supervisor_pid);
                writer.u64(running.supervisor_start_ticks);
                writer.u32(running.task_pid);
                writer.u64(running.task_start_ticks);
                writer.text(running.boot_id.as_bytes());
            }),
            Self::StartFailed { step, errno, message } => frame(66, |writer| {
                writer.u8(*step);
                writer.i32(*errno);
                writer.text(message.as_bytes());
            }),
            Self::Signalled { errno } => frame(67, |writer| writer.i32(*errno)),
            Self::LogsSet => frame(68, |_| {}),
            Self::Exited(record) => frame(69, |writer| record.encode(writer)),
        }
    }

    pub fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let (kind, mut reader) = parts(frame)?;
        if kind == 65 {
            version(&mut reader)?;
        }
        let reply = match kind {
            65 => Self::Started(Running {
                supervisor_pid: reader.u32()?,
                supervisor_start_ticks: reader.u64()?,
                task_pid: reader.u32()?,
                task_start_ticks: reader.u64()?,
                boot_id: reader.string()?,
            }),
            66 => Self::StartFailed {
                step: reader.u8()?,
                errno: reader.i32()?,
                message: reader.string()?,
            },
            67 => Self::Signalled { errno: reader.i32()? },
            68 => Self::LogsSet,
            69 => Self::Exited(ExitRecord::decode(&mut reader)?),
            _ => return Err(Malformed),
        };
        reader.end()?;
        Ok(reply)
    }
}

impl Launch {
    fn encode(&self, writer: &mut Writer) {
        writer.list(&self.programs, |writer, text| writer.text(text));
        writer.list(&self.argv, |writer, text| writer.text(text));
        writer.list(&self.env, |writer, text| writer.text(text));
        writer.text(&self.directory);
        writer.option(self.isolation.as_ref(), |writer, isolation| isolation.encode(writer));
        writer.option(self.user.as_ref(), |writer, user| {
            writer.u32(user.uid);
            writer.u32(user.gid);
            writer.list(&user.groups, |writer, group| writer.u32(*group));
        });
        writer.option(self.oom_score_adj.as_ref(), |writer, value| writer.i32(*value));
        writer.option(self.cgroup.as_ref(), |writer, cgroup| {
            writer.text(cgroup.node_id.as_bytes());
            writer.text(cgroup.name.as_bytes());
            writer.truth(cgroup.has_limits);
        });
        writer.text(&self.state_directory);
        writer.text(&self.logs_directory);
        writer.text(self.stdout_name.as_bytes());
        writer.text(self.stderr_name.as_bytes());
        self.log_limits.encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            programs: reader.list(Reader::text)?,
            argv: reader.list(Reader::text)?,
            env: reader.list(Reader::text)?,
            directory: reader.text()?,
            isolation: reader.option(LaunchIsolation::decode)?,
            user: reader.option(|reader| {
                Ok(LaunchUser {
                    uid: reader.u32()?,
                    gid: reader.u32()?,
                    groups: reader.list(Reader::u32)?,
                })
            })?,
            oom_score_adj: reader.option(Reader::i32)?,
            cgroup: reader.option(|reader| {
                Ok(LaunchCgroup {
                    node_id: reader.string()?,
                    name: reader.string()?,
                    has_limits: reader.truth()?,
                })
            })?,
            state_directory: reader.text()?,
            logs_directory: reader.text()?,
            stdout_name: reader.string()?,
            stderr_name: reader.string()?,
            log_limits: LogLimits::decode(reader)?,
        })
    }
}

impl LaunchIsolation {
    fn encode(&self, writer: &mut Writer) {
        writer.text(&self.root);
        writer.list(&self.mounts, |writer, mount| {
            writer.text(&mount.source);
            writer.text(&mount.target);
            writer.truth(mount.read_only);
        });
        writer.truth(self.private_pids);
        writer.truth(self.private_ipc);
        writer.u64(self.capabilities_most);
        writer.u64(self.capabilities_held);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            root: reader.text()?,
            mounts: reader.list(|reader| {
                Ok(LaunchMount {
                    source: reader.text()?,
                    target: reader.text()?,
                    read_only: reader.truth()?,
                })
            })?,
            private_pids: reader.truth()?,
            private_ipc: reader.truth()?,
            capabilities_most: reader.u64()?,
            capabilities_held: reader.u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Request {
        Request::Launch(Box::new(Launch {
            programs: vec![b"/bin/sh".to_vec(), b"/sh".to_vec()],
            argv: vec![b"sh".to_vec(), b"".to_vec()],
            env: vec![b"A=\xff".to_vec()],
            directory: b"/".to_vec(),
            isolation: Some(LaunchIsolation {
                root: b"/r".to_vec(),
                mounts: vec![LaunchMount {
                    source: b"/bin".to_vec(),
                    target: b"bin".to_vec(),
                    read_only: true,
                }],
                private_pids: true,
                private_ipc: false,
                capabilities_most: 3,
                capabilities_held: 1 << 40,
            }),
            user: Some(LaunchUser { uid: 1, gid: 2, groups: vec![3, 4] }),
            oom_score_adj: Some(-5),
            cgroup: Some(LaunchCgroup {
                node_id: "n".to_owned(),
                name: "t".to_owned(),
                has_limits: true,
            }),
            state_directory: b"/s".to_vec(),
            logs_directory: b"/l".to_vec(),
            stdout_name: "t.stdout".to_owned(),
            stderr_name: "t.stderr".to_owned(),
            log_limits: LogLimits { files_max: 2, file_bytes_max: 3 },
        }))
    }

    #[test]
    fn each_message_is_read_as_it_was_written_and_never_cut_short() {
        let limits = LogLimits { files_max: 1, file_bytes_max: 2 };
        let requests = [
            launch(),
            Request::Attach { version: 1 },
            Request::Attach { version: VERSION },
            Request::Signal { number: 15 },
            Request::SetLogs(limits),
            Request::Kill,
        ];
        for request in requests {
            let bytes = request.encode();
            assert_eq!(frame_bytes(&bytes, LAUNCH_BYTES_MAX), Ok(Some(bytes.len())));
            assert_eq!(Request::decode(&bytes), Ok(request));
            for cut in 0..bytes.len() {
                assert_eq!(Request::decode(&bytes[..cut]), Err(Malformed));
            }
        }
        let running = Running {
            supervisor_pid: 1,
            supervisor_start_ticks: 2,
            task_pid: 3,
            task_start_ticks: 4,
            boot_id: "b".to_owned(),
        };
        let failed = Reply::StartFailed { step: 1, errno: 2, message: "m".to_owned() };
        let exited = Reply::Exited(ExitRecord { signal: 9, ..Default::default() });
        for reply in
            [Reply::Started(running), failed, Reply::Signalled { errno: 3 }, Reply::LogsSet, exited]
        {
            let bytes = reply.encode();
            assert_eq!(Reply::decode(&bytes), Ok(reply));
        }
    }

    #[test]
    fn an_unknown_version_makes_no_sense() {
        for version in [0, VERSION + 1] {
            let bytes = Request::Attach { version }.encode();
            assert_eq!(Request::decode(&bytes), Err(Malformed));
        }
    }

    #[test]
    fn an_oversized_frame_is_refused_by_its_header() {
        assert_eq!(frame_bytes(&[255, 255, 255, 255], MESSAGE_BYTES_MAX), Err(Malformed));
        assert_eq!(frame_bytes(&[0, 0, 0, 0], MESSAGE_BYTES_MAX), Err(Malformed));
        assert_eq!(frame_bytes(&[1, 0], MESSAGE_BYTES_MAX), Ok(None));
    }
}
