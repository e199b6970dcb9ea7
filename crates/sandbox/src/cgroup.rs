//! One handle for all control groups of one task, in every hierarchy the machine has.
//!
//! A machine offers the unified tree (v2), or per-controller trees (v1), or both ("hybrid": the
//! unified tree for membership and killing, v1 for limits). A task has a directory of the same
//! name, `muster/<node id>/<name>`, in each tree that is used; the node id keeps two agents on one
//! machine apart. The tree that decides who belongs to the task is the first: the unified one, or
//! the v1 freezer where there is none.

mod claim;
mod kill;
mod limits;
mod naming;
mod sweep;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use claim::{NodeClaim, sweep_dead_nodes};
pub use limits::Limits;
pub use naming::directory_name;
pub use sweep::{SweepReport, sweep};

use crate::identity::{is_gone, wait_ready};

/// The directory of all agents in each tree.
const PARENT: &str = "muster";
/// The group of a node's supervisors, beside those of the tasks.
pub const SUPERVISORS: &str = "supervisors";
/// How long a directory may stay busy after its last process ended.
const REMOVE_LIMIT: Duration = Duration::from_secs(2);
/// Attempts to create a directory whose parents come and go.
const CREATE_ATTEMPTS_MAX: u32 = 32;
const REMOVE_PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    #[error("no cgroup hierarchy is mounted and writable")]
    NoHierarchy,
    #[error("cannot {attempt} cgroup {path}")]
    Io { attempt: &'static str, path: PathBuf, source: io::Error },
    #[error("processes of cgroup {path} are still alive after {waited:?}")]
    StillAlive { path: PathBuf, waited: Duration },
}

fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CgroupError {
    let path = path.to_owned();
    move |source| CgroupError::Io { attempt, path, source }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unified,
    Freezer,
    Cpu,
    Memory,
    Pids,
}

/// The trees of this machine that are used, the deciding one first.
#[derive(Debug, Clone)]
pub struct Hierarchies {
    trees: Vec<(Kind, PathBuf)>,
    /// The unified tree has all controllers, as on a machine without v1.
    pure: bool,
}

impl Hierarchies {
    /// Looks at the usual places.
    pub fn detect() -> Self {
        Self::below(Path::new("/sys/fs/cgroup"), true)
    }

    /// `unified: false` leaves the v2 tree out, as on a machine that has none.
    pub fn below(root: &Path, unified: bool) -> Self {
        let mut trees = Vec::new();
        let pure = root.join("cgroup.controllers").exists();
        let unified_root = if pure { root.to_owned() } else { root.join("unified") };
        if unified && is_writable_tree(&unified_root) {
            trees.push((Kind::Unified, unified_root));
        } else if is_writable_tree(&root.join("freezer")) {
            trees.push((Kind::Freezer, root.join("freezer")));
        }
        if !pure && !trees.is_empty() {
            let v1 = [(Kind::Cpu, "cpu"), (Kind::Memory, "memory"), (Kind::Pids, "pids")];
            let v1 = v1.map(|(kind, name)| (kind, root.join(name)));
            trees.extend(v1.into_iter().filter(|(_, root)| is_writable_tree(root)));
        }
        Self { trees, pure }
    }

    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// The deciding tree alone, for groups that hold processes together and limit nothing.
    pub fn membership_only(&self) -> Self {
        Self { trees: self.trees.iter().take(1).cloned().collect(), pure: self.pure }
    }

    /// Without the trees that are for limits alone, for groups that have none: each directory costs
    /// time at start and end, and memory in the kernel.
    pub fn without_limits(&self) -> Self {
        let is_for_limits = |kind: &Kind| matches!(kind, Kind::Memory | Kind::Pids);
        let trees = self.trees.iter().filter(|(kind, _)| !is_for_limits(kind));
        Self { trees: trees.cloned().collect(), pure: self.pure }
    }

    /// Whether a node has groups: while its agent lives, and longer while tasks do.
    pub fn knows(&self, node_id: &str) -> bool {
        self.node_directories(node_id).any(|(_, path)| path.exists())
    }

    fn node_directories(&self, node_id: &str) -> impl Iterator<Item = (Kind, PathBuf)> {
        let node = naming::directory_name(node_id);
        self.trees.iter().map(move |(kind, root)| (*kind, root.join(PARENT).join(&node)))
    }
}

/// The groups of one name. The value is a name, not the owner: who created the groups removes them
/// with [`Cgroup::kill_all`] and [`Cgroup::remove`], in this or a later process; [`sweep`] removes
/// those whose owner was lost.
#[derive(Debug, Clone)]
pub struct Cgroup {
    directories: Vec<(Kind, PathBuf)>,
    /// The first directory has files of all controllers.
    has_controllers: bool,
}

/// Figures of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CgroupStats {
    pub cpu_nanos: u64,
    /// The part of it that the kernel used for the processes; 0 where it is not told apart.
    pub cpu_system_nanos: u64,
    pub memory_bytes: u64,
    pub swap_bytes: u64,
    pub processes: u64,
}

impl Cgroup {
    /// Creates the directories; those that exist already are taken over with what is in them.
    pub fn create(on: &Hierarchies, node_id: &str, name: &str) -> Result<Self, CgroupError> {
        if on.is_empty() {
            return Err(CgroupError::NoHierarchy);
        }
        let group = Self::named(on, node_id, name);
        for (_, path) in &group.directories {
            create_directory(path).map_err(failed("create", path))?;
        }
        if let Some(((_, path), (_, root))) = group.directories.first().zip(on.trees.first())
            && on.pure
        {
            limits::pass_on_controllers(root, path);
        }
        Ok(group)
    }

    /// The group by its name, whether or not its directories exist.
    pub fn named(on: &Hierarchies, node_id: &str, name: &str) -> Self {
        let name = naming::directory_name(name);
        let directories =
            on.node_directories(node_id).map(|(kind, path)| (kind, path.join(&name))).collect();
        Self { directories, has_controllers: on.pure }
    }

    /// The share of the processor when it is contended, in v1's unit (1024 is one share), as far
    /// as the machine has a controller for it.
    pub fn set_cpu_shares(&self, shares: u64) -> Result<(), CgroupError> {
        for (kind, path) in &self.directories {
            let (file, value) = match kind {
                Kind::Cpu => ("cpu.shares", shares.clamp(2, 262_144)),
                Kind::Unified => ("cpu.weight", weight_of_shares(shares)),
                Kind::Freezer | Kind::Memory | Kind::Pids => continue,
            };
            match write(&path.join(file), &value.to_string()) {
                Err(error) if is_gone(&error) || is_denied(&error) => {}
                other => other.map_err(failed("set the processor share of", path))?,
            }
        }
        Ok(())
    }

    /// Opens what a new process needs to be started inside.
    pub fn placement(&self) -> Result<Placement, CgroupError> {
        let mut placement = Placement { unified: None, member_files: Vec::new() };
        for (kind, path) in &self.directories {
            if *kind == Kind::Unified {
                let directory = File::open(path).map_err(failed("open", path))?;
                placement.unified = Some(directory.into());
            } else {
                let file = path.join("cgroup.procs");
                let file = OpenOptions::new().write(true).open(file);
                placement.member_files.push(file.map_err(failed("open", path))?.into());
            }
        }
        Ok(placement)
    }

    /// The processes in the deciding tree; none when the group does not exist.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        self.directories.first().map_or(Ok(Vec::new()), |(_, path)| pids_in(path))
    }

    /// Processor time and resident memory of all processes.
    pub fn stats(&self) -> io::Result<CgroupStats> {
        let Some((kind, path)) = self.directories.first() else {
            return Ok(CgroupStats::default());
        };
        let pids = pids_in(path)?;
        let memory_bytes = match self.counted_memory() {
            Some(bytes) => bytes,
            None => pids.iter().map(|pid| resident_bytes(*pid)).sum(),
        };
        let (cpu_nanos, cpu_system_nanos) = match kind {
            Kind::Unified => {
                let text = fs::read_to_string(path.join("cpu.stat"))?;
                let nanos = |name| field(&text, name).unwrap_or(0) * 1000;
                (nanos("usage_usec"), nanos("system_usec"))
            }
            _ => (pids.iter().map(|pid| cpu_nanos_of(*pid)).sum(), 0),
        };
        let swap_bytes =
            self.counted_swap().unwrap_or_else(|| pids.iter().map(|pid| swapped_bytes(*pid)).sum());
        let processes = pids.len() as u64;
        Ok(CgroupStats { cpu_nanos, cpu_system_nanos, memory_bytes, swap_bytes, processes })
    }

    /// Swapped memory as the kernel counts it for the group, like [`Self::counted_memory`].
    fn counted_swap(&self) -> Option<u64> {
        self.directories.iter().find_map(|(kind, path)| match kind {
            Kind::Unified => {
                fs::read_to_string(path.join("memory.swap.current")).ok()?.trim().parse().ok()
            }
            Kind::Memory => {
                field(&fs::read_to_string(path.join("memory.stat")).ok()?, "total_swap ")
            }
            _ => None,
        })
    }

    /// Memory as the kernel counts it for the group; none where it does not, or no longer.
    fn counted_memory(&self) -> Option<u64> {
        self.directories.iter().find_map(|(kind, path)| match kind {
            Kind::Unified => {
                fs::read_to_string(path.join("memory.current")).ok()?.trim().parse().ok()
            }
            Kind::Memory => {
                field(&fs::read_to_string(path.join("memory.stat")).ok()?, "total_rss ")
            }
            _ => None,
        })
    }

    /// Whether the kernel has killed a process of this group for want of memory.
    pub fn oom_killed(&self) -> bool {
        self.directories.iter().any(|(kind, path)| {
            let file = match kind {
                Kind::Unified => "memory.events",
                Kind::Memory => "memory.oom_control",
                _ => return false,
            };
            // With the space: another field of the older file begins alike.
            fs::read_to_string(path.join(file))
                .is_ok_and(|text| field(&text, "oom_kill ").is_some_and(|count| count > 0))
        })
    }

    /// Ends every process of the group and waits until they are gone.
    pub fn kill_all(&self, limit: Duration) -> Result<(), CgroupError> {
        self.directories.iter().try_for_each(|(kind, path)| kill::kill_all(*kind, path, limit))
    }

    /// Removes the directories; they must be empty of processes. Absent ones are fine.
    pub fn remove(&self) -> Result<(), CgroupError> {
        self.directories.iter().try_for_each(|(_, path)| remove_tree(path))
    }

    pub fn exists(&self) -> bool {
        self.directories.iter().any(|(_, path)| path.exists())
    }
}

/// Open files through which a process is started inside a group.
#[derive(Debug)]
pub struct Placement {
    unified: Option<OwnedFd>,
    member_files: Vec<OwnedFd>,
}

impl Placement {
    pub(crate) fn unified(&self) -> Option<BorrowedFd<'_>> {
        self.unified.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn member_files(&self) -> &[OwnedFd] {
        &self.member_files
    }
}

/// Containers often show the trees read-only.
fn is_writable_tree(root: &Path) -> bool {
    root.join("cgroup.procs").exists()
        && rustix::fs::access(root, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Another agent that leaves may remove the common parent between two steps, hence the attempts.
fn create_directory(path: &Path) -> io::Result<()> {
    let mut attempts = 0;
    loop {
        let created = match attempts {
            0 => fs::create_dir(path),
            _ => fs::create_dir_all(path),
        };
        attempts += 1;
        match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) if is_gone(&error) && attempts < CREATE_ATTEMPTS_MAX => {}
            other => return other,
        }
    }
}

/// Removes a group with the groups that its processes may have made below it.
fn remove_tree(path: &Path) -> Result<(), CgroupError> {
    let mut pauses: u128 = 0;
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                for below in subdirectories(path).map_err(failed("list", path))? {
                    remove_tree(&path.join(below))?;
                }
                if pauses * REMOVE_PAUSE.as_millis() >= REMOVE_LIMIT.as_millis() {
                    return Err(failed("remove", path)(error));
                }
                // An ended process counts until it is reaped, which no descriptor tells in v1.
                if pauses > 0 {
                    std::thread::sleep(REMOVE_PAUSE);
                }
                pauses += 1;
            }
            Err(error) => return Err(failed("remove", path)(error)),
        }
    }
}

fn subdirectories(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn pids_in(path: &Path) -> io::Result<Vec<u32>> {
    match fs::read_to_string(path.join("cgroup.procs")) {
        Ok(text) => Ok(text.lines().filter_map(|line| line.parse().ok()).collect()),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    use io::Write;
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn resident_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * page_bytes()
}

fn swapped_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmSwap:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

fn page_bytes() -> u64 {
    // SAFETY: `sysconf` takes no pointers and is safe from any thread.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

fn cpu_nanos_of(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
}

/// The kernel's own mapping between the two scales: 2..262144 onto 1..10000.
fn weight_of_shares(shares: u64) -> u64 {
    1 + (shares.clamp(2, 262_144) - 2) * 9_999 / 262_142
}

fn wait_unpopulated(path: &Path, limit: Duration) -> io::Result<bool> {
    use std::time::Instant;
    let deadline = Instant::now() + limit;
    let events = match File::open(path.join("cgroup.events")) {
        Err(error) if is_gone(&error) => return Ok(true),
        other => other?,
    };
    loop {
        // Each read arms the notice of the next change.
        let mut buffer = [0; 128];
        let length = match rustix::io::pread(&events, &mut buffer, 0) {
            Err(rustix::io::Errno::NODEV) => return Ok(true),
            other => other?,
        };
        let text = String::from_utf8_lossy(&buffer[..length]);
        if field(&text, "populated") == Some(0) {
            return Ok(true);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        wait_ready(events.as_fd(), rustix::event::PollFlags::PRI, left)?;
    }
}
