//! Job files: HCL in either spelling or the API's JSON in, a job without defaults out.
//!
//! Each block has one reader, a function from [`Fields`] to the wire type of `model`; a field that
//! the file does not set stays `None`.

mod connect;
mod driver_config;
mod group;
mod json;
mod placement;
mod resources;
mod service;
mod task;

use hcl::variables;
use hcl::{EvalContext, Fields, Schema};
use model::job::*;
use model::wire::Map;

/// What a caller needs to give values and to read problems.
pub use hcl::{
    Diagnostic, Files, Limits, Random,
    variables::{Assigned, Assignment, Undeclared, read_environment, read_flag, read_var_file},
};
pub use json::parse_json_job;
pub(crate) use placement::constraints;

/// What a job file may use besides its own text.
pub struct Options<'a> {
    /// Values for its variables.
    pub assignments: &'a [Assignment],
    /// The file system of the file functions; the HTTP endpoint has none.
    pub files: Option<&'a dyn Files>,
    /// Randomness for `uuidv4` and `bcrypt`.
    pub random: Random<'a>,
    /// What the text may cost.
    pub limits: Limits,
}

/// Reads a job file. Gives the job and the warnings, or every problem with its place.
///
/// # Errors
/// The problems, warnings among them.
pub fn parse_job(
    file: &str,
    text: &str,
    options: &Options<'_>,
) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    let body = if hcl::is_json(text) {
        let schema = Schema::of(|fields| fields.block("job", &["name"], read_job));
        hcl::parse_json(file, text, &schema.with_variables(), &options.limits)?
    } else {
        hcl::parse(file, text, &options.limits)?
    };
    let mut ctx = EvalContext::new(&body, &options.limits, options.random);
    if let Some(files) = options.files {
        ctx = ctx.with_files(files);
    }
    let (_, mut problems) = variables::resolve(&body, &mut ctx, options.assignments);
    let (job, found) = hcl::read(&body, &ctx, |fields| {
        fields.ignore_blocks(&variables::BLOCKS);
        let job = fields.block("job", &["name"], read_job);
        if job.is_none() && is_api_json(&body) {
            fields.ignore_attributes(&["Job"]);
            let detail = "This is a job in the JSON of the API; give it with -json. In the JSON \
                          spelling of a job file the outermost name is \"job\".";
            fields.error(0..0, "Not a job file", detail);
            return None;
        }
        if job.is_none() && body.is_empty() {
            fields.error(0..0, "Job spec is empty", "A job file needs a job block.");
        } else if job.is_none() && body.blocks().all(|block| block.kind() != "job") {
            fields.error(0..0, "Missing job block", "A job file needs one block of type \"job\".");
        }
        job
    });
    problems.extend(found);
    // In the order of the file, whatever order it was read in.
    problems.sort_by_key(|problem| problem.span.start);
    match job {
        Some(job) if !problems.iter().any(Diagnostic::is_error) => Ok((job, problems)),
        _ => Err(problems),
    }
}

/// Whether the outermost names are those of the API's JSON.
fn is_api_json(body: &hcl::Body) -> bool {
    body.attributes().any(|attribute| matches!(attribute.name(), "Job" | "TaskGroups"))
}

fn read_job(f: &mut Fields<'_>) -> Job {
    let label = f.label(0);
    for name in ["vault_token", "consul_token"] {
        if let Some(span) = f.value_span(name) {
            let detail = format!("{name:?} has no meaning any more; remove it.");
            f.warning(span, "Removed argument", detail);
        }
    }
    f.ignore_attributes(&["vault_token", "consul_token"]);
    let vault = f.block("vault", &[], task::vault);
    let secrets = f.blocks("secret", &["name"], task::secret);
    let mut groups = f.blocks("group", &["name"], group::group);
    // A task without a group is a group of its own.
    for (task, span) in f.blocks("task", &["name"], |f| (task::task(f), f.span())) {
        let group = TaskGroup {
            name: Some(task.name.clone()),
            tasks: vec![task].into(),
            ..TaskGroup::default()
        };
        groups.push(group::Read { group, vault: None, secrets: Vec::new(), span });
    }
    let job = Job {
        id: f.string("id").or_else(|| Some(label.clone())),
        name: f.string("name").or(Some(label)),
        kind: f.string("type"),
        region: f.string("region"),
        namespace: f.string("namespace"),
        datacenters: f.string_list("datacenters").unwrap_or_default().into(),
        node_pool: f.string("node_pool"),
        priority: f.int("priority"),
        all_at_once: f.bool("all_at_once"),
        constraints: placement::constraints(f),
        affinities: placement::affinities(f),
        spreads: placement::spreads(f),
        update: f.block("update", &[], group::update),
        migrate: f.block("migrate", &[], group::migrate),
        reschedule: f.block("reschedule", &[], group::reschedule),
        periodic: f.block("periodic", &[], periodic),
        parameterized_job: f.block("parameterized", &[], parameterized),
        multiregion: f.block("multiregion", &[], multiregion),
        meta: string_map(f, "meta"),
        ui: f.block("ui", &[], ui),
        ..Job::default()
    };
    report_repeated_groups(f, &groups);
    let task_groups =
        groups.into_iter().map(|read| read.inherit(vault.as_ref(), &secrets)).collect();
    Job { task_groups, ..job }
}

fn report_repeated_groups(f: &Fields<'_>, groups: &[group::Read]) {
    for (at, read) in groups.iter().enumerate() {
        let name = read.group.name();
        if !name.is_empty() && groups[..at].iter().any(|earlier| earlier.group.name() == name) {
            let detail = format!(
                "The job has more than one group named {name:?}; give each a name of its own."
            );
            f.error(read.span.clone(), "Duplicate group", detail);
        }
    }
}

fn periodic(f: &mut Fields<'_>) -> PeriodicConfig {
    PeriodicConfig {
        enabled: f.bool("enabled"),
        spec: f.string("cron"),
        specs: f.string_list("crons").unwrap_or_default().into(),
        spec_type: Some("cron".to_owned()),
        prohibit_overlap: f.bool("prohibit_overlap"),
        time_zone: f.string("time_zone"),
    }
}

fn parameterized(f: &mut Fields<'_>) -> ParameterizedJobConfig {
    ParameterizedJobConfig {
        payload: text(f, "payload"),
        meta_required: f.string_list("meta_required").unwrap_or_default().into(),
        meta_optional: f.string_list("meta_optional").unwrap_or_default().into(),
    }
}

fn multiregion(f: &mut Fields<'_>) -> Multiregion {
    Multiregion {
        strategy: f.block("strategy", &[], |f| MultiregionStrategy {
            max_parallel: f.int("max_parallel"),
            on_failure: f.string("on_failure"),
        }),
        regions: f
            .blocks("region", &["name"], |f| MultiregionRegion {
                name: f.label(0),
                count: f.int("count"),
                datacenters: f.string_list("datacenters").unwrap_or_default().into(),
                node_pool: text(f, "node_pool"),
                meta: string_map(f, "meta"),
            })
            .into(),
    }
}

fn ui(f: &mut Fields<'_>) -> JobUi {
    JobUi {
        description: text(f, "description"),
        links: f
            .blocks("link", &[], |f| JobUiLink { label: text(f, "label"), url: text(f, "url") })
            .into(),
    }
}

/// A text that is empty when it is not set.
fn text(f: &mut Fields<'_>, name: &'static str) -> String {
    f.string(name).unwrap_or_default()
}

fn flag(f: &mut Fields<'_>, name: &'static str) -> bool {
    f.bool(name).unwrap_or_default()
}

fn string_map(f: &mut Fields<'_>, name: &'static str) -> Map<String> {
    f.string_map(name).unwrap_or_default().into()
}

/// A map of anything, written as a block or as an attribute.
fn any_map(f: &mut Fields<'_>, name: &'static str) -> Map<serde_json::Value> {
    let from_block = f.value_block(name);
    let is_set = f.is_set(name);
    let from_attribute = f.convert(name, |value| match value {
        hcl::Value::Object(_) => Ok(value.clone()),
        _ => Err("a map is required".to_owned()),
    });
    if from_block.is_some() && is_set {
        f.reject(name, format!("{name:?} is given both as an argument and as a block."));
    }
    match from_block.or(from_attribute) {
        Some(hcl::Value::Object(items)) => items
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.into()))
            .collect(),
        _ => Map::default(),
    }
}
