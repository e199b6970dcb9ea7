//! The binary: an agent when it is called as one, the command line otherwise.

use std::ffi::OsString;
use std::process::ExitCode;

mod commands;
mod logging;
mod run;
mod settings;

/// The level of API compatibility that job constraints and clients read.
pub(crate) const NOMAD_VERSION: &str = "1.11.3";
/// Muster's own version.
pub(crate) const MUSTER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Threads that may wait for the disk or decide plans at a time; more only cost memory.
const BLOCKING_THREADS_MAX: usize = 32;
/// Threads that drive connections and tasks, at most.
const WORKER_THREADS_MAX: usize = 4;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let is_agent = args.get(1).is_some_and(|word| word == "agent");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = if is_agent {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .worker_threads(cpus.min(WORKER_THREADS_MAX))
            .max_blocking_threads(BLOCKING_THREADS_MAX);
        builder
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            report(&format!("cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        if is_agent { commands::agent::run(args).await } else { cli::run(args).await }
    });
    // What still waits for the disk has been told to end; nobody waits for it here.
    runtime.shutdown_background();
    code
}

/// Says something on the standard error, whatever the logs do.
#[expect(clippy::print_stderr, reason = "the last word of a program that cannot log")]
pub(crate) fn report(text: &str) {
    eprintln!("{text}");
}
