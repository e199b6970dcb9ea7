//! What an expression may see while it is evaluated: variables, the host's services, its budget.

use crate::diagnostic::{Diagnostic, Source};
use crate::limits::Limits;
use crate::syntax::Body;
use crate::value::Value;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Roots of references that only the client can resolve; a reference without quotes to one of
/// them becomes the same text that `"${...}"` gives.
const RUNTIME_ROOTS: [&str; 6] = ["attr", "device", "env", "meta", "node", "unique"];
/// Prefix of the other runtime names.
const RUNTIME_PREFIX: &str = "NOMAD_";

/// The file system as the file functions see it. On the command line it is the real one; the HTTP
/// endpoint has none.
pub trait Files {
    /// The content of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
    /// Whether a regular file is there.
    fn exists(&self, path: &str) -> bool;
    /// All regular files beneath a directory, relative to it, with `/` between the parts.
    fn list(&self, directory: &str) -> Result<Vec<String>, String>;
    /// The directory that relative paths start from, as an absolute path.
    fn working_directory(&self) -> String;
    /// The home directory, for `~`.
    fn home_directory(&self) -> Option<String>;
}

/// Gives sixteen random bytes: a salt or a UUID.
pub type Random<'a> = &'a dyn Fn() -> [u8; 16];

/// The surroundings of all expressions of one file.
pub struct EvalContext<'a> {
    source: Arc<Source>,
    variables: BTreeMap<String, Value>,
    failed: BTreeSet<(String, String)>,
    pub(crate) files: Option<&'a dyn Files>,
    pub(crate) random: Random<'a>,
    steps_left: Cell<u64>,
    expansions_left: Cell<usize>,
}

impl<'a> EvalContext<'a> {
    /// A context for the expressions of one file, without variables and files.
    pub fn new(body: &Body, limits: &Limits, random: Random<'a>) -> EvalContext<'a> {
        EvalContext {
            source: Arc::clone(body.source()),
            variables: BTreeMap::new(),
            failed: BTreeSet::new(),
            files: None,
            random,
            steps_left: Cell::new(limits.evaluation_steps),
            expansions_left: Cell::new(limits.expansion_items),
        }
    }

    /// Allows the file functions.
    #[must_use]
    pub fn with_files(mut self, files: &'a dyn Files) -> EvalContext<'a> {
        self.files = Some(files);
        self
    }

    /// Sets a root name such as `var` or `local`.
    pub fn set(&mut self, root: &str, value: Value) {
        self.variables.insert(root.to_owned(), value);
    }

    /// Adds an attribute to the object under a root name.
    pub(crate) fn insert(&mut self, root: &str, name: &str, value: Value) {
        let entry = self.variables.entry(root.to_owned());
        if let Value::Object(items) = entry.or_insert_with(|| Value::Object(BTreeMap::new())) {
            items.insert(name.to_owned(), value);
        }
    }

    /// Notes that an attribute of a root object has no value because of a reported problem.
    pub(crate) fn fail(&mut self, root: &str, name: &str) {
        self.failed.insert((root.to_owned(), name.to_owned()));
    }

    pub(crate) fn has_failed(&self, root: &str, name: &str) -> bool {
        !self.failed.is_empty() && self.failed.contains(&(root.to_owned(), name.to_owned()))
    }

    /// The value of a root name.
    pub fn get(&self, root: &str) -> Option<&Value> {
        self.variables.get(root)
    }

    /// The text whose expressions are evaluated.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The same surroundings for expressions of another text, with the budget that is left.
    pub(crate) fn for_source(&self, source: &Arc<Source>) -> EvalContext<'a> {
        EvalContext {
            source: Arc::clone(source),
            variables: BTreeMap::new(),
            failed: BTreeSet::new(),
            files: self.files,
            random: self.random,
            steps_left: self.steps_left.clone(),
            expansions_left: self.expansions_left.clone(),
        }
    }

    /// Pays for work; fails once the file has used up its steps.
    pub(crate) fn charge(&self, steps: u64, span: Range<usize>) -> Result<(), Box<Diagnostic>> {
        if self.spend(steps) {
            return Ok(());
        }
        Err(Box::new(self.source.error(
            span,
            "Evaluation limit reached",
            "The expressions of this file do more work than is allowed for one file.",
        )))
    }

    /// Pays for work; false once the file has used up its steps.
    pub(crate) fn spend(&self, steps: u64) -> bool {
        let left = self.steps_left.get().checked_sub(steps);
        self.steps_left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Pays for one generated block; false once the file has generated too many.
    pub(crate) fn spend_expansion(&self) -> bool {
        let left = self.expansions_left.get().checked_sub(1);
        self.expansions_left.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// Whether a name belongs to the references that only the client can resolve.
pub(crate) fn is_runtime_root(name: &str) -> bool {
    RUNTIME_ROOTS.contains(&name) || name.starts_with(RUNTIME_PREFIX)
}

/// Names that are visible in a part of the file: a chain that ends at the context.
pub(crate) struct Scope<'s> {
    ctx: &'s EvalContext<'s>,
    parent: Option<&'s Scope<'s>>,
    names: Vec<(String, Value)>,
}

impl<'s> Scope<'s> {
    pub(crate) fn root(ctx: &'s EvalContext<'_>) -> Scope<'s> {
        Scope { ctx: shorten(ctx), parent: None, names: Vec::new() }
    }

    pub(crate) fn child(&'s self, names: Vec<(String, Value)>) -> Scope<'s> {
        Scope { ctx: self.ctx, parent: Some(self), names }
    }

    pub(crate) fn ctx(&self) -> &'s EvalContext<'s> {
        self.ctx
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&Value> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if let Some((_, value)) = here.names.iter().find(|(known, _)| known == name) {
                return Some(value);
            }
            scope = here.parent;
        }
        self.ctx.get(name)
    }

    /// All root names, for suggestions.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.ctx.variables.keys().map(String::as_str).collect();
        let mut scope = Some(self);
        while let Some(here) = scope {
            names.extend(here.names.iter().map(|(name, _)| name.as_str()));
            scope = here.parent;
        }
        names
    }
}

/// Shortens the lifetime of the services to that of the borrow.
fn shorten<'s>(ctx: &'s EvalContext<'_>) -> &'s EvalContext<'s> {
    ctx
}
