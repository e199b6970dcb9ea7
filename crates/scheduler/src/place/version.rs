//! Version constraints: `>= 1.2, < 2.0`, with the loose rules of `version` and those of `semver`.

use std::cmp::Ordering;

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Any number of segments; a pre-release meets only constraints that name one.
    Loose,
    /// Semantic Versioning 2.0: three segments, pre-releases ordered.
    Semver,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    segments: Vec<u64>,
    pre: String,
}

/// Whether a version meets every part of a constraint. What cannot be read is not met.
pub(crate) fn satisfies(version: &str, constraint: &str, flavour: Flavour) -> bool {
    let Some(version) = parse(version, flavour) else { return false };
    constraint.split(',').all(|part| meets_part(&version, part.trim(), flavour).unwrap_or(false))
}

fn split(part: &str) -> (&str, &str) {
    let end = part.find(|c: char| !"<>=!~".contains(c)).unwrap_or(part.len());
    (&part[..end], part[end..].trim())
}

fn meets_part(version: &Version, part: &str, flavour: Flavour) -> Option<bool> {
    let (operator, text) = split(part);
    let wanted = parse(text, flavour)?;
    if flavour == Flavour::Loose
        && !version.pre.is_empty()
        && wanted.pre.is_empty()
        && operator != "!="
    {
        return Some(false);
    }
    let order = compare(version, &wanted);
    Some(match operator {
        "" | "=" | "==" => order.is_eq(),
        "!=" => order.is_ne(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        // `~> 1.2.3` allows the last named segment to rise.
        "~>" => {
            let fixed = wanted.segments.len().saturating_sub(1).max(1);
            order.is_ge() && (0..fixed).all(|i| segment(version, i) == segment(&wanted, i))
        }
        _ => return None,
    })
}

fn segment(version: &Version, at: usize) -> u64 {
    version.segments.get(at).copied().unwrap_or(0)
}

fn compare(a: &Version, b: &Version) -> Ordering {
    let length = a.segments.len().max(b.segments.len());
    let numbers = (0..length).map(|i| segment(a, i).cmp(&segment(b, i)));
    numbers.fold(Ordering::Equal, Ordering::then).then_with(|| {
        match (a.pre.is_empty(), b.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_pre(&a.pre, &b.pre),
        }
    })
}

/// Dot-separated identifiers: numbers before words, fewer before more (semver.org, section 11).
fn compare_pre(a: &str, b: &str) -> Ordering {
    let mut left = a.split('.');
    let mut right = b.split('.');
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(l), Some(r)) => match (l.parse::<u64>(), r.parse::<u64>()) {
                (Ok(l), Ok(r)) => l.cmp(&r),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => l.cmp(r),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn parse(text: &str, flavour: Flavour) -> Option<Version> {
    let text = text.trim();
    if flavour == Flavour::Semver
        && !text.contains('-')
        && !text.contains('+')
        && text.split('.').count() == 3
    {
        // The common case is exactly what the library reads.
        let version = semver::Version::parse(text).ok()?;
        return Some(Version {
            segments: vec![version.major, version.minor, version.patch],
            pre: String::new(),
        });
    }
    let text = text.strip_prefix('v').filter(|_| flavour == Flavour::Loose).unwrap_or(text);
    let text = text.split('+').next().unwrap_or(text);
    let (numbers, pre) = text.split_once('-').unwrap_or((text, ""));
    let segments: Option<Vec<u64>> = numbers.split('.').map(|s| s.parse().ok()).collect();
    let segments = segments.filter(|s| !s.is_empty() && s.len() <= 8)?;
    Some(Version { segments, pre: pre.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_and_semver_constraints_differ_on_prereleases() {
        for (version, constraint, loose, semver) in [
            ("1.2.3", ">= 1.0", true, true),
            ("1.3.0-beta1", ">= 1.0.0", false, true),
            ("1.3.0-beta1", ">= 1.3.0-alpha", true, true),
            ("0.6.1-beta", "< 0.6.1", false, true),
            ("1.2.9", "~> 1.2.3", true, true),
            ("1.3.0", "~> 1.2.3", false, false),
            ("1.9", "~> 1.2", true, true),
            ("2.0", "~> 1.2", false, false),
            ("1.2.3", "!= 1.2.3", false, false),
            ("abc", "> 1", false, false),
        ] {
            assert_eq!(
                satisfies(version, constraint, Flavour::Loose),
                loose,
                "{version} {constraint} loose"
            );
            assert_eq!(
                satisfies(version, constraint, Flavour::Semver),
                semver,
                "{version} {constraint} semver"
            );
        }
    }
}
