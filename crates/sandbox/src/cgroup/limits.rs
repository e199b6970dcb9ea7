//! What a group may use, written to whichever files the machine's trees have for it.

use std::io;
use std::path::Path;

use super::{Cgroup, CgroupError, Hierarchies, Kind, failed, is_denied, write};
use crate::identity::is_gone;

/// Controllers without which limits cannot be kept.
const NEEDED: [(&str, Kind); 3] =
    [("cpu", Kind::Cpu), ("memory", Kind::Memory), ("pids", Kind::Pids)];

/// The limits of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// What the group is meant to use. Above this its memory is the first to be taken back.
    pub memory_bytes: u64,
    /// What it cannot go beyond: then one of its processes is killed. None for no limit.
    pub memory_bytes_max: Option<u64>,
    /// Processes and threads.
    pub processes_max: u64,
}

impl Hierarchies {
    /// The controllers that limits need and this machine does not offer.
    pub fn missing_controllers(&self) -> Vec<&'static str> {
        let unified = self.trees.iter().find(|(kind, _)| *kind == Kind::Unified);
        let offered = unified
            .and_then(|(_, root)| std::fs::read_to_string(root.join("cgroup.controllers")).ok())
            .unwrap_or_default();
        let is_offered = |(name, kind): &(&str, Kind)| {
            offered.split_ascii_whitespace().any(|word| word == *name)
                || self.trees.iter().any(|(tree, _)| tree == kind)
        };
        NEEDED.iter().filter(|needed| !is_offered(needed)).map(|(name, _)| *name).collect()
    }
}

impl Cgroup {
    /// To be set before the first process enters.
    pub fn set_limits(&self, limits: &Limits) -> Result<(), CgroupError> {
        let max = limits.memory_bytes_max.map(|bytes| bytes.max(limits.memory_bytes));
        for (kind, path) in &self.directories {
            let result = match kind {
                Kind::Memory => memory_v1(path, limits.memory_bytes, max),
                Kind::Pids => write(&path.join("pids.max"), &limits.processes_max.to_string()),
                Kind::Unified if self.has_controllers => unified(path, limits, max),
                _ => Ok(()),
            };
            result.map_err(failed("limit", path))?;
        }
        Ok(())
    }
}

fn memory_v1(path: &Path, soft: u64, max: Option<u64>) -> io::Result<()> {
    write(&path.join("memory.soft_limit_in_bytes"), &soft.to_string())?;
    let max = max.map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string());
    write(&path.join("memory.limit_in_bytes"), &max)?;
    // Where swap is counted, none is to be had: a limit that moves memory to disk is none.
    optional(write(&path.join("memory.memsw.limit_in_bytes"), &max))
}

fn unified(path: &Path, limits: &Limits, max: Option<u64>) -> io::Result<()> {
    let text = max.map_or_else(|| "max".to_owned(), |bytes| bytes.to_string());
    write(&path.join("memory.low"), &limits.memory_bytes.to_string())?;
    write(&path.join("memory.max"), &text)?;
    optional(write(&path.join("memory.swap.max"), "0"))?;
    write(&path.join("pids.max"), &limits.processes_max.to_string())
}

/// For files that depend on how the kernel was built and started.
fn optional(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if is_gone(&error) || is_denied(&error) => Ok(()),
        other => other,
    }
}

/// Makes the controllers usable in `path`, as far as the machine has them: each directory above it
/// passes them on.
pub(super) fn pass_on_controllers(root: &Path, path: &Path) {
    let mut above: Vec<&Path> =
        path.ancestors().skip(1).take_while(|at| at.starts_with(root)).collect();
    above.reverse();
    for directory in above {
        for (name, _) in NEEDED {
            // What is missing shows when a limit is written.
            let _ = write(&directory.join("cgroup.subtree_control"), &format!("+{name}"));
        }
    }
}
