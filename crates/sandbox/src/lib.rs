//! Linux isolation: processes, cgroups, users, locks.
//!
//! Purpose: start, name, signal and end processes of the host such that none is ever confused with
//! another and none stays behind.
//! Entry points: [`Spawn`] starts a program, [`ProcessId`] names a process across restarts of the
//! agent, [`Cgroup`] holds all processes of one task, [`Isolation`] gives a program a root of its
//! own, [`sweep`] removes what belongs to nobody.
//! Never: this crate knows no task, job or driver, runs no thread of its own and does not log.
//! It is the only crate with `unsafe`; each block says why it is sound.
//! Limits: Linux 5.7 and later (`clone3` with `CLONE_INTO_CGROUP`), for isolation 5.12 and later
//! (`mount_setattr`), x86_64 and aarch64.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod capabilities;
pub mod cgroup;
mod identity;
pub mod isolation;
mod lock;
mod memfd;
mod memory_dir;
mod signals;
mod spawn;
mod user;

pub use capabilities::Capabilities;
pub use cgroup::{
    Cgroup, CgroupError, CgroupStats, Hierarchies, Limits, Placement, SweepReport, sweep,
};
pub use identity::{Process, ProcessId, boot_id};
pub use isolation::{Isolation, Mount};
pub use lock::{DirLock, LockError};
pub use memfd::sealed_program;
pub use memory_dir::{MemoryDir, remove_memory_dir, sweep_memory_dirs};
pub use signals::ChildEvents;
pub use spawn::{Child, Credentials, Power, Program, Spawn, SpawnError, SpawnStep};
pub use user::{User, UserError, lookup_user};
