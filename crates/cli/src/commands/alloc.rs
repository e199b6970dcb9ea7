//! Commands about allocations.

pub(crate) mod fs;
pub(crate) mod logs;
pub(crate) mod restart;
pub(crate) mod signal;
pub(crate) mod status;
pub(crate) mod stop;
mod tail;

use crate::failure::Failure;

/// The words of commands about the tasks of an allocation.
fn alloc_and_task(words: &[String]) -> Result<(&str, Option<&str>), Failure> {
    match words {
        [alloc] => Ok((alloc, None)),
        [alloc, task] => Ok((alloc, Some(task))),
        _ => Err(Failure::usage("This command takes one or two arguments: <allocation> [<task>]")),
    }
}
