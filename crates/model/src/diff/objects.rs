//! Fields and blocks: how two values of the wire differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shapes::{self, Shape};
use super::{DiffType, FieldDiff, ObjectDiff, elements, kind_of, member, pairs};

type Side<'v> = Option<&'v Value>;

/// How much of the unchanged is kept.
pub(super) struct Context {
    pub(super) contextual: bool,
}

/// A value as text; what is absent, and what is no plain value, is none.
fn text(value: Side<'_>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Collects plain values under their names, nested ones as `name[key]` and `name[0]`.
fn flatten(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(items) => {
            for (key, item) in items {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}[{key}]") };
                flatten(&name, item, into);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                flatten(&format!("{prefix}[{at}]"), item, into);
            }
        }
        plain => {
            if let Some(text) = text(Some(plain)) {
                into.insert(prefix.to_owned(), text);
            }
        }
    }
}

fn field(name: String, old: Option<String>, new: Option<String>) -> FieldDiff {
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let kind = match (old.is_empty(), new.is_empty()) {
        _ if old == new => DiffType::None,
        (true, _) => DiffType::Added,
        (_, true) => DiffType::Deleted,
        _ => DiffType::Edited,
    };
    FieldDiff { kind, name, old, new, ..FieldDiff::default() }
}

/// The fields of a block, sorted by name, the unchanged among them.
fn fields(old: Side<'_>, new: Side<'_>, shape: &Shape) -> Vec<FieldDiff> {
    let mut result = Vec::new();
    for name in shape.fields {
        let (old, new) = (text(member(old, name)), text(member(new, name)));
        if old.is_some() || new.is_some() {
            result.push(field((*name).to_owned(), old, new));
        }
    }
    for (name, usual) in shape.quiet {
        let (from, to) = (text(member(old, name)), text(member(new, name)));
        let is_usual = |value: &Option<String>| value.as_deref().is_none_or(|v| v == *usual);
        if !is_usual(&from) || !is_usual(&to) {
            result.push(field((*name).to_owned(), from, to));
        }
    }
    for name in shape.maps {
        result.extend(map_fields(name, member(old, name), member(new, name)));
    }
    result.sort_by(|a, b| a.name.cmp(&b.name));
    result
}

fn map_fields(prefix: &str, old: Side<'_>, new: Side<'_>) -> Vec<FieldDiff> {
    let (mut from, mut to) = (BTreeMap::new(), BTreeMap::new());
    for (side, into) in [(old, &mut from), (new, &mut to)] {
        if let Some(value) = side {
            flatten(prefix, value, into);
        }
    }
    let mut names: Vec<String> = from.keys().chain(to.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let (old, new) = (from.remove(&name), to.remove(&name));
            field(name, old, new)
        })
        .collect()
}

/// The changed fields of a job, group or task itself.
pub(super) fn top_fields(old: Side<'_>, new: Side<'_>, shape: &Shape) -> Vec<FieldDiff> {
    let mut fields = fields(old, new, shape);
    fields.retain(|field| field.kind != DiffType::None);
    fields
}

impl Context {
    /// A block from its fields and inner blocks; none if nothing of it changed.
    fn build(
        &self,
        name: &str,
        kind: DiffType,
        mut fields: Vec<FieldDiff>,
        objects: Vec<ObjectDiff>,
    ) -> Option<ObjectDiff> {
        let changed = fields.iter().any(|field| field.kind != DiffType::None);
        if kind == DiffType::None || (kind == DiffType::Edited && !changed && objects.is_empty()) {
            return None;
        }
        if !self.contextual {
            fields.retain(|field| field.kind != DiffType::None);
        }
        Some(ObjectDiff {
            kind,
            name: name.to_owned(),
            fields: fields.into(),
            objects: objects.into(),
        })
    }

    fn object(
        &self,
        name: &str,
        old: Side<'_>,
        new: Side<'_>,
        shape: &Shape,
    ) -> Option<ObjectDiff> {
        self.build(name, kind_of(old, new), fields(old, new, shape), Vec::new())
    }

    /// A block that is a member of both sides.
    fn part(
        &self,
        (old, new): (Side<'_>, Side<'_>),
        name: &str,
        shape: &Shape,
    ) -> Option<ObjectDiff> {
        self.object(name, member(old, name), member(new, name), shape)
    }

    /// Blocks without names: those of one side that the other does not have.
    fn set(
        &self,
        (old, new): (&[Value], &[Value]),
        one: impl Fn(&Self, Side<'_>, Side<'_>) -> Option<ObjectDiff>,
    ) -> Vec<ObjectDiff> {
        let gone = old.iter().filter(|item| !new.contains(item));
        let come = new.iter().filter(|item| !old.contains(item));
        let gone = gone.filter_map(|item| one(self, Some(item), None));
        let come = come.filter_map(|item| one(self, None, Some(item)));
        gone.chain(come).collect()
    }

    fn plain_set(
        &self,
        (old, new): (Side<'_>, Side<'_>),
        list: &str,
        name: &str,
        shape: &Shape,
    ) -> Vec<ObjectDiff> {
        self.set((elements(old, list), elements(new, list)), |context, old, new| {
            context.object(name, old, new, shape)
        })
    }

    /// A list of texts as a block: each text is a field of the list's name.
    fn texts(&self, (old, new): (Side<'_>, Side<'_>), name: &str) -> Option<ObjectDiff> {
        let (from, to) = (elements(old, name), elements(new, name));
        let mut fields: Vec<FieldDiff> = from
            .iter()
            .filter(|item| !to.contains(item))
            .map(|item| field(name.to_owned(), text(Some(item)), None))
            .collect();
        let gone = !fields.is_empty();
        let mut come = false;
        for item in to {
            let before = from.contains(item).then(|| text(Some(item))).flatten();
            come |= before.is_none();
            fields.push(field(name.to_owned(), before, text(Some(item))));
        }
        fields.sort_by(|a, b| (&a.old, &a.new).cmp(&(&b.old, &b.new)));
        let kind = match (gone, come) {
            (false, false) => DiffType::None,
            (false, true) => DiffType::Added,
            (true, false) => DiffType::Deleted,
            (true, true) => DiffType::Edited,
        };
        self.build(name, kind, fields, Vec::new())
    }

    /// A block of which every plain value is shown, whatever its name.
    fn whole(&self, name: &str, old: Side<'_>, new: Side<'_>) -> Option<ObjectDiff> {
        self.build(name, kind_of(old, new), map_fields("", old, new), Vec::new())
    }

    /// Blocks of a list that newer versions added, each with all its values.
    fn whole_set(&self, both: (Side<'_>, Side<'_>), list: &str, name: &str) -> Vec<ObjectDiff> {
        let (old, new) = both;
        self.set((elements(old, list), elements(new, list)), |context, old, new| {
            context.whole(name, old, new)
        })
    }

    pub(super) fn job_objects(&self, old: Side<'_>, new: Side<'_>) -> Vec<ObjectDiff> {
        let both = (old, new);
        let mut result: Vec<ObjectDiff> = self.texts(both, "Datacenters").into_iter().collect();
        result.extend(self.plain_set(both, "Constraints", "Constraint", &shapes::CONSTRAINT));
        result.extend(self.plain_set(both, "Affinities", "Affinity", &shapes::AFFINITY));
        result.extend(self.part(both, "Periodic", &shapes::PERIODIC));
        let (from, to) = (member(old, "ParameterizedJob"), member(new, "ParameterizedJob"));
        let lists = ["MetaRequired", "MetaOptional"];
        let inner = lists.iter().filter_map(|name| self.texts((from, to), name)).collect();
        let fields = fields(from, to, &shapes::PARAMETERIZED);
        result.extend(self.build("ParameterizedJob", kind_of(from, to), fields, inner));
        for name in ["Multiregion", "UI"] {
            result.extend(self.whole(name, member(old, name), member(new, name)));
        }
        result
    }

    pub(super) fn group_objects(&self, old: Side<'_>, new: Side<'_>) -> Vec<ObjectDiff> {
        let both = (old, new);
        let mut result = self.plain_set(both, "Constraints", "Constraint", &shapes::CONSTRAINT);
        result.extend(self.plain_set(both, "Affinities", "Affinity", &shapes::AFFINITY));
        result.extend(self.part(both, "RestartPolicy", &shapes::RESTART));
        result.extend(self.part(both, "ReschedulePolicy", &shapes::RESCHEDULE));
        result.extend(self.part(both, "EphemeralDisk", &shapes::DISK));
        result.extend(self.part(both, "Update", &shapes::UPDATE));
        if old.is_some() && new.is_some() {
            result.extend(self.part(both, "Migrate", &shapes::MIGRATE));
        }
        result.extend(self.part(both, "Disconnect", &shapes::DISCONNECT));
        result.extend(self.whole("Consul", member(old, "Consul"), member(new, "Consul")));
        result.extend(self.networks(both));
        result.extend(self.services(both));
        result.extend(self.volumes(both));
        result
    }

    pub(super) fn task_objects(&self, old: Side<'_>, new: Side<'_>) -> Vec<ObjectDiff> {
        let both = (old, new);
        let mut result = self.plain_set(both, "Constraints", "Constraint", &shapes::CONSTRAINT);
        result.extend(self.plain_set(both, "Affinities", "Affinity", &shapes::AFFINITY));
        result.extend(self.whole("Config", member(old, "Config"), member(new, "Config")));
        result.extend(self.resources(both));
        result.extend(self.part(both, "LogConfig", &shapes::LOGS));
        result.extend(self.part(both, "DispatchPayload", &shapes::DISPATCH_PAYLOAD));
        result.extend(self.plain_set(both, "Artifacts", "Artifact", &shapes::ARTIFACT));
        result.extend(self.services(both));
        let (from, to) = (member(old, "Vault"), member(new, "Vault"));
        let policies = self.texts((from, to), "Policies").into_iter().collect();
        let fields = fields(from, to, &shapes::VAULT);
        result.extend(self.build("Vault", kind_of(from, to), fields, policies));
        result.extend(self.plain_set(both, "Templates", "Template", &shapes::TEMPLATE));
        for name in ["Consul", "Identity", "Schedule", "CSIPluginConfig"] {
            result.extend(self.whole(name, member(old, name), member(new, name)));
        }
        result.extend(self.whole_set(both, "Identities", "Identity"));
        result.extend(self.whole_set(both, "Secrets", "Secret"));
        result.extend(self.whole_set(both, "Actions", "Action"));
        result
    }

    fn resources(&self, (old, new): (Side<'_>, Side<'_>)) -> Option<ObjectDiff> {
        let (from, to) = (member(old, "Resources"), member(new, "Resources"));
        let mut inner = self.networks((from, to));
        inner.extend(self.plain_set((from, to), "Devices", "Device", &shapes::DEVICE));
        inner.extend(self.whole("NUMA", member(from, "NUMA"), member(to, "NUMA")));
        let fields = fields(from, to, &shapes::RESOURCES);
        self.build("Resources", kind_of(from, to), fields, inner)
    }

    fn networks(&self, (old, new): (Side<'_>, Side<'_>)) -> Vec<ObjectDiff> {
        let lists = (elements(old, "Networks"), elements(new, "Networks"));
        self.set(lists, |context, old, new| {
            let both = (old, new);
            let mut ports =
                context.plain_set(both, "ReservedPorts", "Static Port", &shapes::STATIC_PORT);
            ports.extend(context.plain_set(
                both,
                "DynamicPorts",
                "Dynamic Port",
                &shapes::DYNAMIC_PORT,
            ));
            for name in ["DNS", "CNI"] {
                ports.extend(context.whole(name, member(old, name), member(new, name)));
            }
            let fields = fields(old, new, &shapes::NETWORK);
            context.build("Network", kind_of(old, new), fields, ports)
        })
    }

    fn services(&self, (old, new): (Side<'_>, Side<'_>)) -> Vec<ObjectDiff> {
        pairs(elements(old, "Services"), elements(new, "Services"))
            .into_iter()
            .filter_map(|(_, old, new)| {
                let both = (old, new);
                let mut inner: Vec<ObjectDiff> = ["Tags", "CanaryTags"]
                    .iter()
                    .filter_map(|name| self.texts(both, name))
                    .collect();
                let checks = pairs(elements(old, "Checks"), elements(new, "Checks"));
                inner.extend(checks.into_iter().filter_map(|(_, old, new)| self.check(old, new)));
                for name in ["Connect", "Identity", "Weights"] {
                    inner.extend(self.whole(name, member(old, name), member(new, name)));
                }
                let fields = fields(old, new, &shapes::SERVICE);
                self.build("Service", kind_of(old, new), fields, inner)
            })
            .collect()
    }

    fn check(&self, old: Side<'_>, new: Side<'_>) -> Option<ObjectDiff> {
        let mut inner: Vec<ObjectDiff> =
            self.part((old, new), "CheckRestart", &shapes::CHECK_RESTART).into_iter().collect();
        inner.extend(self.whole("Header", member(old, "Header"), member(new, "Header")));
        inner.extend(self.texts((old, new), "Args"));
        self.build("Check", kind_of(old, new), fields(old, new, &shapes::CHECK), inner)
    }

    fn volumes(&self, (old, new): (Side<'_>, Side<'_>)) -> Vec<ObjectDiff> {
        let (from, to) = (member(old, "Volumes"), member(new, "Volumes"));
        let mut names: Vec<&String> = [from, to]
            .into_iter()
            .filter_map(|side| side?.as_object())
            .flat_map(|volumes| volumes.keys())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| {
                let (old, new) = (member(from, name), member(to, name));
                let options = (member(old, "MountOptions"), member(new, "MountOptions"));
                let inner = self.whole("MountOptions", options.0, options.1).into_iter().collect();
                let fields = fields(old, new, &shapes::VOLUME);
                self.build("Volume", kind_of(old, new), fields, inner)
            })
            .collect()
    }
}
