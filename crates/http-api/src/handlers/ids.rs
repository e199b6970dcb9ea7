//! Ids in paths and prefixes in queries, with the words clients know when they are wrong.

use std::str::FromStr;

use uuid::Uuid;

use crate::error::Failure;

/// A whole id. `noun` names what was looked up.
pub(crate) fn whole<T: FromStr>(text: &str, noun: &str) -> Result<T, Failure> {
    let wrong = || {
        Failure::internal(format!("{noun} lookup failed: index error: UUID must be 36 characters"))
    };
    if text.len() != 36 {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

/// The ids that start with a prefix of hex digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefix {
    pub first: Uuid,
    last: Uuid,
}

impl Prefix {
    /// Reads a prefix; `noun`, if given, starts the error's text.
    pub(crate) fn parse(text: &str, noun: Option<&str>) -> Result<Self, Failure> {
        let lead = noun.map(|n| format!("{n} lookup failed: ")).unwrap_or_default();
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let bad = digits.chars().find(|c| !c.is_ascii_hexdigit());
        if let Some(bad) = bad.filter(|_| digits.len().is_multiple_of(2)) {
            return Err(Failure::internal(format!(
                "{lead}index error: Invalid UUID: encoding/hex: invalid byte: U+{:04X} {bad:?}",
                bad as u32
            )));
        }
        if digits.len() % 2 == 1 {
            return Err(Failure::internal(format!(
                "{lead}index error: Input (without hyphens) must be even length"
            )));
        }
        if digits.len() > 32 {
            return Err(Failure::internal(format!(
                "{lead}index error: Input (without hyphens) must be at most 32 digits"
            )));
        }
        let bound = |fill: char| {
            let padded: String =
                digits.chars().chain(std::iter::repeat_n(fill, 32 - digits.len())).collect();
            u128::from_str_radix(&padded, 16).map(Uuid::from_u128).unwrap_or_default()
        };
        Ok(Self { first: bound('0'), last: bound('f') })
    }

    /// Whether an id starts with it.
    pub(crate) fn holds(&self, id: Uuid) -> bool {
        (self.first..=self.last).contains(&id)
    }
}
