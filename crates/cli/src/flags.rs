//! Turns Go-style flags into clap's: `-detach`, `-var k=v`, `-address=URL`, `-diff=false`.
//!
//! The result is `--name=value` words, then `--`, then everything else, which clap reads without
//! guessing. Flags may stand before or behind other words.

use clap::{Arg, ArgAction};

/// Why the words cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FlagError {
    /// The user asks for help.
    Help,
    /// No such flag.
    Unknown(String),
    /// The flag needs a value and none follows.
    Missing(String),
    /// A switch got something that is no truth value.
    NotBool(String, String),
}

impl std::fmt::Display for FlagError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Help => write!(f, "help requested"),
            Self::Unknown(name) => write!(f, "flag provided but not defined: -{name}"),
            Self::Missing(name) => write!(f, "flag needs an argument: -{name}"),
            Self::NotBool(name, value) => {
                write!(f, "invalid boolean value \"{value}\" for -{name}: use true or false")
            }
        }
    }
}

/// What a flag takes.
enum Kind {
    /// Set or not; absent means false.
    Switch,
    /// True or false with a default of its own.
    Choice,
    /// A value.
    Value,
}

/// Rewrites `words` for the arguments of `command`.
pub(crate) fn normalise(
    command: &clap::Command,
    words: &[String],
) -> Result<Vec<String>, FlagError> {
    let (mut flags, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words.by_ref().cloned());
            break;
        }
        let Some(body) = flag_body(word) else {
            rest.push(word.clone());
            continue;
        };
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        match kind(command, name) {
            None if matches!(name, "h" | "help") => return Err(FlagError::Help),
            None => return Err(FlagError::Unknown(name.to_owned())),
            Some(Kind::Switch) => {
                if truth(name, value.as_deref().unwrap_or("true"))? {
                    flags.push(format!("--{name}"));
                } else {
                    flags.retain(|flag| *flag != format!("--{name}"));
                }
            }
            Some(Kind::Choice) => {
                let on = truth(name, value.as_deref().unwrap_or("true"))?;
                flags.push(format!("--{name}={on}"));
            }
            Some(Kind::Value) => {
                let value = value.or_else(|| words.next().cloned());
                let value = value.ok_or_else(|| FlagError::Missing(name.to_owned()))?;
                flags.push(format!("--{name}={value}"));
            }
        }
    }
    flags.push("--".to_owned());
    flags.extend(rest);
    Ok(flags)
}

/// The word without its dashes, if it is a flag; `-` alone means standard input.
fn flag_body(word: &str) -> Option<&str> {
    let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!body.is_empty() && !body.starts_with(['-', '='])).then_some(body)
}

fn kind(command: &clap::Command, name: &str) -> Option<Kind> {
    let named = |arg: &&Arg| {
        arg.get_long() == Some(name)
            || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    };
    let arg = command.get_arguments().find(named)?;
    Some(match arg.get_action() {
        ArgAction::SetTrue => Kind::Switch,
        _ if arg.get_num_args().is_some_and(|count| count.min_values() == 0) => Kind::Choice,
        _ => Kind::Value,
    })
}

fn truth(name: &str, value: &str) -> Result<bool, FlagError> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(FlagError::NotBool(name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> clap::Command {
        clap::Command::new("run").args([
            Arg::new("detach").long("detach").action(ArgAction::SetTrue),
            Arg::new("diff").long("diff").num_args(0..=1),
            Arg::new("var").long("var").action(ArgAction::Append),
            Arg::new("t").long("t"),
            Arg::new("rest").num_args(0..),
        ])
    }

    fn check(words: &[&str], expected: &[&str]) {
        let words = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(normalise(&command(), &words).unwrap(), expected, "{words:?}");
    }

    fn fails(words: &[&str]) -> String {
        let words = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        normalise(&command(), &words).unwrap_err().to_string()
    }

    #[test]
    fn one_dash_and_two_mean_the_same() {
        check(&["-detach", "a.hcl"], &["--detach", "--", "a.hcl"]);
        check(&["--detach", "a.hcl"], &["--detach", "--", "a.hcl"]);
    }

    #[test]
    fn values_follow_or_stand_behind_an_equals_sign() {
        check(&["-var", "k=v", "-var=a=b", "f"], &["--var=k=v", "--var=a=b", "--", "f"]);
        check(&["-t", "{{.ID}} -x", "f"], &["--t={{.ID}} -x", "--", "f"]);
        check(&["-var", "-1", "f"], &["--var=-1", "--", "f"]);
    }

    #[test]
    fn switches_take_truth_values() {
        check(&["-detach=true"], &["--detach", "--"]);
        check(&["-detach", "-detach=false"], &["--"]);
        check(&["-diff=F"], &["--diff=false", "--"]);
        check(&["-diff"], &["--diff=true", "--"]);
    }

    #[test]
    fn other_words_keep_their_order_and_may_come_first() {
        check(&["f", "-detach", "g"], &["--detach", "--", "f", "g"]);
        check(&["-"], &["--", "-"]);
        check(&["--", "-detach"], &["--", "-detach"]);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(fails(&["-quick"]), "flag provided but not defined: -quick");
        assert_eq!(fails(&["-var"]), "flag needs an argument: -var");
        assert!(fails(&["-detach=maybe"]).contains("true or false"));
        assert_eq!(normalise(&command(), &["-h".to_owned()]), Err(FlagError::Help));
    }
}
