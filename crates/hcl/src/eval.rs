//! Expressions to values. Each kind of expression is one function; templates have their own file.

use crate::context::{EvalContext, Scope, is_runtime_root};
use crate::diagnostic::{CONSEQUENCE, Diagnostic};
use crate::functions;
use crate::number::Number;
use crate::suggest;
use crate::template;
use crate::types::{self, Type};
use crate::value::Value;
use hcl_edit::expr::{
    BinaryOp, BinaryOperator, Conditional, Expression, ForExpr, FuncCall, Object, ObjectKey,
    Traversal, TraversalOperator, UnaryOp, UnaryOperator,
};
use hcl_edit::{Decorated, Span};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// A value, or the first problem that prevents it.
pub(crate) type Outcome = Result<Value, Box<Diagnostic>>;

/// Deepest value that may be copied; deeper ones could exhaust the stack of whoever walks them.
const VALUE_DEPTH: usize = 100;

/// Evaluates an expression.
pub(crate) fn expression(expr: &Expression, scope: &Scope<'_>) -> Outcome {
    let ctx = scope.ctx();
    ctx.charge(1, span_of(expr))?;
    match expr {
        Expression::Null(_) => Ok(Value::Null),
        Expression::Bool(flag) => Ok(Value::Bool(*flag.value())),
        Expression::Number(number) => literal_number(expr, number, ctx),
        Expression::String(text) => {
            ctx.charge(text.len() as u64 / 16, span_of(expr))?;
            Ok(Value::String(text.value().clone()))
        }
        Expression::Array(items) => items
            .iter()
            .map(|item| expression(item, scope))
            .collect::<Result<_, _>>()
            .map(Value::List),
        Expression::Object(items) => object(items, scope),
        Expression::StringTemplate(text) => template::quoted(text, scope),
        Expression::HeredocTemplate(text) => template::heredoc(&text.template, scope),
        Expression::Parenthesis(inner) => expression(inner.inner(), scope),
        Expression::Variable(name) => match scope.lookup(name.as_str()) {
            Some(value) => copy(value, span_of(expr), ctx),
            None => unknown_name(name.as_str(), span_of(expr), span_of(expr), scope),
        },
        Expression::Conditional(cond) => conditional(cond, scope),
        Expression::FuncCall(call) => function_call(call, scope),
        Expression::Traversal(path) => traversal(path, scope),
        Expression::UnaryOp(op) => unary(op, scope),
        Expression::BinaryOp(op) => binary(op, scope),
        Expression::ForExpr(expr) => for_expression(expr, scope),
    }
}

pub(crate) fn span_of(node: &impl Span) -> Range<usize> {
    node.span().unwrap_or_default()
}

pub(crate) fn fail<T>(
    ctx: &EvalContext<'_>,
    span: Range<usize>,
    summary: &str,
    detail: impl Into<String>,
) -> Result<T, Box<Diagnostic>> {
    Err(Box::new(ctx.source().error(span, summary, detail)))
}

/// Copies a value and pays for it.
pub(crate) fn copy(value: &Value, span: Range<usize>, ctx: &EvalContext<'_>) -> Outcome {
    if depth(value) > VALUE_DEPTH {
        let detail = format!("A value may be nested {VALUE_DEPTH} levels deep.");
        return fail(ctx, span, "Value nested too deeply", detail);
    }
    ctx.charge(value.cost(), span)?;
    Ok(value.clone())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(items) => 1 + items.values().map(depth).max().unwrap_or(0),
        _ => 1,
    }
}

/// The digits as written keep whole numbers exact that the parser's number type would round.
fn literal_number(
    expr: &Expression,
    number: &hcl_edit::Formatted<hcl_edit::Number>,
    ctx: &EvalContext<'_>,
) -> Outcome {
    let digits: String =
        ctx.source().slice(span_of(expr)).chars().filter(|c| !c.is_whitespace()).collect();
    Number::parse(&digits)
        .or_else(|| number.value().as_f64().and_then(Number::from_f64))
        .map(Value::Number)
        .map_or_else(|| fail(ctx, span_of(expr), "Invalid number", "The number is too large."), Ok)
}

fn object(items: &Object, scope: &Scope<'_>) -> Outcome {
    let mut result = BTreeMap::new();
    for (key, value) in items.iter() {
        let name = match key {
            ObjectKey::Ident(name) => name.as_str().to_owned(),
            ObjectKey::Expression(expr) => object_key(expression(expr, scope)?, expr, scope)?,
        };
        result.insert(name, expression(value.expr(), scope)?);
    }
    Ok(Value::Object(result))
}

fn object_key(key: Value, expr: &Expression, scope: &Scope<'_>) -> Result<String, Box<Diagnostic>> {
    match key.to_text() {
        Some(text) => Ok(text),
        None => {
            let detail = format!("A key must be a string, not {}.", with_article(key.kind()));
            fail(scope.ctx(), span_of(expr), "Invalid object key", detail)
        }
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "object" => "an object".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// A name that is not in scope: text for the client if it is a runtime name, else a problem.
fn unknown_name(
    root: &str,
    root_span: Range<usize>,
    whole: Range<usize>,
    scope: &Scope<'_>,
) -> Outcome {
    if is_runtime_root(root) {
        let text = scope.ctx().source().slice(whole);
        return Ok(Value::String(format!("${{{text}}}")));
    }
    let declared = |under: &str| match scope.ctx().get(under) {
        Some(Value::Object(items)) => items.contains_key(root),
        _ => false,
    };
    let hint = match ["var", "local"].into_iter().find(|under| declared(under)) {
        Some(under) => format!(" Did you mean {under}.{root}?"),
        None => match suggest::hint(root, scope.names()) {
            hint if hint.is_empty() => format!(
                " A variable is written var.{root}, a local value local.{root}, and a text stands in \
                 quotes: \"{root}\"."
            ),
            hint => hint,
        },
    };
    let detail = format!("There is no variable named {root:?}.{hint}");
    fail(scope.ctx(), root_span, "Unknown variable", detail)
}

/// The root name of a plain reference such as `a.b[0]`.
pub(crate) fn reference_root(expr: &Expression) -> Option<&str> {
    match expr {
        Expression::Variable(name) => Some(name.as_str()),
        Expression::Traversal(path) => match &path.expr {
            Expression::Variable(name) => Some(name.as_str()),
            _ => None,
        },
        _ => None,
    }
}

fn traversal(path: &Traversal, scope: &Scope<'_>) -> Outcome {
    let whole = span_of(path);
    if let Expression::Variable(name) = &path.expr {
        if let Some(TraversalOperator::GetAttr(first)) = path.operators.first().map(|op| op.value())
            && scope.ctx().has_failed(name.as_str(), first.as_str())
        {
            return fail(scope.ctx(), whole, CONSEQUENCE, "");
        }
        return match scope.lookup(name.as_str()) {
            Some(Value::Object(items)) if is_undeclared(path, name.as_str(), items) => {
                undeclared(path, name.as_str(), items, scope)
            }
            Some(value) => follow(value, &path.operators, whole, scope),
            None => unknown_name(name.as_str(), span_of(&path.expr), whole, scope),
        };
    }
    let base = expression(&path.expr, scope)?;
    follow(&base, &path.operators, whole, scope)
}

/// Whether a reference names a variable or a local value that the file does not have.
fn is_undeclared(path: &Traversal, root: &str, items: &BTreeMap<String, Value>) -> bool {
    matches!(root, "var" | "local")
        && matches!(path.operators.first().map(|op| op.value()),
            Some(TraversalOperator::GetAttr(name)) if !items.contains_key(name.as_str()))
}

fn undeclared(
    path: &Traversal,
    root: &str,
    items: &BTreeMap<String, Value>,
    scope: &Scope<'_>,
) -> Outcome {
    let first = path.operators.first();
    let Some(TraversalOperator::GetAttr(name)) = first.map(|op| op.value()) else {
        return Ok(Value::Null);
    };
    let name = name.as_str();
    let span = first.and_then(Span::span).unwrap_or_else(|| span_of(path));
    let (what, advice) = match root {
        "var" => ("variable", format!("declare it with a block: variable {name:?} {{}}")),
        _ => ("local value", format!("set it in a block: locals {{ {name} = ... }}")),
    };
    let advice = match suggest::hint(name, items.keys().map(String::as_str)) {
        hint if hint.is_empty() => format!(" If it is missing, {advice}."),
        hint => hint,
    };
    let detail = format!("The file has no {what} named {name:?}.{advice}");
    fail(scope.ctx(), span, "Unsupported attribute", detail)
}

/// Applies `.name`, `[key]` and splats one after the other, copying only what is left at the end.
fn follow(
    value: &Value,
    operators: &[Decorated<TraversalOperator>],
    whole: Range<usize>,
    scope: &Scope<'_>,
) -> Outcome {
    let ctx = scope.ctx();
    let Some((operator, rest)) = operators.split_first() else {
        return copy(value, whole, ctx);
    };
    let span = operator.span().or_else(|| operator.value().span()).unwrap_or(whole.clone());
    ctx.charge(1, span.clone())?;
    match operator.value() {
        TraversalOperator::GetAttr(name) => {
            follow(attribute(value, name.as_str(), span, scope)?, rest, whole, scope)
        }
        TraversalOperator::LegacyIndex(index) => {
            let key = Value::Number(Number::Int(i128::from(*index.value())));
            follow(element(value, &key, span, scope)?, rest, whole, scope)
        }
        TraversalOperator::Index(key) => {
            let key = expression(key, scope)?;
            follow(element(value, &key, span, scope)?, rest, whole, scope)
        }
        TraversalOperator::FullSplat(_) => splat(value, rest, whole, scope).map(Value::List),
        TraversalOperator::AttrSplat(_) => {
            let is_attr = |op: &&Decorated<TraversalOperator>| {
                matches!(op.value(), TraversalOperator::GetAttr(_))
            };
            let (each, rest) = rest.split_at(rest.iter().take_while(is_attr).count());
            let items = splat(value, each, whole.clone(), scope)?;
            follow(&Value::List(items), rest, whole, scope)
        }
    }
}

/// The elements of a list, a single value as a list of one, and nothing for null.
fn splat(
    value: &Value,
    each: &[Decorated<TraversalOperator>],
    whole: Range<usize>,
    scope: &Scope<'_>,
) -> Result<Vec<Value>, Box<Diagnostic>> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => {
            items.iter().map(|item| follow(item, each, whole.clone(), scope)).collect()
        }
        single => Ok(vec![follow(single, each, whole, scope)?]),
    }
}

fn attribute<'v>(
    value: &'v Value,
    name: &str,
    span: Range<usize>,
    scope: &Scope<'_>,
) -> Result<&'v Value, Box<Diagnostic>> {
    let ctx = scope.ctx();
    match value {
        Value::Object(items) => match items.get(name) {
            Some(found) => Ok(found),
            None => {
                let hint = suggest::hint(name, items.keys().map(String::as_str));
                let detail =
                    format!("This object does not have an attribute named {name:?}.{hint}");
                fail(ctx, span, "Unsupported attribute", detail)
            }
        },
        Value::Null => fail(
            ctx,
            span,
            "Attempt to get attribute from null value",
            "This value is null, so it does not have any attributes.",
        ),
        other => {
            let detail = format!("{} has no attributes.", sentence_kind(other.kind()));
            fail(ctx, span, "Unsupported attribute", detail)
        }
    }
}

fn sentence_kind(kind: &str) -> String {
    let text = with_article(kind);
    text[..1].to_uppercase() + &text[1..]
}

fn element<'v>(
    value: &'v Value,
    key: &Value,
    span: Range<usize>,
    scope: &Scope<'_>,
) -> Result<&'v Value, Box<Diagnostic>> {
    let ctx = scope.ctx();
    let found = match value {
        Value::List(items) => match key.to_number() {
            Some(index) => {
                index.as_u64().and_then(|i| usize::try_from(i).ok()).and_then(|i| items.get(i))
            }
            None => {
                return fail(ctx, span, "Invalid index", "The index of a list must be a number.");
            }
        },
        Value::Object(items) => match key.to_text() {
            Some(name) => items.get(&name),
            None => {
                return fail(ctx, span, "Invalid index", "The key of an object must be a string.");
            }
        },
        other => {
            let detail = format!("{} has no elements.", sentence_kind(other.kind()));
            return fail(ctx, span, "Invalid index", detail);
        }
    };
    found.map_or_else(
        || {
            let detail =
                "The given index or key does not identify an element in this collection value.";
            fail(ctx, span, "Invalid index", detail)
        },
        Ok,
    )
}

/// Both results are evaluated, since their common type is the type of the whole; a problem counts
/// only in the one that is chosen.
fn conditional(cond: &Conditional, scope: &Scope<'_>) -> Outcome {
    let ctx = scope.ctx();
    let chosen = match expression(&cond.cond_expr, scope)? {
        Value::Null => {
            let detail = "The condition is null; it must be true or false.";
            return fail(ctx, span_of(&cond.cond_expr), "Null condition", detail);
        }
        value => match value.to_bool() {
            Some(flag) => flag,
            None => {
                let detail = "The condition expression must be of type bool.";
                return fail(ctx, span_of(&cond.cond_expr), "Incorrect condition type", detail);
            }
        },
    };
    let (chosen, other) = if chosen {
        (&cond.true_expr, &cond.false_expr)
    } else {
        (&cond.false_expr, &cond.true_expr)
    };
    let value = expression(chosen, scope)?;
    let Ok(other) = expression(other, scope) else {
        return Ok(value);
    };
    ctx.charge(value.cost() + other.cost(), span_of(cond))?;
    let common = Type::unify(&Type::of(&value), &Type::of(&other));
    match common.and_then(|ty| types::convert(&value, &ty, ctx).ok()) {
        Some(value) => Ok(value),
        None => {
            let detail = format!(
                "The true and false result expressions must have consistent types; one is {}, the \
                 other {}.",
                with_article(value.kind()),
                with_article(other.kind())
            );
            fail(ctx, span_of(cond), "Inconsistent conditional result types", detail)
        }
    }
}

fn function_call(call: &FuncCall, scope: &Scope<'_>) -> Outcome {
    let ctx = scope.ctx();
    let name = call.name.name.as_str();
    let name_span = span_of(&call.name.name);
    let args: Vec<&Expression> = call.args.iter().collect();
    match (name, &args[..]) {
        _ if call.name.is_namespaced() => {}
        ("try", [_, ..]) => return first_without_problem(&args, name_span, scope),
        ("can", [arg]) => return Ok(Value::Bool(expression(arg, scope).is_ok())),
        ("convert", [value, ty]) => {
            let ty = Type::parse(ty, ctx)?;
            let converted = types::convert(&expression(value, scope)?, &ty, ctx);
            return converted.or_else(|reason| {
                let detail = format!("Cannot convert the value: {reason}.");
                fail(ctx, span_of(*value), "Invalid function argument", detail)
            });
        }
        _ => {}
    }
    let function = match functions::find(name) {
        Some(function) if !call.name.is_namespaced() => function,
        _ => {
            let hint = suggest::hint(name, functions::names());
            let detail = format!("There is no function named {name:?}.{hint}");
            return fail(ctx, name_span, "Call to unknown function", detail);
        }
    };
    let mut values = Vec::with_capacity(args.len());
    let mut spans = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        let value = expression(arg, scope)?;
        if call.args.expand_final() && index + 1 == args.len() {
            let Value::List(items) = value else {
                let detail = "The expression before \"...\" must be a list.";
                return fail(ctx, span_of(*arg), "Invalid expanding argument value", detail);
            };
            spans.extend(items.iter().map(|_| span_of(*arg)));
            values.extend(items);
        } else {
            spans.push(span_of(*arg));
            values.push(value);
        }
    }
    let whole = call.span().unwrap_or(name_span.clone());
    functions::call(function, values, &spans, name_span, whole, ctx)
}

fn first_without_problem(args: &[&Expression], span: Range<usize>, scope: &Scope<'_>) -> Outcome {
    let mut problems = Vec::new();
    for arg in args {
        match expression(arg, scope) {
            Ok(value) => return Ok(value),
            Err(problem) => problems.push(format!("{}: {}", problem.summary, problem.detail)),
        }
    }
    let detail = format!("No expression succeeded: {}", problems.join(" "));
    fail(scope.ctx(), span, "Error in function call", detail)
}

fn unary(op: &UnaryOp, scope: &Scope<'_>) -> Outcome {
    let value = expression(&op.expr, scope)?;
    let (result, required) = match op.operator.value() {
        UnaryOperator::Neg => {
            (value.to_number().map(|n| Value::Number(n.neg())), "a number is required")
        }
        UnaryOperator::Not => (value.to_bool().map(|b| Value::Bool(!b)), "bool required"),
    };
    result.map_or_else(
        || {
            let detail = format!("Unsuitable value for unary operand: {required}.");
            fail(scope.ctx(), span_of(&op.expr), "Invalid operand", detail)
        },
        Ok,
    )
}

fn binary(op: &BinaryOp, scope: &Scope<'_>) -> Outcome {
    let left = expression(&op.lhs_expr, scope)?;
    let operator = *op.operator.value();
    match operator {
        BinaryOperator::And | BinaryOperator::Or => {
            let left = operand(left.to_bool(), &op.lhs_expr, "left", "bool required", scope)?;
            if left == (operator == BinaryOperator::Or) {
                return Ok(Value::Bool(left));
            }
            let right = expression(&op.rhs_expr, scope)?.to_bool();
            operand(right, &op.rhs_expr, "right", "bool required", scope).map(Value::Bool)
        }
        BinaryOperator::Eq => Ok(Value::Bool(left == expression(&op.rhs_expr, scope)?)),
        BinaryOperator::NotEq => Ok(Value::Bool(left != expression(&op.rhs_expr, scope)?)),
        _ => {
            let right = expression(&op.rhs_expr, scope)?;
            let need = "a number is required";
            if operator == BinaryOperator::Plus && matches!(left, Value::String(_)) {
                let need = "a number is required; texts are joined in one text: \"${a}${b}\"";
                operand(left.to_number(), &op.lhs_expr, "left", need, scope)?;
            }
            let left = operand(left.to_number(), &op.lhs_expr, "left", need, scope)?;
            let right = operand(right.to_number(), &op.rhs_expr, "right", need, scope)?;
            arithmetic(op, operator, left, right, scope)
        }
    }
}

fn operand<T>(
    value: Option<T>,
    expr: &Expression,
    side: &str,
    required: &str,
    scope: &Scope<'_>,
) -> Result<T, Box<Diagnostic>> {
    value.map_or_else(
        || {
            let detail = format!("Unsuitable value for {side} operand: {required}.");
            fail(scope.ctx(), span_of(expr), "Invalid operand", detail)
        },
        Ok,
    )
}

fn arithmetic(
    op: &BinaryOp,
    operator: BinaryOperator,
    left: Number,
    right: Number,
    scope: &Scope<'_>,
) -> Outcome {
    let order = left.order(right);
    let result = match operator {
        BinaryOperator::Less => return Ok(Value::Bool(order == Ordering::Less)),
        BinaryOperator::LessEq => return Ok(Value::Bool(order != Ordering::Greater)),
        BinaryOperator::Greater => return Ok(Value::Bool(order == Ordering::Greater)),
        BinaryOperator::GreaterEq => return Ok(Value::Bool(order != Ordering::Less)),
        BinaryOperator::Plus => left.add(right),
        BinaryOperator::Minus => left.sub(right),
        BinaryOperator::Mul => left.mul(right),
        BinaryOperator::Div => left.div(right),
        _ => left.rem(right),
    };
    match result {
        Some(number) => Ok(Value::Number(number)),
        None if right == Number::Int(0) => {
            fail(scope.ctx(), span_of(op), "Division by zero", "Numbers cannot be divided by zero.")
        }
        None => fail(scope.ctx(), span_of(op), "Operation failed", "The result is too large."),
    }
}

/// The keys and values that a `for` or a `dynamic` block goes through.
pub(crate) fn pairs(
    collection: Value,
    span: Range<usize>,
    ctx: &EvalContext<'_>,
) -> Result<Vec<(Value, Value)>, Box<Diagnostic>> {
    match collection {
        Value::List(items) => {
            Ok(items.into_iter().enumerate().map(|(i, v)| (Value::Number(i.into()), v)).collect())
        }
        Value::Object(items) => Ok(items.into_iter().map(|(k, v)| (Value::String(k), v)).collect()),
        Value::Null => {
            fail(ctx, span, "Iteration over null value", "A null value cannot be iterated over.")
        }
        other => {
            let detail = format!(
                "{} cannot be iterated over; a list or object can.",
                sentence_kind(other.kind())
            );
            fail(ctx, span, "Iteration over non-iterable value", detail)
        }
    }
}

pub(crate) fn loop_names(
    key_name: Option<&str>,
    value_name: &str,
    key: Value,
    value: Value,
) -> Vec<(String, Value)> {
    let mut names = vec![(value_name.to_owned(), value)];
    if let Some(key_name) = key_name {
        names.push((key_name.to_owned(), key));
    }
    names
}

fn for_expression(expr: &ForExpr, scope: &Scope<'_>) -> Outcome {
    let ctx = scope.ctx();
    let intro = &expr.intro;
    let collection = expression(&intro.collection_expr, scope)?;
    let key_name = intro.key_var.as_ref().map(|name| name.as_str());
    let mut list = Vec::new();
    let mut object: BTreeMap<String, Value> = BTreeMap::new();
    for (key, value) in pairs(collection, span_of(&intro.collection_expr), ctx)? {
        let scope = scope.child(loop_names(key_name, intro.value_var.as_str(), key, value));
        if let Some(cond) = &expr.cond {
            match expression(&cond.expr, &scope)?.to_bool() {
                Some(true) => {}
                Some(false) => continue,
                None => {
                    let detail = "The 'if' clause of a 'for' expression must be a bool.";
                    return fail(ctx, span_of(&cond.expr), "Invalid 'for' condition", detail);
                }
            }
        }
        let Some(key_expr) = &expr.key_expr else {
            list.push(expression(&expr.value_expr, &scope)?);
            continue;
        };
        let key = object_key(expression(key_expr, &scope)?, key_expr, &scope)?;
        let value = expression(&expr.value_expr, &scope)?;
        if expr.grouping {
            if let Value::List(group) = object.entry(key).or_insert(Value::List(Vec::new())) {
                group.push(value);
            }
            continue;
        }
        if object.contains_key(&key) {
            let detail = format!(
                "Two items have the key {key:?}; with \"...\" behind the value they are grouped."
            );
            return fail(ctx, span_of(key_expr), "Duplicate object key", detail);
        }
        object.insert(key, value);
    }
    Ok(if expr.key_expr.is_some() { Value::Object(object) } else { Value::List(list) })
}
