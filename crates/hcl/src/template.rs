//! Templates: texts with `${...}` and `%{...}` in them.

use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::eval::{self, Outcome, fail, span_of};
use crate::value::Value;
use hcl_edit::Span;
use hcl_edit::template::{Directive, Element, ForDirective, IfDirective, Interpolation, Template};

/// How a literal is trimmed next to a `~`: a heredoc is read line by line, so only the rest of the
/// line goes; a quoted text is one piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Quoted,
    Heredoc,
}

/// A quoted template. If it is one interpolation and nothing else, the value keeps its type.
pub(crate) fn quoted(template: &Template, scope: &Scope<'_>) -> Outcome {
    if let Some(Element::Interpolation(single)) = template.as_single_element()
        && runtime_text(single, scope).is_none()
    {
        return eval::expression(&single.expr, scope);
    }
    render(template, Form::Quoted, scope)
}

/// A heredoc; the parser has removed the indentation of the `<<-` form.
pub(crate) fn heredoc(template: &Template, scope: &Scope<'_>) -> Outcome {
    render(template, Form::Heredoc, scope)
}

fn render(template: &Template, form: Form, scope: &Scope<'_>) -> Outcome {
    let mut out = String::new();
    elements(template, Edges { start: false, end: false }, form, scope, &mut out)?;
    Ok(Value::String(out))
}

/// Whether the texts at the ends of a template are trimmed by what surrounds it.
#[derive(Clone, Copy)]
struct Edges {
    start: bool,
    end: bool,
}

fn elements(
    template: &Template,
    edges: Edges,
    form: Form,
    scope: &Scope<'_>,
    out: &mut String,
) -> Result<(), Box<Diagnostic>> {
    let count = template.len();
    for index in 0..count {
        let Some(element) = template.get(index) else { break };
        match element {
            Element::Literal(text) => {
                let before = match index.checked_sub(1).and_then(|i| template.get(i)) {
                    Some(previous) => strips_after(previous),
                    None => edges.start,
                };
                let after = template.get(index + 1).map_or(edges.end, strips_before);
                push(trimmed(text, before, after, form), element, scope, out)?;
            }
            Element::Interpolation(interpolation) => {
                let text = interpolated(interpolation, scope)?;
                push(&text, element, scope, out)?;
            }
            Element::Directive(directive) => match &**directive {
                Directive::If(directive) => if_directive(directive, form, scope, out)?,
                Directive::For(directive) => for_directive(directive, form, scope, out)?,
            },
        }
    }
    Ok(())
}

fn push(
    text: &str,
    at: &Element,
    scope: &Scope<'_>,
    out: &mut String,
) -> Result<(), Box<Diagnostic>> {
    scope.ctx().charge(1 + text.len() as u64 / 16, span_of(at))?;
    out.push_str(text);
    Ok(())
}

fn strips_before(element: &Element) -> bool {
    match element {
        Element::Literal(_) => false,
        Element::Interpolation(interpolation) => interpolation.strip.strip_start(),
        Element::Directive(directive) => match &**directive {
            Directive::If(directive) => directive.if_expr.strip.strip_start(),
            Directive::For(directive) => directive.for_expr.strip.strip_start(),
        },
    }
}

fn strips_after(element: &Element) -> bool {
    match element {
        Element::Literal(_) => false,
        Element::Interpolation(interpolation) => interpolation.strip.strip_end(),
        Element::Directive(directive) => match &**directive {
            Directive::If(directive) => directive.endif_expr.strip.strip_end(),
            Directive::For(directive) => directive.endfor_expr.strip.strip_end(),
        },
    }
}

fn trimmed(text: &str, before: bool, after: bool, form: Form) -> &str {
    let mut text = text;
    if before {
        let line = match (form, text.find('\n')) {
            (Form::Heredoc, Some(end)) => end + 1,
            _ => text.len(),
        };
        let rest = text[..line].trim_start();
        text = &text[line - rest.len()..];
    }
    if after {
        // A line break belongs to the line it ends, so the last line is what follows the last one.
        let line = match (form, text.rfind('\n')) {
            (Form::Heredoc, Some(end)) if end + 1 < text.len() => end + 1,
            (Form::Heredoc, Some(end)) => text[..end].rfind('\n').map_or(0, |start| start + 1),
            _ => 0,
        };
        let rest = text[line..].trim_end();
        text = &text[..line + rest.len()];
    }
    text
}

/// The interpolation as written, if it names something only the client can resolve: a reference
/// whose root is not in scope.
fn runtime_text(interpolation: &Interpolation, scope: &Scope<'_>) -> Option<String> {
    let root = eval::reference_root(&interpolation.expr)?;
    if scope.lookup(root).is_some() {
        return None;
    }
    let expr = scope.ctx().source().slice(span_of(&interpolation.expr));
    let whole = scope.ctx().source().slice(interpolation.span().unwrap_or_default());
    Some(if whole.is_empty() { format!("${{{expr}}}") } else { whole.to_owned() })
}

fn interpolated(
    interpolation: &Interpolation,
    scope: &Scope<'_>,
) -> Result<String, Box<Diagnostic>> {
    if let Some(text) = runtime_text(interpolation, scope) {
        return Ok(text);
    }
    let value = eval::expression(&interpolation.expr, scope)?;
    let span = span_of(&interpolation.expr);
    match value.to_text() {
        Some(text) => Ok(text),
        None if value.is_null() => fail(
            scope.ctx(),
            span,
            "Invalid template interpolation value",
            "The expression result is null. Cannot include a null value in a string template.",
        ),
        None => fail(
            scope.ctx(),
            span,
            "Invalid template interpolation value",
            format!(
                "Cannot include {} in a string template: string required. join(\", \", list) makes a text \
                 of a list, jsonencode(value) of anything.",
                value.described()
            ),
        ),
    }
}

fn if_directive(
    directive: &IfDirective,
    form: Form,
    scope: &Scope<'_>,
    out: &mut String,
) -> Result<(), Box<Diagnostic>> {
    let head = &directive.if_expr;
    let end = directive.endif_expr.strip.strip_start();
    let chosen = match eval::expression(&head.cond_expr, scope)?.to_bool() {
        Some(chosen) => chosen,
        None => {
            let detail = "The condition expression must be of type bool.";
            return fail(scope.ctx(), span_of(&head.cond_expr), "Incorrect condition type", detail);
        }
    };
    let other = directive.else_expr.as_ref();
    match (chosen, other) {
        (true, _) => {
            let end = other.map_or(end, |other| other.strip.strip_start());
            let edges = Edges { start: head.strip.strip_end(), end };
            elements(&head.template, edges, form, scope, out)
        }
        (false, Some(other)) => {
            let edges = Edges { start: other.strip.strip_end(), end };
            elements(&other.template, edges, form, scope, out)
        }
        (false, None) => Ok(()),
    }
}

fn for_directive(
    directive: &ForDirective,
    form: Form,
    scope: &Scope<'_>,
    out: &mut String,
) -> Result<(), Box<Diagnostic>> {
    let head = &directive.for_expr;
    let collection = eval::expression(&head.collection_expr, scope)?;
    let key_name = head.key_var.as_ref().map(|name| name.as_str());
    let edges =
        Edges { start: head.strip.strip_end(), end: directive.endfor_expr.strip.strip_start() };
    for (key, value) in eval::pairs(collection, span_of(&head.collection_expr), scope.ctx())? {
        scope.ctx().charge(1, span_of(&head.collection_expr))?;
        let names = eval::loop_names(key_name, head.value_var.as_str(), key, value);
        elements(&head.template, edges, form, &scope.child(names), out)?;
    }
    Ok(())
}
