//! Who this node is: an id, and a secret that proves it. Kept for good in the state directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::ids::NodeId;
use uuid::Uuid;

const ID_FILE: &str = "client-id";
const SECRET_FILE: &str = "secret-id";

#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) node_id: NodeId,
    /// Never logged.
    pub(crate) secret: String,
}

/// Why the identity cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the node's identity in {path}")]
pub struct IdentityError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

pub(crate) fn load_or_create(directory: &Path) -> Result<Identity, IdentityError> {
    let id = uuid_in(&directory.join(ID_FILE))?;
    let secret = uuid_in(&directory.join(SECRET_FILE))?;
    Ok(Identity { node_id: NodeId(id), secret: secret.to_string() })
}

/// The id of the node whose state is here, if there is one.
pub(crate) fn existing(directory: &Path) -> Option<NodeId> {
    let text = fs::read_to_string(directory.join(ID_FILE)).ok()?;
    Uuid::parse_str(text.trim()).ok().map(NodeId)
}

/// The id in a file. A file that is torn is replaced: its node is gone for good either way.
fn uuid_in(path: &Path) -> Result<Uuid, IdentityError> {
    let failed = |source| IdentityError { path: path.to_owned(), source };
    match fs::read_to_string(path) {
        Ok(text) => match Uuid::parse_str(text.trim()) {
            Ok(id) => return Ok(id),
            Err(_) => {
                tracing::error!(path = %path.display(), "unreadable id replaced by a new one")
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let id = Uuid::new_v4();
    write_whole(path, &id.to_string()).map_err(failed)?;
    Ok(id)
}

/// Appears whole or not at all, for its owner alone.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_identity_stays_and_is_for_its_owner_alone() {
        let place = tempfile::tempdir().unwrap();
        let first = load_or_create(place.path()).unwrap();
        let again = load_or_create(place.path()).unwrap();
        assert_eq!((first.node_id, &first.secret), (again.node_id, &again.secret));
        let mode = fs::metadata(place.path().join(SECRET_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(place.path().join(ID_FILE), "torn").unwrap();
        assert_ne!(load_or_create(place.path()).unwrap().node_id, first.node_id);
    }
}
