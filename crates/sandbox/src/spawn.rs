//! Starts a program without copying the caller: `clone3` with the memory shared and the calling
//! thread asleep until the program runs, as `vfork` does.
//!
//! A plain `fork` of an agent with a gigabyte of heap manages some twenty starts a second, since
//! the page tables are copied; this way the size of the caller does not matter.
//! Everything the child needs is laid out beforehand: between the two programs it may neither
//! allocate nor take a lock.

mod child;
mod mounts;

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::capabilities::Capabilities;
use crate::cgroup::Placement;
use crate::isolation::Isolation;

use child::Plan;
pub(crate) use mounts::set_attributes_of_nothing as set_mount_attributes_of_nothing;

/// Bytes of stack for the short time between clone and exec. The child calls nothing that recurses
/// and holds no buffers, in a debug build it needs about 2 KiB.
const CHILD_STACK_BYTES: usize = 64 * 1024;
/// Too large for the C library's signed constants.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What to execute.
#[derive(Debug, Clone, Copy)]
pub enum Program<'a> {
    Path(&'a CStr),
    /// The first of these that is a file, looked for below the program's own root. It is made
    /// executable if it is not, and its path becomes the first argument.
    FirstOf(&'a [CString]),
    /// An open program, such as one from [`crate::sealed_program`].
    Open(BorrowedFd<'a>),
}

/// One program start, complete. The new process has a session of its own, no signal blocked or
/// ignored, and no open descriptor but the listed ones.
#[derive(Debug)]
pub struct Spawn<'a> {
    pub program: Program<'a>,
    pub argv: &'a [CString],
    pub env: &'a [CString],
    /// Become descriptors 0, 1, 2 and so on of the program, in this order.
    pub descriptors: &'a [BorrowedFd<'a>],
    pub directory: Option<&'a CStr>,
    /// A root and namespaces of its own. Paths of program and directory are then below that root.
    pub isolation: Option<&'a Isolation>,
    pub user: Option<Credentials<'a>>,
    pub power: Option<Power>,
    pub umask: u32,
    pub oom_score_adj: Option<i32>,
    /// Sent to the program when the thread that started it ends.
    pub parent_death_signal: Option<i32>,
    pub placement: Option<&'a Placement>,
}

/// The user and groups a program runs as.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    pub uid: u32,
    pub gid: u32,
    pub groups: &'a [u32],
}

/// What a program may do beyond its user's own rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power {
    /// The most it and what it executes can ever have.
    pub most: Capabilities,
    /// What a program of another user than root has from the start; no more than `most`.
    pub held: Capabilities,
}

/// The step at which a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SpawnStep {
    Clone = 1,
    Descriptors = 2,
    Cgroup = 3,
    OomScore = 4,
    User = 5,
    Directory = 6,
    Exec = 7,
    Root = 8,
    Mount = 9,
    FindProgram = 10,
    Capabilities = 11,
}

impl SpawnStep {
    pub fn from_number(number: u8) -> Option<Self> {
        [
            Self::Clone,
            Self::Descriptors,
            Self::Cgroup,
            Self::OomScore,
            Self::User,
            Self::Directory,
            Self::Exec,
            Self::Root,
            Self::Mount,
            Self::FindProgram,
            Self::Capabilities,
        ]
        .into_iter()
        .find(|step| *step as u8 == number)
    }

    /// What was attempted, to stand after "cannot".
    pub fn attempt(self) -> &'static str {
        match self {
            Self::Clone => "create the process",
            Self::Descriptors => "arrange its descriptors",
            Self::Cgroup => "enter its cgroup",
            Self::OomScore => "set oom_score_adj",
            Self::User => "change to its user",
            Self::Directory => "enter its working directory",
            Self::Exec => "execute the program",
            Self::Root => "enter its root directory",
            Self::Mount => "mount",
            Self::FindProgram => "find the program",
            Self::Capabilities => "limit its capabilities",
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot {}{}", step.attempt(), subject.as_deref().unwrap_or_default())]
pub struct SpawnError {
    pub step: SpawnStep,
    /// What the step was about, where there are several; begins with a space.
    pub subject: Option<String>,
    #[source]
    pub source: io::Error,
}

/// A started program; dropping this neither ends nor reaps it.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    pidfd: OwnedFd,
}

impl Child {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn into_pidfd(self) -> OwnedFd {
        self.pidfd
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Spawn<'_> {
    /// Returns once the program runs, or says at which step it failed; a child that failed is
    /// already gone and reaped.
    pub fn start(&self) -> Result<Child, SpawnError> {
        let mut argv = pointers(self.argv);
        let env = pointers(self.env);
        let oom_score = self.oom_score_adj.map(|value| value.to_string().into_bytes());
        let mut plan = Plan::new(self, &mut argv, &env, oom_score.as_deref());
        let cloned = clone_like_vfork(&mut plan, self);
        let (pid, pidfd) = cloned.map_err(|source| SpawnError {
            step: SpawnStep::Clone,
            subject: None,
            source,
        })?;
        let child = Child { pid, pidfd };
        match plan.failure() {
            None => Ok(child),
            Some((step, errno, mount)) => {
                reap(&child);
                let subject = self.isolation.filter(|_| step == SpawnStep::Mount);
                let subject = subject.and_then(|isolation| isolation.mounts.get(mount));
                let subject = subject.map(|mount| format!(" /{}", mount.describe()));
                Err(SpawnError { step, subject, source: io::Error::from_raw_os_error(errno) })
            }
        }
    }
}

/// The child has already called `_exit`, so this does not block for long.
fn reap(child: &Child) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED)
    {}
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn clone_like_vfork(plan: &mut Plan<'_>, spawn: &Spawn<'_>) -> io::Result<(u32, OwnedFd)> {
    let stack = Vec::<u8>::with_capacity(CHILD_STACK_BYTES);
    let mut pidfd: libc::c_int = -1;
    let mut flags = (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD) as u64;
    if let Some(isolation) = spawn.isolation {
        let wanted = [
            (true, libc::CLONE_NEWNS),
            (isolation.private_pids, libc::CLONE_NEWPID),
            (isolation.private_ipc, libc::CLONE_NEWIPC),
        ];
        let wanted = wanted.iter().filter(|(wanted, _)| *wanted);
        flags = wanted.fold(flags, |flags, (_, flag)| flags | *flag as u64);
    }
    let mut cgroup = 0;
    if let Some(directory) = spawn.placement.and_then(Placement::unified) {
        flags |= CLONE_INTO_CGROUP;
        cgroup = directory.as_raw_fd() as u64;
    }
    let stack_start = (stack.as_ptr() as usize).next_multiple_of(16);
    let stack_end = (stack.as_ptr() as usize + CHILD_STACK_BYTES) & !15;
    // SAFETY: an all-zero `clone_args` is valid: zero means "not used" for each of its fields.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags;
    args.pidfd = (&raw mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    args.stack = stack_start as u64;
    args.stack_size = (stack_end - stack_start) as u64;
    args.cgroup = cgroup;

    // A handler of the caller must not run in the child, where it would touch shared memory.
    let blocked = BlockedSignals::all();
    // SAFETY: `args` describes a stack that nobody else uses and that lives until this function
    // returns; with CLONE_VFORK this thread sleeps until the child has left that stack for good by
    // exec or exit. `Plan::run` never returns, allocates nothing, takes no lock, and only reads
    // memory that outlives the call and writes into `plan`.
    let result = unsafe { raw_clone3(&args, plan) };
    drop(blocked);
    drop(stack);
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result as i32));
    }
    // SAFETY: on success the kernel has stored a new descriptor that nobody else owns.
    Ok((result as u32, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Calls `clone3` and, in the child, continues in [`Plan::run`] on the new stack.
/// The child never returns through this function, so the compiler need not know of it.
///
/// # Safety
/// See the one call.
#[cfg(target_arch = "x86_64")]
unsafe fn raw_clone3(args: &libc::clone_args, plan: *mut Plan<'_>) -> isize {
    let result: isize;
    // SAFETY: registers the system call clobbers are declared; the parent falls through to the
    // label with its stack untouched, the child calls away on its own stack, aligned to 16 bytes
    // as the C calling convention demands before a call.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") args,
            in("rsi") size_of::<libc::clone_args>(),
            in("r12") plan,
            in("r13") child::enter as *const () as usize,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// # Safety
/// See the one call.
#[cfg(target_arch = "aarch64")]
unsafe fn raw_clone3(args: &libc::clone_args, plan: *mut Plan<'_>) -> isize {
    let result: isize;
    // SAFETY: as above; the kernel preserves all registers but x0.
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone3,
            inlateout("x0") args as *const libc::clone_args as isize => result,
            in("x1") size_of::<libc::clone_args>(),
            in("x20") plan,
            in("x21") child::enter as *const () as usize,
        );
    }
    result
}

/// All signals blocked for this thread until dropped.
struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn all() -> Self {
        // SAFETY: the sets are initialised by `sigfillset` and by the kernel before they are read;
        // an all-zero set is a valid value to start from.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Self { before }
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: restores the mask that `all` has read from this same thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}
