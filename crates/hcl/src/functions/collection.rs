//! Functions on lists and maps.

use super::{Args, Function, Kind};
use crate::number::Number;
use crate::types::{self, Type};
use crate::value::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Most elements of a `range`.
const RANGE_LENGTH: usize = 1024;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("chunklist", &[("list", Kind::List), ("size", Kind::Num)], |args| {
        let size = usize::try_from(args.int(1)?).map_err(|_| "the size must not be negative")?;
        let items = args.list(0);
        let chunks = items.chunks(if size == 0 { items.len().max(1) } else { size });
        Ok(Value::List(chunks.map(|chunk| Value::List(chunk.to_vec())).collect()))
    }),
    Function::new("coalesce", &[("vals", Kind::Nullable)], |args| coalesce(args))
        .rest(("vals", Kind::Nullable)),
    Function::new("coalescelist", &[("vals", Kind::Nullable)], |args| {
        let lists = args.take_all().into_iter();
        let mut filled =
            lists.filter(|list| matches!(list, Value::List(items) if !items.is_empty()));
        filled.next().ok_or_else(|| "no non-null, non-empty list".to_owned())
    })
    .rest(("vals", Kind::Nullable)),
    Function::new("compact", &[("list", Kind::List)], |args| {
        let mut result = Vec::new();
        for item in args.list(0).iter().filter(|item| !item.is_null()) {
            let text = item.to_text().ok_or("all elements must be strings")?;
            if !text.is_empty() {
                result.push(Value::String(text));
            }
        }
        Ok(Value::List(result))
    }),
    Function::new("concat", &[("seqs", Kind::List)], |args| {
        let lists = args.take_all().into_iter();
        Ok(Value::List(lists.flat_map(into_items).collect()))
    })
    .rest(("seqs", Kind::List)),
    Function::new("contains", &[("list", Kind::List), ("value", Kind::Any)], |args| {
        Ok(Value::Bool(args.list(0).contains(args.value(1))))
    }),
    Function::new("distinct", &[("list", Kind::List)], |args| {
        let items = args.list(0);
        // Each element is compared with all that are kept.
        args.reserve(items.len() * items.len())?;
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if !kept.contains(item) {
                kept.push(item.clone());
            }
        }
        Ok(Value::List(kept))
    }),
    Function::new("element", &[("list", Kind::List), ("index", Kind::Num)], |args| {
        let items = args.list(0);
        let index = usize::try_from(args.int(1)?).map_err(|_| "the index must not be negative")?;
        let place = index.checked_rem(items.len()).ok_or("cannot use element on an empty list")?;
        Ok(items[place].clone())
    }),
    Function::new("flatten", &[("list", Kind::List)], |args| {
        let mut result = Vec::new();
        flatten(args.list(0), &mut result);
        Ok(Value::List(result))
    }),
    Function::new("index", &[("collection", Kind::Any), ("key", Kind::Any)], |args| {
        let key = args.value(1);
        let found = match args.value(0) {
            Value::List(items) => {
                let place = key.to_number().and_then(Number::as_u64);
                place.and_then(|place| items.get(usize::try_from(place).ok()?))
            }
            Value::Object(items) => key.to_text().and_then(|key| items.get(&key)),
            _ => return Err("collection must be a list, a map or a tuple".to_owned()),
        };
        found.cloned().ok_or_else(|| "the key does not identify an element".to_owned())
    }),
    Function::new("keys", &[("map", Kind::Map)], |args| match args.value(0) {
        Value::Object(items) => Ok(Value::List(items.keys().cloned().map(Value::String).collect())),
        _ => Err("map required".to_owned()),
    }),
    Function::new("length", &[("collection", Kind::Any)], |args| match args.value(0) {
        Value::List(items) => Ok(Value::Number(items.len().into())),
        Value::Object(items) => Ok(Value::Number(items.len().into())),
        _ => Err("collection must be a list, a map or a tuple".to_owned()),
    }),
    Function::new(
        "lookup",
        &[("map", Kind::Map), ("key", Kind::Text), ("default", Kind::Nullable)],
        |args| match (args.value(0), args.text(1)) {
            (Value::Object(items), key) if items.contains_key(key) => Ok(items[key].clone()),
            _ if args.len() > 2 => Ok(args.value(2).clone()),
            (_, key) => Err(format!("the map has no element {key:?}, and no default is given")),
        },
    )
    .optional(1),
    Function::new("merge", &[], |args| {
        let mut result = BTreeMap::new();
        for map in args.take_all() {
            match map {
                Value::Object(items) => result.extend(items),
                Value::Null => {}
                other => {
                    return Err(format!("arguments must be maps or objects, not {}", other.kind()));
                }
            }
        }
        Ok(Value::Object(result))
    })
    .rest(("maps", Kind::Nullable)),
    Function::new("range", &[("params", Kind::Num)], |args| range(args))
        .rest(("params", Kind::Num)),
    Function::new("reverse", &[("list", Kind::Any)], |args| match args.value(0) {
        Value::List(items) => Ok(Value::List(items.iter().rev().cloned().collect())),
        Value::String(text) => Ok(Value::String(text.chars().rev().collect())),
        other => Err(format!("can only reverse a list or a string, not {}", other.kind())),
    }),
    Function::new("setintersection", &[("sets", Kind::List)], |args| {
        let mut lists = args.take_all().into_iter().map(into_items);
        let first = types::to_set(lists.next().unwrap_or_default());
        let common = lists.try_fold(first, |mut common, list| {
            args.reserve(common.len() * list.len())?;
            common.retain(|item| list.contains(item));
            Ok::<_, String>(common)
        })?;
        Ok(Value::List(common))
    })
    .rest(("sets", Kind::List)),
    Function::new("setproduct", &[("sets", Kind::List)], product).rest(("sets", Kind::List)),
    Function::new("setunion", &[("sets", Kind::List)], |args| {
        let lists = args.take_all().into_iter();
        Ok(Value::List(types::to_set(lists.flat_map(into_items).collect())))
    })
    .rest(("sets", Kind::List)),
    Function::new(
        "slice",
        &[("list", Kind::List), ("start_index", Kind::Num), ("end_index", Kind::Num)],
        |args| {
            let items = args.list(0);
            let place = |index: i64| usize::try_from(index).map_err(|_| "an index is negative");
            let (start, end) = (place(args.int(1)?)?, place(args.int(2)?)?);
            let part = items.get(start..end);
            part.map(|part| Value::List(part.to_vec())).ok_or_else(|| {
                format!("{start} to {end} does not lie within the list of {}", items.len())
            })
        },
    ),
    Function::new("sort", &[("list", Kind::List)], |args| {
        let mut texts = args.texts(0)?;
        texts.sort();
        Ok(Value::List(texts.into_iter().map(Value::String).collect()))
    }),
    Function::new("values", &[("map", Kind::Map)], |args| match args.value(0) {
        Value::Object(items) => Ok(Value::List(items.values().cloned().collect())),
        _ => Err("map required".to_owned()),
    }),
    Function::new("zipmap", &[("keys", Kind::List), ("values", Kind::List)], |args| {
        let (keys, values) = (args.texts(0)?, args.list(1));
        if keys.len() != values.len() {
            let lengths = format!("{} and {}", keys.len(), values.len());
            return Err(format!("the lists must have the same length, not {lengths}"));
        }
        Ok(Value::Object(keys.into_iter().zip(values.iter().cloned()).collect()))
    }),
];

fn into_items(value: Value) -> Vec<Value> {
    match value {
        Value::List(items) => items,
        _ => Vec::new(),
    }
}

fn flatten(items: &[Value], result: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::List(inner) => flatten(inner, result),
            other => result.push(other.clone()),
        }
    }
}

/// The first argument that is not null, in the type common to all.
fn coalesce(args: &Args<'_>) -> Result<Value, String> {
    let common = args
        .all()
        .iter()
        .try_fold(Type::Any, |common, value| Type::unify(&common, &Type::of(value)))
        .ok_or("all arguments must have the same type")?;
    let first = args.all().iter().find(|value| !value.is_null());
    types::convert(first.ok_or("no non-null arguments")?, &common, args.ctx)
}

fn range(args: &Args<'_>) -> Result<Value, String> {
    let zero = Number::Int(0);
    let (start, end) = match args.len() {
        1 => (zero, args.number(0)),
        2 | 3 => (args.number(0), args.number(1)),
        _ => return Err("must have one, two or three arguments".to_owned()),
    };
    let downwards = end.order(start) == Ordering::Less;
    let step = match (args.len(), downwards) {
        (3, _) => args.number(2),
        (_, true) => Number::Int(-1),
        (_, false) => Number::Int(1),
    };
    if step == zero {
        return Err("step must not be zero".to_owned());
    }
    let before_end =
        if step.order(zero) == Ordering::Less { Ordering::Greater } else { Ordering::Less };
    let mut items = Vec::new();
    let mut next = start;
    while next.order(end) == before_end {
        if items.len() == RANGE_LENGTH {
            return Err(format!("more than {RANGE_LENGTH} values were generated"));
        }
        items.push(Value::Number(next));
        next = next.add(step).ok_or("the numbers are too large")?;
    }
    Ok(Value::List(items))
}

fn product(args: &mut Args<'_>) -> Result<Value, String> {
    let lists: Vec<Vec<Value>> = args.take_all().into_iter().map(into_items).collect();
    if lists.len() < 2 {
        return Err("at least two sets are needed".to_owned());
    }
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for list in &lists {
        args.reserve(rows.len().saturating_mul(list.len()).saturating_mul(16 * lists.len()))?;
        let mut longer = Vec::with_capacity(rows.len() * list.len());
        for row in &rows {
            for item in list {
                args.reserve(usize::try_from(item.cost()).unwrap_or(usize::MAX / 16) * 16)?;
                longer.push(row.iter().chain([item]).cloned().collect());
            }
        }
        rows = longer;
    }
    Ok(Value::List(rows.into_iter().map(Value::List).collect()))
}
