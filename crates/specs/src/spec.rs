//! The other files that people write: variables, volumes, namespaces, node pools, quotas and ACL
//! policies. Both spellings of HCL are read, by the same readers and with the same problems as in
//! job files; expressions and functions work, files and variables do not.

mod acl;
mod namespace;
mod node_pool;
mod quota;
mod size;
mod variable;
mod volume;

pub use acl::{AclPolicy, AclRule, VariablesRule, parse_acl_policy};
pub use namespace::{Capabilities, Choice, Namespace, parse_namespace};
pub use node_pool::{NodePool, SchedulerConfig, parse_node_pool};
pub use quota::{Quota, QuotaLimit, QuotaResources, parse_quota};
pub use variable::{Variable, parse_variable};
pub use volume::{Capability, Topology, Volume, VolumeKind, parse_volume};

use hcl::{Diagnostic, EvalContext, Fields, Limits, Random, Schema};
use std::collections::BTreeMap;

/// A file's value with the warnings, or every problem with its place.
pub type Parsed<T> = Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Reads a file by the reader of its kind.
fn parse<T>(
    file: &str,
    text: &str,
    random: Random<'_>,
    read: impl Fn(&mut Fields<'_>) -> T,
) -> Parsed<T> {
    let limits = Limits::default();
    let body = if hcl::is_json(text) {
        hcl::parse_json(file, text, &Schema::of(&read), &limits)?
    } else {
        hcl::parse(file, text, &limits)?
    };
    let ctx = EvalContext::new(&body, &limits, random);
    let (value, mut problems) = hcl::read(&body, &ctx, &read);
    problems.sort_by_key(|problem| problem.span.start);
    if problems.iter().any(Diagnostic::is_error) { Err(problems) } else { Ok((value, problems)) }
}

fn text(f: &mut Fields<'_>, name: &'static str) -> String {
    f.string(name).unwrap_or_default()
}

fn texts(f: &mut Fields<'_>, name: &'static str) -> Vec<String> {
    f.string_list(name).unwrap_or_default()
}

fn map(f: &mut Fields<'_>, name: &'static str) -> BTreeMap<String, String> {
    f.string_map(name).unwrap_or_default()
}

/// A text that must be one of a few words.
fn word(f: &mut Fields<'_>, name: &'static str, words: &[&str]) -> String {
    let given = text(f, name);
    if !given.is_empty() && !words.contains(&given.as_str()) {
        let hint = hcl::hint(&given, words.iter().copied());
        f.reject(name, format!("{given:?} is not known; one of {} is.{hint}", words.join(", ")));
    }
    given
}

/// A list of such texts.
fn words(f: &mut Fields<'_>, name: &'static str, known: &[&str]) -> Vec<String> {
    let given = texts(f, name);
    for word in given.iter().filter(|word| !known.contains(&word.as_str())) {
        let hint = hcl::hint(word, known.iter().copied());
        f.reject(name, format!("{word:?} is not known; one of {} is.{hint}", known.join(", ")));
    }
    given
}
