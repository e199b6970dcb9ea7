//! The user a task runs as, if the node allows it.

use sandbox::User;

use crate::id_ranges::IdRanges;
use crate::task::StartError;

/// What users of the original see before the cause, by which tools recognise the failure.
pub(crate) const LAUNCH_FAILED: &str =
    "failed to launch command with executor: rpc error: code = Unknown desc =";

/// Users and groups that tasks must not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeniedIds {
    pub uids: IdRanges,
    pub gids: IdRanges,
}

impl DeniedIds {
    /// Looks the user up on the host.
    pub(crate) fn user(&self, name: &str) -> Result<User, StartError> {
        let user = sandbox::lookup_user(name).map_err(|error| {
            let message = format!("{LAUNCH_FAILED} Failed to identify user {name}: user: {error}");
            StartError::recoverable(message)
        })?;
        if self.uids.contains(user.uid) {
            let message = format!("running as uid {} is disallowed on this node", user.uid);
            return Err(StartError::recoverable(message));
        }
        match user.groups.iter().find(|gid| self.gids.contains(**gid)) {
            Some(gid) => Err(StartError::recoverable(format!(
                "running as gid {gid} is disallowed on this node"
            ))),
            None => Ok(user),
        }
    }
}
