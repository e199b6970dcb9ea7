//! Notice of ended children as a descriptor, for a program that waits in `poll` and has no handler.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable whenever a child has ended since the last [`ChildEvents::clear`].
#[derive(Debug)]
pub struct ChildEvents {
    signalfd: OwnedFd,
}

impl ChildEvents {
    /// Blocks `SIGCHLD` for the calling thread and takes it as a descriptor instead.
    /// To be called before other threads exist; [`crate::Spawn`] clears the mask for what it starts.
    pub fn take() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set it is given; the later calls only read it.
        // `signalfd` returns a new descriptor that nobody else owns.
        let raw = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `raw` was just returned by `signalfd` and is owned by nobody else.
        Ok(Self { signalfd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Takes all pending notices.
    pub fn clear(&self) {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        loop {
            // SAFETY: the buffer is as large as the size given, and its contents are not read.
            let got =
                unsafe { libc::read(self.signalfd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
            if got <= 0 {
                return;
            }
        }
    }
}

impl AsFd for ChildEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signalfd.as_fd()
    }
}
