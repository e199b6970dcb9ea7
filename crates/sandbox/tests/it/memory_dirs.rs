//! Directories in memory, mounted and swept.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use sandbox::cgroup::NodeClaim;
use sandbox::{Hierarchies, MemoryDir, remove_memory_dir, sweep_memory_dirs};

struct Place {
    directory: tempfile::TempDir,
    parent: OwnedFd,
    node_id: String,
    /// Without one the node counts as gone.
    claim: Option<NodeClaim>,
}

impl Place {
    fn new(name: &str) -> Option<Self> {
        if let Some(reason) = sandbox::isolation::unavailable() {
            eprintln!("skipped: {reason}");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let parent = fs::File::open(directory.path()).unwrap().into();
        let node_id = format!("memory-{name}-{}", std::process::id());
        Some(Self { directory, parent, node_id, claim: None })
    }

    fn alive(mut self) -> Self {
        self.claim = Some(NodeClaim::acquire(&Hierarchies::detect(), &self.node_id).unwrap());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn ensure(&self, name: &str) -> std::io::Result<()> {
        let wanted =
            MemoryDir { node_id: &self.node_id, uid: 65_534, gid: 65_534, size_bytes: 1 << 20 };
        wanted.ensure(&self.parent, Path::new(name))
    }

    fn is_mounted(&self, name: &str) -> bool {
        let of = |path: &Path| fs::metadata(path).unwrap().dev();
        of(&self.path(name)) != of(self.directory.path())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for name in ["one", "two"] {
            remove_memory_dir(&self.path(name)).unwrap();
        }
        if let Some(claim) = self.claim.take() {
            claim.give_back(true);
        }
    }
}

#[test]
fn a_directory_in_memory_is_its_users_own_and_mounted_once() {
    let Some(place) = Place::new("own").map(Place::alive) else { return };
    place.ensure("one").unwrap();
    fs::write(place.path("one").join("key"), "x").unwrap();
    place.ensure("one").unwrap();
    assert!(place.path("one").join("key").exists());
    let metadata = fs::metadata(place.path("one")).unwrap();
    assert_eq!((metadata.mode() & 0o7777, metadata.uid()), (0o700, 65_534));
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let path = place.path("one");
    let line = table.lines().find(|line| line.contains(path.to_str().unwrap())).unwrap();
    assert!(line.contains("nosuid,nodev,noexec") && line.contains("size=1024k"), "{line}");
    remove_memory_dir(&path).unwrap();
    remove_memory_dir(&path).unwrap();
    assert!(!place.is_mounted("one") && !path.join("key").exists());
}

#[test]
fn a_link_in_its_place_is_refused() {
    let Some(place) = Place::new("link") else { return };
    symlink("/tmp", place.path("link")).unwrap();
    assert!(place.ensure("link").is_err());
}

#[test]
fn a_sweep_takes_what_nobody_claims_and_nothing_of_a_living_node() {
    let on = Hierarchies::detect();
    if on.is_empty() {
        eprintln!("skipped: needs a mounted cgroup hierarchy");
        return;
    }
    let Some(ours) = Place::new("ours").map(Place::alive) else { return };
    let Some(theirs) = Place::new("theirs").map(Place::alive) else { return };
    let Some(dead) = Place::new("dead") else { return };
    for place in [&ours, &theirs, &dead] {
        place.ensure("one").unwrap();
        place.ensure("two").unwrap();
    }
    let kept = ours.path("one");
    // Another agent of the machine may be at it too, so what counts is what is left.
    sweep_memory_dirs(&on, &ours.node_id, |path| path == kept).unwrap();
    assert!(ours.is_mounted("one") && theirs.is_mounted("one") && theirs.is_mounted("two"));
    assert!(!ours.is_mounted("two") && !dead.is_mounted("one") && !dead.is_mounted("two"));
}
