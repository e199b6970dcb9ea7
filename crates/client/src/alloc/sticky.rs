//! Takes the data of the earlier allocation of a slot along, where the group asks for it.

use std::io;
use std::path::Path;

use model::job::TaskGroup;

use crate::alloc::directory::AllocDir;

/// Moves `alloc/data` and each task's `local`. Both are on one file system, so that nothing is
/// copied. What is not there is not missed.
pub(crate) fn move_data(from: &AllocDir, to: &AllocDir, group: &TaskGroup) -> io::Result<()> {
    for task in group.tasks.iter() {
        to.build(&task.name)?;
    }
    move_over(&from.shared().join("data"), &to.shared().join("data"))?;
    for task in group.tasks.iter() {
        let local = |directory: &AllocDir| directory.task(&task.name).join("local");
        move_over(&local(from), &local(to))?;
    }
    Ok(())
}

/// Puts a directory in the place of an empty one.
fn move_over(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
