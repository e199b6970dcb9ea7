//! Targets and operators of constraints and affinities.

use model::job::Constraint;
use model::node::Node;

use super::version;

/// Whether a node meets a constraint. Rules about several nodes (`distinct_*`) are met here and
/// checked where the other allocations are known.
pub fn meets(constraint: &Constraint, node: &Node) -> bool {
    compare(&constraint.operand, &constraint.l_target, &constraint.r_target, node)
}

/// Whether `left operand right` holds on a node.
pub(crate) fn compare(operand: &str, left: &str, right: &str, node: &Node) -> bool {
    if operand.starts_with("distinct_") {
        return true;
    }
    let left = resolve(left, node);
    let right = resolve(right, node);
    match operand {
        "is_set" => left.is_some(),
        "is_not_set" => left.is_none(),
        // An attribute that is missing differs from everything.
        "!=" | "not" => left != right,
        _ => match (left, right) {
            (Some(l), Some(r)) => compare_values(operand, &l, &r),
            _ => false,
        },
    }
}

fn compare_values(operand: &str, left: &str, right: &str) -> bool {
    match operand {
        "=" | "==" | "is" | "" => left == right,
        "<" => ordering(left, right).is_lt(),
        "<=" => ordering(left, right).is_le(),
        ">" => ordering(left, right).is_gt(),
        ">=" => ordering(left, right).is_ge(),
        "regexp" => regex::Regex::new(right).is_ok_and(|r| r.is_match(left)),
        "version" => version::satisfies(left, right, version::Flavour::Loose),
        "semver" => version::satisfies(left, right, version::Flavour::Semver),
        "set_contains" | "set_contains_all" => {
            let have = set(left);
            set(right).iter().all(|item| have.contains(item))
        }
        "set_contains_any" => {
            let have = set(left);
            set(right).iter().any(|item| have.contains(item))
        }
        _ => false,
    }
}

/// Numbers compare as numbers, anything else as text.
fn ordering(left: &str, right: &str) -> std::cmp::Ordering {
    if let (Ok(l), Ok(r)) = (left.parse::<i64>(), right.parse::<i64>()) {
        return l.cmp(&r);
    }
    if let (Ok(l), Ok(r)) = (left.parse::<f64>(), right.parse::<f64>()) {
        return l.total_cmp(&r);
    }
    left.cmp(right)
}

fn set(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).collect()
}

/// The value of a target on a node; a literal is its own value.
pub(crate) fn resolve(target: &str, node: &Node) -> Option<String> {
    let Some(name) = target.strip_prefix("${").and_then(|t| t.strip_suffix('}')) else {
        return Some(target.to_owned());
    };
    match name {
        "node.unique.id" => Some(node.id.to_string()),
        "node.unique.name" => Some(node.name.clone()),
        "node.datacenter" => Some(node.datacenter.clone()),
        "node.class" => Some(node.node_class.clone()),
        "node.pool" => Some(node.node_pool.clone()),
        _ => {
            if let Some(key) = name.strip_prefix("attr.") {
                node.attributes.get(key).cloned()
            } else if let Some(key) = name.strip_prefix("meta.") {
                node.meta.get(key).cloned()
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        let mut node = Node { datacenter: "dc1".to_owned(), ..Node::default() };
        node.attributes.insert("kernel.name".to_owned(), "linux".to_owned());
        node.attributes.insert("cpu.numcores".to_owned(), "10".to_owned());
        node.attributes.insert("kernel.version".to_owned(), "6.18.44-fc".to_owned());
        node.meta.insert("tags".to_owned(), "a,b , c".to_owned());
        node
    }

    #[test]
    fn each_operator_says_what_its_documentation_says() {
        let holds = |l: &str, op: &str, r: &str| compare(op, l, r, &node());
        for (left, operand, right, expected) in [
            ("${attr.kernel.name}", "=", "linux", true),
            ("${attr.kernel.name}", "is", "windows", false),
            ("${attr.nothing}", "!=", "x", true),
            ("${attr.nothing}", "=", "x", false),
            ("${attr.cpu.numcores}", ">", "9", true),
            ("${attr.cpu.numcores}", "<", "9", false),
            ("${attr.kernel.name}", "regexp", "^li", true),
            ("${attr.kernel.version}", "version", ">= 5.0", false),
            ("1.2.3", "version", ">= 1.0, < 2", true),
            ("1.2.3-beta", "semver", "> 1.2.2", true),
            ("${meta.tags}", "set_contains", "a,c", true),
            ("${meta.tags}", "set_contains_any", "x,b", true),
            ("${meta.tags}", "set_contains_all", "x,b", false),
            ("${meta.tags}", "is_set", "", true),
            ("${meta.none}", "is_not_set", "", true),
            ("${node.datacenter}", "=", "dc1", true),
        ] {
            assert_eq!(holds(left, operand, right), expected, "{left} {operand} {right}");
        }
    }
}
