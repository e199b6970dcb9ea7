//! "Did you mean": the nearest known name to one that is not known.

/// Names longer than this are not compared; no known name is that long.
const LONGEST_NAME: usize = 64;

/// The known name that is nearest to `name`, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let allowed = ((name.chars().count() + 1) / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// ` Did you mean "x"?`, or nothing.
pub fn hint<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(name, known).map_or_else(String::new, |found| format!(" Did you mean {found:?}?"))
}

/// Edit distance in which swapping two neighbours counts as one edit.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (previous[j] + 1).min(row[j - 1] + 1).min(previous[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known = ["default", "type", "count", "driver"];
        assert_eq!(nearest("defualt", known), Some("default"));
        assert_eq!(nearest("cuont", known), Some("count"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("zz", known), None);
    }
}
