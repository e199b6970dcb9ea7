//! `variable` and `locals` blocks: declarations, the values given from outside, and the values
//! that `var` and `local` have in the end.

use crate::context::{EvalContext, Random, Scope};
use crate::diagnostic::{CONSEQUENCE, Diagnostic, Diagnostics, Source};
use crate::eval;
use crate::limits::{self, Limits};
use crate::suggest;
use crate::syntax::{self, Attribute, Block, Body};
use crate::types::{self, Type};
use crate::value::Value;
use hcl_edit::expr::{Expression, Traversal, TraversalOperator};
use hcl_edit::visit::{self, Visit};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The kinds of blocks read here; readers of the rest of the file ignore them.
pub const BLOCKS: [&str; 3] = ["variable", "variables", "locals"];
/// What the names of environment variables that set a variable start with.
pub const ENVIRONMENT_PREFIX: &str = "NOMAD_VAR_";

/// A value given from outside the file. Of several for one name, the last counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Assigned,
    /// Where it was given, as messages name it: `-var n=1`, `prod.vars`.
    pub source: String,
    /// What it means if the file does not declare the variable.
    pub undeclared: Undeclared,
}

/// A value before it has the type of its variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Assigned {
    /// A text from a flag or the environment: the value of a variable of a simple type, an
    /// expression otherwise.
    Text(String),
    /// A value from a file.
    Value(Value),
}

/// What to do with a value for a variable that the file does not declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undeclared {
    /// Report it.
    Refuse,
    /// Go on without it, as with the environment.
    Ignore,
}

/// A declared variable, for those who list or hide variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether its value must not be shown.
    pub sensitive: bool,
}

/// The assignments of a variable file, in HCL or JSON.
pub fn read_var_file(
    file: &str,
    text: &str,
    limits: &Limits,
    random: Random<'_>,
    undeclared: Undeclared,
) -> Result<Vec<Assignment>, Diagnostics> {
    let assignment = |name: &str, value: Value| Assignment {
        name: name.to_owned(),
        value: Assigned::Value(value),
        source: file.to_owned(),
        undeclared,
    };
    if text.trim_start().starts_with('{') {
        let source = Source::new(file, text);
        if text.len() > limits.source_bytes {
            return Err(vec![source.error(0..0, "File too large", "The file is too large.")]);
        }
        return match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
            Ok(items) => {
                Ok(items.iter().map(|(name, item)| assignment(name, Value::from(item))).collect())
            }
            Err(error) => Err(vec![source.error(0..0, "Invalid JSON", error.to_string())]),
        };
    }
    let body = syntax::parse(file, text, limits)?;
    let ctx = EvalContext::new(&body, limits, random);
    let mut problems = Vec::new();
    for block in body.blocks() {
        let detail = "A variable file consists of arguments only: name = value.";
        problems.push(body.source().error(block.kind_span(), "Unexpected block", detail));
    }
    let mut result = Vec::new();
    for attribute in body.attributes() {
        match eval::expression(attribute.expr(), &Scope::root(&ctx)) {
            Ok(value) => result.push(assignment(attribute.name(), value)),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(result) } else { Err(problems) }
}

/// The assignments in an environment, given as names and values.
pub fn read_environment<'e>(
    variables: impl IntoIterator<Item = (&'e str, &'e str)>,
) -> Vec<Assignment> {
    let named = variables.into_iter();
    named
        .filter_map(|(name, value)| {
            Some(Assignment {
                name: name.strip_prefix(ENVIRONMENT_PREFIX)?.to_owned(),
                value: Assigned::Text(value.to_owned()),
                source: format!("environment variable {name}"),
                undeclared: Undeclared::Ignore,
            })
        })
        .collect()
}

/// The assignment of a flag, `name=value`.
pub fn read_flag(text: &str, undeclared: Undeclared) -> Result<Assignment, String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form name=value"))?;
    Ok(Assignment {
        name: name.trim().to_owned(),
        value: Assigned::Text(value.to_owned()),
        source: format!("flag -var {}", name.trim()),
        undeclared,
    })
}

/// Sets `var` and `local` of the context from the file's declarations and the values given.
/// Returns the declarations and every problem.
pub fn resolve(
    body: &Body,
    ctx: &mut EvalContext<'_>,
    assignments: &[Assignment],
) -> (Vec<Declaration>, Diagnostics) {
    let mut problems = Problems(Vec::new());
    let variables = declared(body, ctx, &mut problems);
    report_undeclared(body, &variables, assignments, &mut problems);
    ctx.set("var", Value::Object(BTreeMap::new()));
    ctx.set("local", Value::Object(BTreeMap::new()));
    let mut values = Vec::new();
    for variable in &variables {
        let given = assignments.iter().rev().find(|given| given.name == variable.declaration.name);
        match variable.value(given, ctx) {
            Ok(value) => values.push((variable, value)),
            Err(problem) => {
                ctx.fail("var", &variable.declaration.name);
                problems.add(*problem);
            }
        }
    }
    for (variable, value) in values {
        let name = &variable.declaration.name;
        ctx.insert("var", name, value);
        for rule in &variable.rules {
            if let Err(problem) = rule.check(variable, ctx) {
                problems.add(*problem);
            }
        }
    }
    resolve_locals(body, ctx, &mut problems);
    (variables.into_iter().map(|variable| variable.declaration).collect(), problems.0)
}

struct Problems(Diagnostics);

impl Problems {
    fn add(&mut self, problem: Diagnostic) {
        if self.0.len() < limits::DIAGNOSTICS && !problem.is_consequence() {
            self.0.push(problem);
        }
    }
}

struct Variable<'b> {
    declaration: Declaration,
    span: Range<usize>,
    ty: Option<Type>,
    default: Option<Value>,
    default_span: Range<usize>,
    rules: Vec<Rule<'b>>,
    /// A problem with the declaration is reported already; one with the value would follow from it.
    broken: bool,
}

struct Rule<'b> {
    span: Range<usize>,
    condition: Attribute<'b>,
    message: Attribute<'b>,
}

fn report_undeclared(
    body: &Body,
    variables: &[Variable<'_>],
    assignments: &[Assignment],
    problems: &mut Problems,
) {
    let names = || variables.iter().map(|variable| variable.declaration.name.as_str());
    for given in assignments {
        if given.undeclared == Undeclared::Refuse && names().all(|name| name != given.name) {
            let hint = suggest::hint(&given.name, names());
            let detail = format!(
                "A value for {:?} was given by {}, but the file declares no such variable.{hint}",
                given.name, given.source
            );
            problems.add(body.source().error(0..0, "Undefined variable", detail));
        }
    }
}

fn declared<'b>(
    body: &'b Body,
    ctx: &EvalContext<'_>,
    problems: &mut Problems,
) -> Vec<Variable<'b>> {
    let mut variables: Vec<Variable<'b>> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |variable: Variable<'b>, problems: &mut Problems| {
        let name = &variable.declaration.name;
        if seen.insert(name.clone()) {
            variables.push(variable);
            return;
        }
        let detail = format!("Duplicate {name} variable definition found.");
        problems.add(body.source().error(variable.span, "Duplicate variable", detail));
    };
    for block in body.blocks() {
        match block.kind() {
            "variable" => {
                if let Some(variable) = declaration(block, ctx, problems) {
                    add(variable, problems);
                }
            }
            "variables" => {
                for attribute in block.attributes() {
                    let default = value_of(attribute, ctx, problems);
                    let declaration = Declaration {
                        name: attribute.name().to_owned(),
                        description: String::new(),
                        sensitive: false,
                    };
                    let broken = default.is_none();
                    let span = attribute.name_span();
                    let default_span = attribute.value_span();
                    let rules = Vec::new();
                    let ty = None;
                    add(
                        Variable { declaration, span, ty, default, default_span, rules, broken },
                        problems,
                    );
                }
            }
            _ => {}
        }
    }
    variables
}

fn value_of(
    attribute: Attribute<'_>,
    ctx: &EvalContext<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    match eval::expression(attribute.expr(), &Scope::root(ctx)) {
        Ok(value) => Some(value),
        Err(problem) => {
            problems.add(*problem);
            None
        }
    }
}

/// Whether HCL takes a text as a name.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

fn declaration<'b>(
    block: Block<'b>,
    ctx: &EvalContext<'_>,
    problems: &mut Problems,
) -> Option<Variable<'b>> {
    let source = ctx.source();
    let labels = block.labels();
    let [(name, span)] = &labels[..] else {
        let detail = "All variable blocks must have 1 labels (name).";
        problems.add(source.error(block.kind_span(), "Missing name for variable", detail));
        return None;
    };
    if !is_name(name) {
        let detail = format!(
            "The name {name:?} must start with a letter or underscore and may contain only letters, \
             digits, underscores, and dashes."
        );
        problems.add(source.error(span.clone(), "Invalid variable name", detail));
        return None;
    }
    let mut variable = Variable {
        declaration: Declaration {
            name: name.clone(),
            description: String::new(),
            sensitive: false,
        },
        span: span.clone(),
        ty: None,
        default: None,
        default_span: span.clone(),
        rules: Vec::new(),
        broken: false,
    };
    for attribute in block.attributes() {
        variable.read(attribute, ctx, problems);
    }
    for inner in block.blocks() {
        if inner.kind() == "validation" {
            variable.rules.extend(Rule::read(inner, ctx, problems));
            continue;
        }
        let detail = format!("Blocks of type {:?} are not expected here.", inner.kind());
        problems.add(source.error(inner.kind_span(), "Unsupported block type", detail));
    }
    variable.check_default(ctx, problems);
    Some(variable)
}

impl<'b> Variable<'b> {
    fn read(&mut self, attribute: Attribute<'b>, ctx: &EvalContext<'_>, problems: &mut Problems) {
        let unsuitable = |problems: &mut Problems, required: &str| {
            let detail = format!("Unsuitable value for {:?}: {required}", attribute.name());
            let span = attribute.value_span();
            problems.add(ctx.source().error(span, "Unsuitable value type", detail));
        };
        match attribute.name() {
            "type" => match Type::parse(attribute.expr(), ctx) {
                Ok(ty) => self.ty = Some(ty),
                Err(problem) => {
                    self.broken = true;
                    problems.add(*problem);
                }
            },
            "default" => {
                self.default_span = attribute.value_span();
                self.default = value_of(attribute, ctx, problems);
                self.broken |= self.default.is_none();
            }
            "description" => match value_of(attribute, ctx, problems) {
                Some(Value::String(text)) => self.declaration.description = text,
                Some(_) => unsuitable(problems, "string required"),
                None => {}
            },
            "sensitive" => match value_of(attribute, ctx, problems).map(|value| value.to_bool()) {
                Some(Some(flag)) => self.declaration.sensitive = flag,
                Some(None) => unsuitable(problems, "a bool is required"),
                None => {}
            },
            name => {
                let known = ["type", "default", "description", "sensitive"];
                let hint = suggest::hint(name, known);
                let detail = format!("An argument named {name:?} is not expected here.{hint}");
                let span = attribute.name_span();
                self.broken = true;
                problems.add(ctx.source().error(span, "Unsupported argument", detail));
            }
        }
    }

    fn check_default(&mut self, ctx: &EvalContext<'_>, problems: &mut Problems) {
        let Some(default) = &self.default else { return };
        match &self.ty {
            Some(ty) => match types::convert(default, ty, ctx) {
                Ok(value) => self.default = Some(value),
                Err(reason) => {
                    self.broken = true;
                    self.default = None;
                    let detail = format!(
                        "This default value is not compatible with the variable's type constraint: \
                         {reason}."
                    );
                    let span = self.default_span.clone();
                    let summary = "Invalid default value for variable";
                    problems.add(ctx.source().error(span, summary, detail));
                }
            },
            // Without a constraint the default of a simple type stands for it.
            None => {
                self.ty = match Type::of(default) {
                    Type::Tuple(_) | Type::Object(_) | Type::Any => None,
                    simple => Some(simple),
                }
            }
        }
    }

    fn value(&self, given: Option<&Assignment>, ctx: &EvalContext<'_>) -> eval::Outcome {
        let name = &self.declaration.name;
        let Some(given) = given else {
            return match &self.default {
                Some(value) => Ok(value.clone()),
                None if self.broken => eval::fail(ctx, self.span.clone(), CONSEQUENCE, ""),
                None => {
                    let detail = format!(
                        "A used variable must be set or have a default value. Set it with -var {name}=..., \
                         with -var-file or with {ENVIRONMENT_PREFIX}{name} in the environment."
                    );
                    let summary = format!("Unset variable {name:?}");
                    eval::fail(ctx, self.span.clone(), &summary, detail)
                }
            };
        };
        let invalid = |reason: String| {
            let detail = format!("The value given by {} does not fit: {reason}.", given.source);
            let summary = format!("Invalid value for variable {name:?}");
            Box::new(ctx.source().error(self.span.clone(), summary, detail))
        };
        let value = match &given.value {
            Assigned::Value(value) => value.clone(),
            Assigned::Text(text) if self.takes_text() => Value::string(text.as_str()),
            Assigned::Text(text) => evaluate_text(text, given, ctx).map_err(|problem| {
                invalid(format!("{}: {}", problem.summary, problem.detail.trim_end_matches('.')))
            })?,
        };
        match &self.ty {
            Some(ty) => types::convert(&value, ty, ctx).map_err(invalid),
            None => Ok(value),
        }
    }

    /// Whether the text of a flag is the value itself.
    fn takes_text(&self) -> bool {
        match (&self.ty, &self.default) {
            (Some(Type::String | Type::Number | Type::Bool), _) => true,
            (None | Some(Type::Any), default) => {
                !matches!(default, Some(Value::List(_) | Value::Object(_)))
            }
            _ => false,
        }
    }
}

fn evaluate_text(text: &str, given: &Assignment, ctx: &EvalContext<'_>) -> eval::Outcome {
    let source = Source::new(&given.source, text);
    let expr = syntax::parse_expression(&source, &Limits::default()).map_err(Box::new)?;
    let ctx = ctx.for_source(&source);
    eval::expression(&expr, &Scope::root(&ctx))
}

impl<'b> Rule<'b> {
    fn read(block: Block<'b>, ctx: &EvalContext<'_>, problems: &mut Problems) -> Option<Rule<'b>> {
        let mut condition = None;
        let mut message = None;
        for attribute in block.attributes() {
            match attribute.name() {
                "condition" => condition = Some(attribute),
                "error_message" => message = Some(attribute),
                name => {
                    let hint = suggest::hint(name, ["condition", "error_message"]);
                    let detail = format!("An argument named {name:?} is not expected here.{hint}");
                    let span = attribute.name_span();
                    problems.add(ctx.source().error(span, "Unsupported argument", detail));
                }
            }
        }
        if condition.is_none() || message.is_none() {
            let detail = "A validation needs the arguments \"condition\" and \"error_message\".";
            problems.add(ctx.source().error(
                block.kind_span(),
                "Missing required argument",
                detail,
            ));
        }
        Some(Rule { span: block.kind_span(), condition: condition?, message: message? })
    }

    fn check(&self, variable: &Variable<'_>, ctx: &EvalContext<'_>) -> Result<(), Box<Diagnostic>> {
        let scope = Scope::root(ctx);
        let holds = eval::expression(self.condition.expr(), &scope)?.to_bool();
        match holds {
            Some(true) => Ok(()),
            Some(false) => {
                let message = eval::expression(self.message.expr(), &scope)?;
                let at = ctx.source().position(self.span.start);
                let detail = format!(
                    "{}\n\nThis was checked by the validation rule at {}:{},{}.",
                    message.to_text().unwrap_or_default(),
                    ctx.source().file(),
                    at.line,
                    at.column
                );
                let summary = format!("Invalid value for variable {:?}", variable.declaration.name);
                eval::fail(ctx, variable.default_span.clone(), &summary, detail)
            }
            None => {
                let detail = "The condition of a validation must be true or false.";
                let span = self.condition.value_span();
                eval::fail(ctx, span, "Invalid variable validation result", detail)
            }
        }
    }
}

/// Evaluates locals in the order of their dependencies.
fn resolve_locals(body: &Body, ctx: &mut EvalContext<'_>, problems: &mut Problems) {
    let mut locals: BTreeMap<&str, Attribute<'_>> = BTreeMap::new();
    for block in body.blocks().filter(|block| block.kind() == "locals") {
        for attribute in block.attributes() {
            if let Some(first) = locals.get(attribute.name()) {
                let at = ctx.source().position(first.name_span().start);
                let detail = format!(
                    "The local value {:?} was already defined at line {}.",
                    attribute.name(),
                    at.line
                );
                let span = attribute.name_span();
                problems.add(ctx.source().error(span, "Duplicate value in locals", detail));
                continue;
            }
            locals.insert(attribute.name(), attribute);
        }
    }
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wanted_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, attribute) in &locals {
        let mut references = References(BTreeSet::new());
        references.visit_expr(attribute.expr());
        let known = references.0.iter().filter_map(|wanted| locals.get_key_value(wanted.as_str()));
        let known: Vec<&str> = known.map(|(wanted, _)| *wanted).collect();
        waits.insert(name, known.len());
        for wanted in known {
            wanted_by.entry(wanted).or_default().push(name);
        }
    }
    let mut ready: Vec<&str> =
        waits.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    let mut done = BTreeSet::new();
    while let Some(name) = ready.pop() {
        done.insert(name);
        match eval::expression(locals[name].expr(), &Scope::root(ctx)) {
            Ok(value) => ctx.insert("local", name, value),
            Err(problem) => {
                ctx.fail("local", name);
                problems.add(*problem);
            }
        }
        for waiting in wanted_by.get(name).into_iter().flatten() {
            if let Some(count) = waits.get_mut(waiting) {
                *count -= 1;
                if *count == 0 {
                    ready.push(waiting);
                }
            }
        }
    }
    let stuck: Vec<&str> = locals.keys().filter(|name| !done.contains(*name)).copied().collect();
    for name in &stuck {
        ctx.fail("local", name);
    }
    if let Some(first) = stuck.first() {
        let detail = format!(
            "These local values refer to each other or to one that does: {}.",
            stuck.join(", ")
        );
        problems.add(ctx.source().error(
            locals[first].name_span(),
            "Cycle in local values",
            detail,
        ));
    }
}

/// Collects the names behind `local.` and in `local["..."]`.
struct References(BTreeSet<String>);

impl Visit for References {
    fn visit_traversal(&mut self, node: &Traversal) {
        if let Expression::Variable(root) = &node.expr
            && root.as_str() == "local"
            && let Some(first) = node.operators.first()
        {
            match first.value() {
                TraversalOperator::GetAttr(name) => {
                    self.0.insert(name.as_str().to_owned());
                }
                TraversalOperator::Index(Expression::String(name)) => {
                    self.0.insert(name.value().clone());
                }
                _ => {}
            }
        }
        visit::visit_traversal(self, node);
    }
}
