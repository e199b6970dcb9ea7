//! Files of volumes, for `volume create` and `volume register`.

use super::{Parsed, map, parse, size, text, texts, word};
use crate::job::constraints;
use hcl::{Fields, Random};
use model::job::Constraint;
use std::collections::BTreeMap;

const ACCESS_MODES: [&str; 7] = [
    "single-node-reader-only",
    "single-node-writer",
    "single-node-single-writer",
    "single-node-multi-writer",
    "multi-node-reader-only",
    "multi-node-single-writer",
    "multi-node-multi-writer",
];
const ATTACHMENT_MODES: [&str; 2] = ["file-system", "block-device"];

/// Who keeps the volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VolumeKind {
    /// A plugin of the container storage interface.
    #[default]
    Csi,
    /// A node.
    Host,
}

/// A volume; which fields may be set depends on its kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Volume {
    /// Who keeps it.
    pub kind: VolumeKind,
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The plugin that makes it.
    pub plugin_id: String,
    /// Smallest size in bytes.
    pub capacity_min: Option<u64>,
    /// Largest size in bytes.
    pub capacity_max: Option<u64>,
    /// Size in bytes, of a host volume that exists.
    pub capacity: Option<u64>,
    /// How it may be used.
    pub capabilities: Vec<Capability>,
    /// Settings for the plugin.
    pub parameters: BTreeMap<String, String>,
    /// CSI: the provider's id.
    pub external_id: String,
    /// CSI: the volume it is a copy of.
    pub clone_id: String,
    /// CSI: the snapshot it is made from.
    pub snapshot_id: String,
    /// CSI: the file system.
    pub fs_type: String,
    /// CSI: flags of the mount.
    pub mount_flags: Vec<String>,
    /// CSI: credentials for the plugin.
    pub secrets: BTreeMap<String, String>,
    /// CSI: what the provider said when it was made.
    pub context: BTreeMap<String, String>,
    /// CSI: where it must be reachable, one of these.
    pub required_topologies: Vec<Topology>,
    /// CSI: where it should be, the best first.
    pub preferred_topologies: Vec<Topology>,
    /// Host: the node.
    pub node_id: String,
    /// Host: the node pool.
    pub node_pool: String,
    /// Host: the directory of a volume that exists.
    pub host_path: String,
    /// Host: which nodes will do.
    pub constraints: Vec<Constraint>,
}

/// A way of using a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capability {
    /// Who may read and write.
    pub access_mode: String,
    /// As a file system or as a device.
    pub attachment_mode: String,
}

/// Names of a place with their values, such as a zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The names with their values.
    pub segments: BTreeMap<String, String>,
}

/// Fields of one kind only, to say so when the other has them.
const CSI_ONLY: [&str; 7] = [
    "external_id",
    "clone_id",
    "snapshot_id",
    "mount_options",
    "secrets",
    "context",
    "topology_request",
];
const HOST_ONLY: [&str; 4] = ["capacity", "node_id", "node_pool", "host_path"];

/// Reads a file of one volume.
///
/// # Errors
/// Every problem with its place.
pub fn parse_volume(file: &str, content: &str, random: Random<'_>) -> Parsed<Volume> {
    parse(file, content, random, read)
}

fn read(f: &mut Fields<'_>) -> Volume {
    let kind = match word(f, "type", &["csi", "host"]).as_str() {
        "host" => VolumeKind::Host,
        _ => VolumeKind::Csi,
    };
    let mount = f.block("mount_options", &[], |f| (text(f, "fs_type"), texts(f, "mount_flags")));
    let (fs_type, mount_flags) = mount.unwrap_or_default();
    let topologies = |f: &mut Fields<'_>, kind| {
        let places = f.block(kind, &[], |f| {
            f.blocks("topology", &[], |f| Topology { segments: map(f, "segments") })
        });
        places.unwrap_or_default()
    };
    let places = f.block("topology_request", &[], |f| {
        (topologies(f, "required"), topologies(f, "preferred"))
    });
    let (required_topologies, preferred_topologies) = places.unwrap_or_default();
    let volume = Volume {
        kind,
        id: text(f, "id"),
        name: text(f, "name"),
        namespace: text(f, "namespace"),
        plugin_id: text(f, "plugin_id"),
        capacity_min: size::bytes(f, "capacity_min"),
        capacity_max: size::bytes(f, "capacity_max"),
        capacity: size::bytes(f, "capacity"),
        capabilities: f.blocks("capability", &[], |f| {
            let capability = Capability {
                access_mode: word(f, "access_mode", &ACCESS_MODES),
                attachment_mode: word(f, "attachment_mode", &ATTACHMENT_MODES),
            };
            f.require(&["access_mode", "attachment_mode"]);
            capability
        }),
        parameters: map(f, "parameters"),
        external_id: text(f, "external_id"),
        clone_id: text(f, "clone_id"),
        snapshot_id: text(f, "snapshot_id"),
        fs_type,
        mount_flags,
        secrets: map(f, "secrets"),
        context: map(f, "context"),
        required_topologies,
        preferred_topologies,
        node_id: text(f, "node_id"),
        node_pool: text(f, "node_pool"),
        host_path: text(f, "host_path"),
        constraints: constraints(f).0,
    };
    check(f, &volume);
    volume
}

fn check(f: &Fields<'_>, volume: &Volume) {
    let (needed, others, owner): (&[&str], &[&str], &str) = match volume.kind {
        VolumeKind::Csi => (&["id", "name", "plugin_id"], &HOST_ONLY, "host"),
        VolumeKind::Host => (&["name"], &CSI_ONLY, "csi"),
    };
    f.require(needed);
    for name in others {
        if let Some(span) = f.place(name) {
            let detail = format!("{name:?} belongs to volumes with type = {owner:?}.");
            f.error(span, "Unsuitable argument", detail);
        }
    }
    if volume.kind == VolumeKind::Csi && !volume.constraints.is_empty() {
        let span = f.place("constraint").unwrap_or_else(|| f.span());
        f.error(
            span,
            "Unsuitable block",
            "\"constraint\" belongs to volumes with type = \"host\".",
        );
    }
    if let (Some(least), Some(most)) = (volume.capacity_min, volume.capacity_max)
        && most > 0
        && least > most
    {
        f.reject("capacity_min", format!("The least size, {least}, is above the largest, {most}."));
    }
}
