//! The functions: their table, and calling one with checked and converted arguments.

mod cidr;
mod collection;
mod crypto;
mod date;
mod encoding;
mod format;
mod numeric;
mod path;
mod text;
mod yaml;

use crate::context::EvalContext;
use crate::eval::{Outcome, fail};
use crate::value::Value;
use std::ops::Range;

/// What a parameter takes; values are converted to it where HCL converts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// A number.
    Num,
    /// A list.
    List,
    /// A map or object.
    Map,
    /// Anything but null.
    Any,
    /// Anything, null too.
    Nullable,
}

/// A named parameter.
pub(crate) type Param = (&'static str, Kind);

/// The arguments of a call, converted to the kinds that the parameters ask for.
pub(crate) struct Args<'c> {
    values: Vec<Value>,
    pub(crate) ctx: &'c EvalContext<'c>,
}

/// A function of the language.
pub(crate) struct Function {
    name: &'static str,
    params: &'static [Param],
    /// How many of the parameters, counted from the end, may be left out.
    optional: usize,
    /// What further arguments are.
    rest: Option<Param>,
    run: fn(&mut Args<'_>) -> Result<Value, String>,
}

impl Function {
    const fn new(
        name: &'static str,
        params: &'static [Param],
        run: fn(&mut Args<'_>) -> Result<Value, String>,
    ) -> Function {
        Function { name, params, optional: 0, rest: None, run }
    }

    const fn optional(self, optional: usize) -> Function {
        Function { optional, ..self }
    }

    const fn rest(self, rest: Param) -> Function {
        Function { rest: Some(rest), ..self }
    }
}

/// Functions by area; `try`, `can` and `convert` see expressions and live in the evaluator.
const AREAS: [&[Function]; 9] = [
    cidr::FUNCTIONS,
    collection::FUNCTIONS,
    crypto::FUNCTIONS,
    date::FUNCTIONS,
    encoding::FUNCTIONS,
    format::FUNCTIONS,
    numeric::FUNCTIONS,
    path::FUNCTIONS,
    text::FUNCTIONS,
];

/// The names of the functions that the evaluator treats itself.
const LAZY: [&str; 3] = ["can", "convert", "try"];

/// All names, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    AREAS.iter().flat_map(|area| area.iter()).map(|function| function.name).chain(LAZY)
}

pub(crate) fn find(name: &str) -> Option<&'static Function> {
    AREAS.iter().flat_map(|area| area.iter()).find(|function| function.name == name)
}

/// Checks the arguments and runs the function.
pub(crate) fn call(
    function: &Function,
    mut values: Vec<Value>,
    spans: &[Range<usize>],
    name_span: Range<usize>,
    whole: Range<usize>,
    ctx: &EvalContext<'_>,
) -> Outcome {
    let name = function.name;
    let needed = function.params.len() - function.optional;
    if let Some((missing, _)) = function.params[..needed].get(values.len()) {
        let detail = format!(
            "Function {name:?} expects {needed} argument(s). Missing value for {missing:?}."
        );
        return fail(ctx, whole, "Not enough function arguments", detail);
    }
    if function.rest.is_none() && values.len() > function.params.len() {
        let detail =
            format!("Function {name:?} expects only {} argument(s).", function.params.len());
        let span = spans[function.params.len()].clone();
        return fail(ctx, span, "Too many function arguments", detail);
    }
    for (index, value) in values.iter_mut().enumerate() {
        let Some((param, kind)) = function.params.get(index).copied().or(function.rest) else {
            break;
        };
        if let Err(required) = adapt(value, kind) {
            let detail = format!("Invalid value for {param:?} parameter of {name:?}: {required}.");
            return fail(ctx, spans[index].clone(), "Invalid function argument", detail);
        }
        ctx.charge(value.cost(), spans[index].clone())?;
    }
    let result = (function.run)(&mut Args { values, ctx });
    match result {
        Ok(value) => {
            ctx.charge(value.cost(), name_span)?;
            Ok(value)
        }
        Err(reason) => {
            let detail = format!("Call to function {name:?} failed: {reason}.");
            fail(ctx, name_span, "Error in function call", detail)
        }
    }
}

fn adapt(value: &mut Value, kind: Kind) -> Result<(), &'static str> {
    if value.is_null() && kind != Kind::Nullable {
        return Err("argument must not be null");
    }
    match kind {
        Kind::Text => *value = Value::String(value.to_text().ok_or("string required")?),
        Kind::Num => *value = Value::Number(value.to_number().ok_or("a number is required")?),
        Kind::List if !matches!(value, Value::List(_)) => return Err("list required"),
        Kind::Map if !matches!(value, Value::Object(_)) => return Err("map required"),
        _ => {}
    }
    Ok(())
}

impl<'c> Args<'c> {
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The text at a place whose parameter is a text; empty if it was left out.
    pub(crate) fn text(&self, index: usize) -> &str {
        self.values.get(index).and_then(Value::as_str).unwrap_or("")
    }

    /// The number at a place whose parameter is a number; zero if it was left out.
    pub(crate) fn number(&self, index: usize) -> crate::number::Number {
        self.values.get(index).and_then(Value::to_number).unwrap_or(crate::number::Number::Int(0))
    }

    /// The number at a place, which must be whole.
    pub(crate) fn int(&self, index: usize) -> Result<i64, String> {
        self.number(index).as_i64().ok_or_else(|| "a whole number is required".to_owned())
    }

    /// The list at a place whose parameter is a list.
    pub(crate) fn list(&self, index: usize) -> &[Value] {
        match self.values.get(index) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    pub(crate) fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Null)
    }

    pub(crate) fn all(&self) -> &[Value] {
        &self.values
    }

    pub(crate) fn take_all(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    /// The texts of a list at a place.
    pub(crate) fn texts(&self, index: usize) -> Result<Vec<String>, String> {
        let items = self.list(index).iter().enumerate();
        items
            .map(|(i, item)| item.to_text().ok_or_else(|| format!("element {i}: string required")))
            .collect()
    }

    /// Pays for a result of this many bytes before it is built.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), String> {
        if self.ctx.spend(bytes as u64 / 16) {
            Ok(())
        } else {
            Err("the result is larger than the limit for one file".to_owned())
        }
    }
}
