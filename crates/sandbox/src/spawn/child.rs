//! What the child does between clone and exec. It shares the caller's memory, so it makes system
//! calls and nothing else: no allocation, no lock, no panic.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::fs::{FileType, Mode};

use super::mounts::{self, Failed};
use super::{Program, Spawn, SpawnStep};
use crate::cgroup::Placement;

/// Descriptors are first moved to numbers from here on, so that placing one does not overwrite
/// another that is still needed.
const PARKED_DESCRIPTOR_MIN: libc::c_int = 64;
/// More descriptors than this are never handed to a program.
const DESCRIPTORS_MAX: usize = 8;
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const EXECUTABLE: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);
/// Signals are numbered 1 to 64.
const SIGNAL_MAX: libc::c_int = 64;
/// The kernel's `sigaction` record with handler, flags and mask all zero.
static DEFAULT_ACTION: [u64; 4] = [0; 4];

/// Everything the child needs, laid out before the clone.
pub(super) struct Plan<'a> {
    spawn: &'a Spawn<'a>,
    argv: *mut *const libc::c_char,
    env: *const *const libc::c_char,
    oom_score: Option<&'a [u8]>,
    /// Tells whether the parent still lives, which a program with pids of its own cannot ask.
    parent: Option<OwnedFd>,
    /// Step and error number, zero while nothing has failed.
    failed_step: u8,
    failed_errno: libc::c_int,
    /// The mount that was the trouble, by its place.
    failed_mount: usize,
}

/// The first instruction of the child on its own stack.
pub(super) unsafe extern "C" fn enter(plan: *mut Plan<'_>) -> ! {
    // SAFETY: the parent passes a pointer to its `Plan`, which it does not touch while it sleeps.
    let plan = unsafe { &mut *plan };
    if let Err((step, errno)) = plan.run() {
        plan.failed_step = step as u8;
        plan.failed_errno = errno;
    }
    // SAFETY: ends only the child, without running the parent's exit handlers.
    unsafe { libc::_exit(127) }
}

type Outcome = Result<(), (SpawnStep, libc::c_int)>;

impl<'a> Plan<'a> {
    pub(super) fn new(
        spawn: &'a Spawn<'a>,
        argv: &'a mut [*const libc::c_char],
        env: &'a [*const libc::c_char],
        oom_score: Option<&'a [u8]>,
    ) -> Self {
        assert!(spawn.descriptors.len() <= DESCRIPTORS_MAX, "too many descriptors for one program");
        Self {
            spawn,
            argv: argv.as_mut_ptr(),
            env: env.as_ptr(),
            oom_score,
            parent: spawn.parent_death_signal.and_then(|_| {
                let own = rustix::process::getpid();
                rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty()).ok()
            }),
            failed_step: 0,
            failed_errno: 0,
            failed_mount: 0,
        }
    }

    /// What the child left behind before it ended.
    pub(super) fn failure(&self) -> Option<(SpawnStep, i32, usize)> {
        // The compiler must not assume the value it last wrote: the child writes it.
        // SAFETY: all are valid, aligned fields of `self`.
        let (step, errno, mount) = unsafe {
            (
                ptr::read_volatile(&self.failed_step),
                ptr::read_volatile(&self.failed_errno),
                ptr::read_volatile(&self.failed_mount),
            )
        };
        SpawnStep::from_number(step).map(|step| (step, errno, mount))
    }

    fn run(&mut self) -> Outcome {
        // SAFETY: `setsid`, `umask` take no pointers.
        unsafe {
            libc::setsid();
            libc::umask(self.spawn.umask as libc::mode_t);
        }
        reset_signal_handlers();
        self.place_descriptors()?;
        if let Some(placement) = self.spawn.placement {
            enter_cgroups(placement)?;
        }
        self.set_oom_score()?;
        self.isolate()?;
        let program = self.find_program()?;
        self.give_up_power()?;
        self.become_user()?;
        self.keep_power()?;
        self.follow_parent_death();
        self.change_directory()?;
        self.execute(program)
    }

    fn place_descriptors(&self) -> Outcome {
        let mut parked = [-1; DESCRIPTORS_MAX];
        for (slot, descriptor) in parked.iter_mut().zip(self.spawn.descriptors) {
            let raw = descriptor.as_raw_fd();
            // SAFETY: duplicates an open descriptor; no pointers.
            *slot = check(SpawnStep::Descriptors, unsafe {
                libc::fcntl(raw, libc::F_DUPFD_CLOEXEC, PARKED_DESCRIPTOR_MIN)
            })?;
        }
        let count = self.spawn.descriptors.len();
        for (number, raw) in parked.iter().take(count).enumerate() {
            // SAFETY: no pointers; the child has a descriptor table of its own.
            check(SpawnStep::Descriptors, unsafe { libc::dup2(*raw, number as libc::c_int) })?;
        }
        // Descriptors that somebody opened without close-on-exec must not leak into the program.
        // SAFETY: no pointers.
        check(SpawnStep::Descriptors, unsafe {
            libc::syscall(
                libc::SYS_close_range,
                count as libc::c_uint,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            ) as libc::c_int
        })?;
        Ok(())
    }

    fn set_oom_score(&self) -> Outcome {
        let Some(value) = self.oom_score else { return Ok(()) };
        // SAFETY: the path is a constant that ends with zero; the value's length is given.
        unsafe {
            let file =
                libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            check(SpawnStep::OomScore, file)?;
            let written = libc::write(file, value.as_ptr().cast(), value.len());
            check(SpawnStep::OomScore, written as libc::c_int)?;
        }
        Ok(())
    }

    fn isolate(&mut self) -> Outcome {
        let Some(isolation) = self.spawn.isolation else { return Ok(()) };
        mounts::enter(isolation).map_err(|failed| match failed {
            Failed::Root(error) => (SpawnStep::Root, error.raw_os_error()),
            Failed::Mount(place, error) => {
                self.failed_mount = place;
                (SpawnStep::Mount, error.raw_os_error())
            }
        })
    }

    /// While still root: a program may have arrived without the right to be executed.
    fn find_program(&self) -> Result<Program<'a>, (SpawnStep, libc::c_int)> {
        let Program::FirstOf(candidates) = self.spawn.program else {
            return Ok(self.spawn.program);
        };
        for candidate in candidates {
            let Ok(found) = rustix::fs::stat(candidate.as_c_str()) else { continue };
            if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
                continue;
            }
            let mode = Mode::from_raw_mode(found.st_mode);
            if !mode.contains(EXECUTABLE) {
                // Fails where nothing can be written; whether it can be executed shows soon.
                let _ = rustix::fs::chmod(candidate.as_c_str(), mode | EXECUTABLE);
            }
            // SAFETY: the array has at least the null pointer at its end, and where it has no more
            // than that there is no first argument to replace.
            unsafe {
                if !(*self.argv).is_null() {
                    *self.argv = candidate.as_ptr();
                }
            }
            return Ok(Program::Path(candidate));
        }
        Err((SpawnStep::FindProgram, libc::ENOENT))
    }

    /// What is beyond the limit cannot come back, by whatever is executed.
    fn give_up_power(&self) -> Outcome {
        let Some(power) = self.spawn.power else { return Ok(()) };
        for number in 0..64 {
            // SAFETY: no pointers. The kernel refuses numbers that it does not have.
            unsafe {
                let is_there = libc::prctl(libc::PR_CAPBSET_READ, number, 0, 0, 0) >= 0;
                if is_there && power.most.0 & (1 << number) == 0 {
                    let dropped = libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0);
                    check(SpawnStep::Capabilities, dropped)?;
                }
            }
        }
        if !power.held.is_empty() {
            // SAFETY: no pointers. The setting ends with the next exec.
            check(SpawnStep::Capabilities, unsafe {
                libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0)
            })?;
        }
        Ok(())
    }

    /// After the change of user, which takes everything that is not kept.
    fn keep_power(&self) -> Outcome {
        let Some(power) = self.spawn.power else { return Ok(()) };
        let is_root = self.spawn.user.is_none_or(|user| user.uid == 0);
        match is_root {
            // What root executes has all that is permitted, without inheriting it.
            true => set_capabilities(power.most.0, 0)?,
            false => set_capabilities(power.held.0, power.held.0)?,
        }
        if !is_root {
            for number in (0..64).filter(|number| power.held.0 & (1 << number) != 0) {
                // SAFETY: no pointers.
                check(SpawnStep::Capabilities, unsafe {
                    libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, number, 0, 0)
                })?;
            }
        }
        Ok(())
    }

    /// The C library's own functions would try to change all threads of the parent, hence the raw
    /// system calls.
    fn become_user(&self) -> Outcome {
        let Some(user) = self.spawn.user else { return Ok(()) };
        let (uid, gid) = (user.uid, user.gid);
        // SAFETY: the group list's true length is given; the other calls take no pointers.
        unsafe {
            let groups =
                libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr());
            check(SpawnStep::User, groups as libc::c_int)?;
            check(
                SpawnStep::User,
                libc::syscall(libc::SYS_setresgid, gid, gid, gid) as libc::c_int,
            )?;
            check(
                SpawnStep::User,
                libc::syscall(libc::SYS_setresuid, uid, uid, uid) as libc::c_int,
            )?;
        }
        Ok(())
    }

    /// After the change of user, which would clear the setting.
    fn follow_parent_death(&self) {
        let Some(signal) = self.spawn.parent_death_signal else { return };
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
        let Some(parent) = &self.parent else { return };
        let mut polled = libc::pollfd { fd: parent.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one record, which is what the count says. A parent that ended just before the
        // call above is noticed here.
        unsafe {
            if libc::poll(&mut polled, 1, 0) != 0 {
                libc::_exit(127);
            }
        }
    }

    fn change_directory(&self) -> Outcome {
        let Some(directory) = self.spawn.directory else { return Ok(()) };
        // SAFETY: the path ends with zero.
        check(SpawnStep::Directory, unsafe { libc::chdir(directory.as_ptr()) })?;
        Ok(())
    }

    fn execute(&self, program: Program<'_>) -> Outcome {
        // SAFETY: the set is initialised by `sigemptyset`; argv and env are arrays of strings that
        // end with zero, themselves ended by a null pointer, all owned by the sleeping parent.
        let code = unsafe {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            match program {
                // Was replaced by what was found.
                Program::FirstOf(_) => return Err((SpawnStep::Exec, libc::ENOENT)),
                Program::Path(path) => libc::execve(path.as_ptr(), self.argv, self.env),
                Program::Open(descriptor) => libc::syscall(
                    libc::SYS_execveat,
                    descriptor.as_raw_fd(),
                    c"".as_ptr(),
                    self.argv,
                    self.env,
                    libc::AT_EMPTY_PATH,
                ) as libc::c_int,
            }
        };
        check(SpawnStep::Exec, code).map(|_| ())
    }
}

/// Exec resets handlers, but what is ignored stays ignored: Rust ignores `SIGPIPE`, for one.
/// The table is the child's own, since it was cloned without `CLONE_SIGHAND`.
fn reset_signal_handlers() {
    for number in 1..=SIGNAL_MAX {
        // The raw call, since the C library keeps numbers 32 and 33 to itself.
        // SAFETY: the kernel's action is at most 32 bytes, and all-zero means the default; numbers
        // that may not be set are refused.
        unsafe {
            let no_action: *const u64 = ptr::null();
            libc::syscall(
                libc::SYS_rt_sigaction,
                number,
                (&raw const DEFAULT_ACTION).cast::<u64>(),
                no_action,
                size_of::<u64>(),
            );
        }
    }
}

fn set_capabilities(permitted: u64, inheritable: u64) -> Outcome {
    let header = [CAPABILITY_VERSION_3, 0];
    let data = [
        [permitted as u32, permitted as u32, inheritable as u32],
        [(permitted >> 32) as u32, (permitted >> 32) as u32, (inheritable >> 32) as u32],
    ];
    // SAFETY: header and data are laid out as version 3 of the call demands: version and pid, then
    // two records of effective, permitted and inheritable sets.
    let code = unsafe {
        libc::syscall(
            libc::SYS_capset,
            (&raw const header).cast::<u32>(),
            (&raw const data).cast::<u32>(),
        )
    };
    check(SpawnStep::Capabilities, code as libc::c_int).map(|_| ())
}

fn enter_cgroups(placement: &Placement) -> Outcome {
    for file in placement.member_files() {
        // SAFETY: writes one byte of a constant. "0" stands for the writing process.
        let written = unsafe { libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) };
        check(SpawnStep::Cgroup, written as libc::c_int)?;
    }
    Ok(())
}

fn check(step: SpawnStep, code: libc::c_int) -> Result<libc::c_int, (SpawnStep, libc::c_int)> {
    if code >= 0 {
        return Ok(code);
    }
    // SAFETY: reads the thread's error number; the parent thread, whose storage it is, sleeps.
    Err((step, unsafe { *libc::__errno_location() }))
}
