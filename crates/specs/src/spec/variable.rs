//! Files of variables, for `var put`.

use super::{Parsed, map, parse, text};
use hcl::{Fields, Random};
use std::collections::BTreeMap;

/// Most bytes of a variable's names and values together.
const BYTES_MAX: usize = 64 << 10;

/// A variable with its items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its path; empty when the command line gives it.
    pub path: String,
    /// Its namespace; empty for that of the command.
    pub namespace: String,
    /// Its items.
    pub items: BTreeMap<String, String>,
}

/// Reads a file of one variable.
///
/// # Errors
/// Every problem with its place.
pub fn parse_variable(file: &str, content: &str, random: Random<'_>) -> Parsed<Variable> {
    parse(file, content, random, |f: &mut Fields<'_>| {
        let variable = Variable {
            path: text(f, "path"),
            namespace: text(f, "namespace"),
            items: map(f, "items"),
        };
        let has_items = f.is_set("items") || !variable.items.is_empty();
        if !has_items {
            let detail = "A variable needs items: items { name = \"value\" }.";
            f.error(f.span(), "Missing items", detail);
        }
        let bytes: usize =
            variable.items.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > BYTES_MAX {
            f.reject(
                "items",
                format!("The items have {bytes} bytes; at most {BYTES_MAX} are allowed."),
            );
        }
        variable
    })
}
