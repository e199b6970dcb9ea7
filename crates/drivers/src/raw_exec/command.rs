//! Finds the program of a task.

use std::fs;
use std::path::{Path, PathBuf};

/// Where programs are looked for when the task has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An absolute path is taken as it is; otherwise the task's `local` folder, the task's folder and,
/// for a bare name, the search path are asked in this order.
pub(super) fn resolve(command: &str, task_dir: &Path, path: Option<&str>) -> Option<PathBuf> {
    let given = Path::new(command);
    if command.is_empty() {
        return None;
    }
    if given.is_absolute() {
        return is_file(given).then(|| given.to_owned());
    }
    let in_task = [task_dir.join("local").join(given), task_dir.join(given)];
    let searched = path.unwrap_or(DEFAULT_PATH).split(':').filter(|_| !command.contains('/'));
    in_task
        .into_iter()
        .chain(
            searched
                .filter(|folder| !folder.is_empty())
                .map(|folder| Path::new(folder).join(given)),
        )
        .find(|candidate| is_file(candidate))
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_own_program_comes_before_the_hosts() {
        let directory = tempfile::tempdir().unwrap();
        let task = directory.path();
        assert_eq!(resolve("sh", task, Some("/nowhere:/bin")), Some("/bin/sh".into()));
        assert_eq!(resolve("sh", task, Some("/nowhere")), None);
        fs::write(task.join("sh"), "").unwrap();
        assert_eq!(resolve("sh", task, None), Some(task.join("sh")));
        fs::create_dir(task.join("local")).unwrap();
        fs::write(task.join("local/sh"), "").unwrap();
        assert_eq!(resolve("sh", task, None), Some(task.join("local/sh")));
        assert_eq!(resolve("local/sh", task, None), Some(task.join("local/sh")));
        assert_eq!(resolve("/no/such", task, None), None);
        assert_eq!(resolve("/bin", task, None), None);
        assert_eq!(resolve("", task, None), None);
    }
}
