//! Types: the constraints of variables, conversion to them, and the common type of two values.

use crate::context::{EvalContext, Scope};
use crate::diagnostic::Diagnostic;
use crate::eval;
use crate::value::Value;
use hcl_edit::Span;
use hcl_edit::expr::{Expression, FuncCall, ObjectKey};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A type as `variable` blocks and `convert` spell it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    /// Whatever comes.
    Any,
    /// A text.
    String,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A sequence of one type.
    List(Box<Type>),
    /// A sorted sequence of one type without doubles.
    Set(Box<Type>),
    /// Names with values of one type.
    Map(Box<Type>),
    /// Known names, each with its type.
    Object(BTreeMap<String, Attribute>),
    /// A sequence of known length, each place with its type.
    Tuple(Vec<Type>),
}

/// One attribute of an object type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute {
    /// The type of its value.
    pub(crate) ty: Type,
    /// True if it may be absent; it is null then, or its default.
    pub(crate) optional: bool,
    /// The value of an absent one.
    pub(crate) default: Option<Value>,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("any"),
            Type::String => f.write_str("string"),
            Type::Number => f.write_str("number"),
            Type::Bool => f.write_str("bool"),
            Type::List(inner) => write!(f, "list of {inner}"),
            Type::Set(inner) => write!(f, "set of {inner}"),
            Type::Map(inner) => write!(f, "map of {inner}"),
            Type::Object(_) => f.write_str("object"),
            Type::Tuple(_) => f.write_str("tuple"),
        }
    }
}

impl Type {
    /// Reads a type constraint such as `list(object({ name = string }))`.
    pub(crate) fn parse(expr: &Expression, ctx: &EvalContext<'_>) -> Result<Type, Box<Diagnostic>> {
        match expr {
            Expression::Parenthesis(inner) => Type::parse(inner.inner(), ctx),
            // Older files write the type in quotes.
            Expression::String(text) => primitive(text.value()).ok_or_else(|| invalid(expr, ctx)),
            Expression::Variable(name) => match name.value().as_str() {
                "list" => Ok(Type::List(Box::new(Type::Any))),
                "set" => Ok(Type::Set(Box::new(Type::Any))),
                "map" => Ok(Type::Map(Box::new(Type::Any))),
                name => primitive(name).ok_or_else(|| invalid(expr, ctx)),
            },
            Expression::FuncCall(call) => parse_call(expr, call, ctx),
            _ => Err(invalid(expr, ctx)),
        }
    }

    /// The narrowest type of a value.
    pub(crate) fn of(value: &Value) -> Type {
        match value {
            Value::Null => Type::Any,
            Value::Bool(_) => Type::Bool,
            Value::Number(_) => Type::Number,
            Value::String(_) => Type::String,
            Value::List(items) => Type::Tuple(items.iter().map(Type::of).collect()),
            Value::Object(items) => Type::Object(
                items.iter().map(|(k, v)| (k.clone(), Attribute::required(Type::of(v)))).collect(),
            ),
        }
    }

    /// The type both can be converted to, if there is one.
    pub(crate) fn unify(a: &Type, b: &Type) -> Option<Type> {
        match (a, b) {
            (Type::Any, other) | (other, Type::Any) => Some(other.clone()),
            (a, b) if a == b => Some(a.clone()),
            (Type::String, Type::Number | Type::Bool)
            | (Type::Number | Type::Bool, Type::String) => Some(Type::String),
            (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => x
                .iter()
                .zip(y)
                .map(|(a, b)| Type::unify(a, b))
                .collect::<Option<_>>()
                .map(Type::Tuple),
            (Type::Object(x), Type::Object(y)) if x.keys().eq(y.keys()) => {
                let attrs = x.iter().zip(y.values()).map(|((name, a), b)| {
                    Some((name.clone(), Attribute::required(Type::unify(&a.ty, &b.ty)?)))
                });
                attrs.collect::<Option<_>>().map(Type::Object)
            }
            (
                Type::Tuple(_) | Type::List(_) | Type::Set(_),
                Type::Tuple(_) | Type::List(_) | Type::Set(_),
            ) => unify_all(a.elements().chain(b.elements())).map(|t| Type::List(Box::new(t))),
            (Type::Object(_) | Type::Map(_), Type::Object(_) | Type::Map(_)) => {
                unify_all(a.elements().chain(b.elements())).map(|t| Type::Map(Box::new(t)))
            }
            _ => None,
        }
    }

    fn elements(&self) -> Box<dyn Iterator<Item = &Type> + '_> {
        match self {
            Type::Tuple(items) => Box::new(items.iter()),
            Type::Object(items) => Box::new(items.values().map(|a| &a.ty)),
            Type::List(inner) | Type::Set(inner) | Type::Map(inner) => {
                Box::new(std::iter::once(&**inner))
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

impl Attribute {
    pub(crate) fn required(ty: Type) -> Attribute {
        Attribute { ty, optional: false, default: None }
    }
}

fn unify_all<'t>(mut types: impl Iterator<Item = &'t Type>) -> Option<Type> {
    types.try_fold(Type::Any, |common, ty| Type::unify(&common, ty))
}

fn primitive(name: &str) -> Option<Type> {
    match name {
        "string" => Some(Type::String),
        "number" => Some(Type::Number),
        "bool" => Some(Type::Bool),
        "any" => Some(Type::Any),
        _ => None,
    }
}

fn invalid(expr: &Expression, ctx: &EvalContext<'_>) -> Box<Diagnostic> {
    Box::new(ctx.source().error(
        expr.span().unwrap_or_default(),
        "Invalid type specification",
        "A type is string, number, bool, any, list(T), set(T), map(T), tuple([T, ...]) or \
         object({ name = T, ... }).",
    ))
}

fn parse_call(
    expr: &Expression,
    call: &FuncCall,
    ctx: &EvalContext<'_>,
) -> Result<Type, Box<Diagnostic>> {
    let args: Vec<&Expression> = call.args.iter().collect();
    let [arg] = args[..] else {
        return Err(invalid(expr, ctx));
    };
    match (call.name.name.as_str(), arg) {
        ("list", inner) => Ok(Type::List(Box::new(Type::parse(inner, ctx)?))),
        ("set", inner) => Ok(Type::Set(Box::new(Type::parse(inner, ctx)?))),
        ("map", inner) => Ok(Type::Map(Box::new(Type::parse(inner, ctx)?))),
        ("tuple", Expression::Array(items)) => items
            .iter()
            .map(|item| Type::parse(item, ctx))
            .collect::<Result<_, _>>()
            .map(Type::Tuple),
        ("object", Expression::Object(items)) => {
            let mut attrs = BTreeMap::new();
            for (key, value) in items.iter() {
                let name = match key {
                    ObjectKey::Ident(name) => name.as_str().to_owned(),
                    ObjectKey::Expression(Expression::String(name)) => name.value().clone(),
                    ObjectKey::Expression(other) => return Err(invalid(other, ctx)),
                };
                attrs.insert(name, parse_attribute(value.expr(), ctx)?);
            }
            Ok(Type::Object(attrs))
        }
        _ => Err(invalid(expr, ctx)),
    }
}

fn parse_attribute(expr: &Expression, ctx: &EvalContext<'_>) -> Result<Attribute, Box<Diagnostic>> {
    let Expression::FuncCall(call) = expr else {
        return Type::parse(expr, ctx).map(Attribute::required);
    };
    if call.name.name.as_str() != "optional" {
        return Type::parse(expr, ctx).map(Attribute::required);
    }
    let args: Vec<&Expression> = call.args.iter().collect();
    let (ty, default) = match args[..] {
        [ty] => (Type::parse(ty, ctx)?, None),
        [ty, default] => {
            let ty = Type::parse(ty, ctx)?;
            let value = eval::expression(default, &Scope::root(ctx))?;
            let value = convert(&value, &ty, ctx).map_err(|reason| {
                let span = default.span().unwrap_or_default();
                Box::new(ctx.source().error(span, "Invalid default value", format!("{reason}.")))
            })?;
            (ty, Some(value))
        }
        _ => return Err(invalid(expr, ctx)),
    };
    Ok(Attribute { ty, optional: true, default })
}

/// Converts a value to a type, as HCL does; the error says what is required and where.
pub(crate) fn convert(value: &Value, ty: &Type, ctx: &EvalContext<'_>) -> Result<Value, String> {
    let required = |what: &str| Err(format!("{what} required"));
    match (ty, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Type::Any, value) => Ok(value.clone()),
        (Type::String, value) => {
            value.to_text().map(Value::String).ok_or_else(|| "string required".to_owned())
        }
        (Type::Number, value) => {
            value.to_number().map(Value::Number).ok_or_else(|| "a number is required".to_owned())
        }
        (Type::Bool, value) => {
            value.to_bool().map(Value::Bool).ok_or_else(|| "a bool is required".to_owned())
        }
        (Type::List(inner), Value::List(items)) => elements(items, inner, ctx).map(Value::List),
        (Type::Set(inner), Value::List(items)) => {
            elements(items, inner, ctx).map(|items| Value::List(to_set(items)))
        }
        (Type::Tuple(types), Value::List(items)) if types.len() == items.len() => {
            let items = types.iter().zip(items).enumerate().map(|(index, (ty, item))| {
                convert(item, ty, ctx).map_err(|reason| format!("element {index}: {reason}"))
            });
            items.collect::<Result<_, _>>().map(Value::List)
        }
        (Type::Map(inner), Value::Object(items)) => {
            let inner = common(items.values(), inner)?;
            let items = items.iter().map(|(key, item)| {
                let item =
                    convert(item, &inner, ctx).map_err(|r| format!("element {key:?}: {r}"))?;
                Ok((key.clone(), item))
            });
            items.collect::<Result<_, String>>().map(Value::Object)
        }
        (Type::Object(attrs), Value::Object(items)) => object(items, attrs, ctx),
        (Type::List(inner), _) => required(&format!("list of {inner}")),
        (Type::Set(inner), _) => required(&format!("set of {inner}")),
        (Type::Map(inner), _) => required(&format!("map of {inner}")),
        (Type::Tuple(types), _) => required(&format!("a tuple of {} elements", types.len())),
        (Type::Object(_), _) => required("object"),
    }
}

/// The element type of a collection whose constraint leaves it open.
fn common<'t, 'v>(
    items: impl Iterator<Item = &'v Value>,
    inner: &'t Type,
) -> Result<Cow<'t, Type>, String> {
    if *inner != Type::Any {
        return Ok(Cow::Borrowed(inner));
    }
    let types: Vec<Type> = items.map(Type::of).collect();
    unify_all(types.iter())
        .map(Cow::Owned)
        .ok_or_else(|| "all elements must have the same type".to_owned())
}

fn elements(items: &[Value], inner: &Type, ctx: &EvalContext<'_>) -> Result<Vec<Value>, String> {
    let inner = common(items.iter(), inner)?;
    let items = items.iter().enumerate();
    items
        .map(|(i, item)| {
            convert(item, &inner, ctx).map_err(|reason| format!("element {i}: {reason}"))
        })
        .collect()
}

fn object(
    items: &BTreeMap<String, Value>,
    attrs: &BTreeMap<String, Attribute>,
    ctx: &EvalContext<'_>,
) -> Result<Value, String> {
    // The type may be larger than the value: each absent attribute is filled in.
    let defaults = attrs.values().filter_map(|attr| attr.default.as_ref());
    if !ctx.spend(attrs.len() as u64 + defaults.map(Value::cost).sum::<u64>()) {
        return Err("a value within the limit for one file is required".to_owned());
    }
    let mut result = BTreeMap::new();
    for (name, attr) in attrs {
        let value = match items.get(name) {
            Some(Value::Null) | None if attr.default.is_some() => {
                attr.default.clone().unwrap_or(Value::Null)
            }
            Some(value) => convert(value, &attr.ty, ctx)
                .map_err(|reason| format!("attribute {name:?}: {reason}"))?,
            None if attr.optional => Value::Null,
            None => return Err(format!("attribute {name:?} is required")),
        };
        result.insert(name.clone(), value);
    }
    Ok(Value::Object(result))
}

/// Sorts values and drops doubles, which is how a set iterates.
pub(crate) fn to_set(mut items: Vec<Value>) -> Vec<Value> {
    items.sort_by(order);
    items.dedup();
    items
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.order(*b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|o| o.is_ne());
            first.unwrap_or(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b);
            let first = pairs.map(|(a, b)| a.0.cmp(b.0).then_with(|| order(a.1, b.1)));
            first.into_iter().find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::List(_) => 4,
        Value::Object(_) => 5,
    }
}
