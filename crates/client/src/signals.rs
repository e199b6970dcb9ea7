//! Signals by name.

/// The signals a job or an operator may name, with their numbers on x86_64 and aarch64.
pub(crate) const SIGNALS: [(&str, i32); 31] = [
    ("SIGABRT", 6),
    ("SIGALRM", 14),
    ("SIGBUS", 7),
    ("SIGCHLD", 17),
    ("SIGCONT", 18),
    ("SIGFPE", 8),
    ("SIGHUP", 1),
    ("SIGILL", 4),
    ("SIGINT", 2),
    ("SIGIO", 29),
    ("SIGIOT", 6),
    ("SIGKILL", 9),
    ("SIGPIPE", 13),
    ("SIGPROF", 27),
    ("SIGQUIT", 3),
    ("SIGSEGV", 11),
    ("SIGSTOP", 19),
    ("SIGSYS", 31),
    ("SIGTERM", 15),
    ("SIGTRAP", 5),
    ("SIGTSTP", 20),
    ("SIGTTIN", 21),
    ("SIGTTOU", 22),
    ("SIGURG", 23),
    ("SIGUSR1", 10),
    ("SIGUSR2", 12),
    ("SIGVTALRM", 26),
    ("SIGWINCH", 28),
    ("SIGXCPU", 24),
    ("SIGXFSZ", 25),
    ("SIGPWR", 30),
];

/// What a task is told to end with when it names nothing.
pub(crate) const DEFAULT_KILL: i32 = 2;

/// The number of a signal; names may be lower case.
pub(crate) fn number(name: &str) -> Option<i32> {
    let found = SIGNALS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, number)| *number)
}

/// The names, as the attribute `os.signals` lists them.
pub(crate) fn names() -> String {
    let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
    names.join(",")
}
