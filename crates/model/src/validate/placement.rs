//! Checks of constraints, affinities and spreads.

use super::{Findings, repeated};
use crate::job::*;

/// Comparisons that take both operands.
const COMPARISONS: [&str; 12] =
    ["", "=", "==", "is", "!=", "not", "<", "<=", ">", ">=", "set_contains", "set_contains_any"];

pub(super) fn constraints(list: &[Constraint], found: &mut Findings) {
    for (at, item) in list.iter().enumerate() {
        found.within(format!("constraint {}", at + 1), |found| constraint(item, found));
    }
}

fn constraint(item: &Constraint, found: &mut Findings) {
    match item.operand.as_str() {
        "distinct_hosts" => {
            found.require(item.l_target.is_empty(), || {
                "Operator distinct_hosts does not take an attribute".to_owned()
            });
            found.require(matches!(item.r_target.as_str(), "" | "true" | "false"), || {
                format!("Operator distinct_hosts takes true or false, got {:?}", item.r_target)
            });
            return;
        }
        "distinct_property" => {
            let count = item.r_target.as_str();
            let number = count.parse::<u64>();
            found.require(count.is_empty() || number.as_ref().is_ok_and(|n| *n > 0), || {
                format!("Operator distinct_property takes a number above 0, got {count:?}")
            });
        }
        "is_set" | "is_not_set" => {
            found.require(item.r_target.is_empty(), || {
                format!("Operator {} does not take a value", item.operand)
            });
        }
        operand => comparison(operand, &item.r_target, found),
    }
    found.require(!item.l_target.is_empty(), || {
        format!("No attribute given, but operator {:?} needs one", item.operand)
    });
}

fn comparison(operand: &str, value: &str, found: &mut Findings) {
    match operand {
        "regexp" => {
            if let Err(error) = regex::Regex::new(value) {
                found.error(format!("Regular expression {value:?} failed to compile: {error}"));
            }
        }
        "version" | "semver" => {
            found.require(is_version_rule(value, operand == "semver"), || {
                format!("Version constraint is invalid: {value:?}")
            });
        }
        "set_contains_all" => {}
        _ => found.require(COMPARISONS.contains(&operand), || {
            format!("Unknown constraint operator {operand:?}")
        }),
    }
}

/// Whether a text is a list of version rules: `>= 1.2, < 2.0.0-beta`.
fn is_version_rule(text: &str, full: bool) -> bool {
    !text.trim().is_empty() && text.split(',').all(|rule| is_one_version_rule(rule.trim(), full))
}

fn is_one_version_rule(rule: &str, full: bool) -> bool {
    let version = rule.trim_start_matches(['=', '!', '<', '>', '~']);
    let operator = &rule[..rule.len() - version.len()];
    if !matches!(operator, "" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "~>") {
        return false;
    }
    let version = version.trim().trim_start_matches('v');
    let core = version.split(['-', '+', '~']).next().unwrap_or_default();
    let tail = &version[core.len()..];
    let parts: Vec<&str> = core.split('.').collect();
    parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        && (!full || parts.len() == 3)
        && tail.chars().all(|c| c.is_ascii_alphanumeric() || "-+~.".contains(c))
}

pub(super) fn affinities(list: &[Affinity], found: &mut Findings) {
    for (at, item) in list.iter().enumerate() {
        found.within(format!("affinity {}", at + 1), |found| {
            found.require(!item.l_target.is_empty(), || "No attribute given".to_owned());
            comparison(&item.operand, &item.r_target, found);
            let weight = item.weight.unwrap_or(50);
            found.require(weight != 0, || "Affinity weight cannot be zero".to_owned());
            found.require((-100..=100).contains(&weight), || {
                format!("Affinity weight must be within the range [-100,100], got {weight}")
            });
        });
    }
}

pub(super) fn spreads(list: &[Spread], found: &mut Findings) {
    for (at, item) in list.iter().enumerate() {
        found.within(format!("spread {}", at + 1), |found| {
            found.require(!item.attribute.is_empty(), || "Missing spread attribute".to_owned());
            let weight = item.weight.unwrap_or(50);
            found.require((0..=100).contains(&weight), || {
                format!("Spread weight must be within the range [0,100], got {weight}")
            });
            for (value, _, _) in repeated(item.spread_target.iter().map(|t| t.value.as_str())) {
                found.error(format!("Spread target value {value:?} already defined"));
            }
            let sum: u32 = item.spread_target.iter().map(|target| u32::from(target.percent)).sum();
            found.require(sum <= 100, || {
                format!(
                    "Sum of spread target percentages must not be greater than 100%, got {sum}%"
                )
            });
        });
    }
}
