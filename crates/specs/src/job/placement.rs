//! `constraint`, `affinity` and `spread` blocks, with the short spellings of their operators.

use super::text;
use hcl::Fields;
use model::job::*;
use model::wire::List;

/// Operators that have an argument of their own, whose value is the right operand.
const SHORT: [&str; 6] =
    ["regexp", "version", "semver", "set_contains", "set_contains_all", "set_contains_any"];

/// Attribute, operator and value of a rule.
struct Comparison {
    left: String,
    operand: String,
    right: String,
}

fn comparison(f: &mut Fields<'_>) -> Comparison {
    let operator = f.string("operator");
    let mut rule = Comparison {
        left: text(f, "attribute"),
        operand: operator.unwrap_or_default(),
        right: text(f, "value"),
    };
    let written = f.is_set("operator");
    for name in SHORT {
        if let Some(value) = f.string(name) {
            set_operand(f, &mut rule, name, written);
            rule.right = value;
        }
    }
    rule
}

fn set_operand(f: &Fields<'_>, rule: &mut Comparison, name: &str, written: bool) {
    if written || !rule.operand.is_empty() {
        let detail = format!("{name:?} and another operator are given; only one may be.");
        f.reject(name, detail);
    }
    name.clone_into(&mut rule.operand);
}

pub(crate) fn constraints(f: &mut Fields<'_>) -> List<Constraint> {
    f.blocks("constraint", &[], constraint).into()
}

fn constraint(f: &mut Fields<'_>) -> Constraint {
    let mut rule = comparison(f);
    let written = f.is_set("operator");
    if let Some(property) = f.string("distinct_property") {
        set_operand(f, &mut rule, "distinct_property", written);
        rule.left = property;
    }
    for name in ["is_set", "is_not_set"] {
        if let Some(attribute) = f.string(name) {
            set_operand(f, &mut rule, name, written);
            if rule.left.is_empty() {
                rule.left = attribute;
            }
        }
    }
    if f.bool("distinct_hosts") == Some(true) {
        set_operand(f, &mut rule, "distinct_hosts", written);
    }
    let Comparison { left, operand, right } = rule.with_default();
    Constraint { l_target: left, r_target: right, operand }
}

impl Comparison {
    fn with_default(mut self) -> Self {
        if self.operand.is_empty() {
            "=".clone_into(&mut self.operand);
        }
        self
    }
}

pub(super) fn affinities(f: &mut Fields<'_>) -> List<Affinity> {
    f.blocks("affinity", &[], |f| {
        let Comparison { left, operand, right } = comparison(f).with_default();
        Affinity {
            l_target: left,
            r_target: right,
            operand,
            weight: f.int_within("weight", -100, 100),
        }
    })
    .into()
}

pub(super) fn spreads(f: &mut Fields<'_>) -> List<Spread> {
    f.blocks("spread", &[], |f| Spread {
        attribute: text(f, "attribute"),
        weight: f.int_within("weight", 0, 100),
        spread_target: f.blocks("target", &["value?"], spread_target).into(),
    })
    .into()
}

fn spread_target(f: &mut Fields<'_>) -> SpreadTarget {
    let label = f.optional_label(0).unwrap_or_default();
    let percent = f.int_within("percent", 0, 100).unwrap_or(0);
    SpreadTarget {
        value: f.string("value").unwrap_or(label),
        percent: u8::try_from(percent).unwrap_or(u8::MAX),
    }
}
