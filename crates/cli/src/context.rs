//! What a running command has at hand: the agent, the terminal, the name it was called by.

use serde_json::Value;

use sdk::Client;

use crate::failure::{Failure, Outcome};
use crate::output::absent::Shape;
use crate::output::color::Palette;
use crate::output::{json, template};
use crate::settings::Environment;
use crate::terminal::Terminal;

/// The name the program was called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Muster,
    Nomad,
}

impl Program {
    /// From the first word of the command line.
    pub(crate) fn of(word: &str) -> Self {
        match word.rsplit('/').next() {
            Some("nomad") => Self::Nomad,
            _ => Self::Muster,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Muster => "muster",
            Self::Nomad => "nomad",
        }
    }
}

/// A command's surroundings.
pub(crate) struct Context<'a> {
    pub(crate) program: Program,
    pub(crate) terminal: &'a mut Terminal,
    pub(crate) environment: &'a Environment,
    pub(crate) client: Client,
}

impl Context<'_> {
    pub(crate) fn say(&mut self, line: impl std::fmt::Display) {
        self.terminal.say(line);
    }

    pub(crate) fn complain(&mut self, line: impl std::fmt::Display) {
        self.terminal.complain(line);
    }

    pub(crate) fn palette(&self) -> Palette {
        self.terminal.palette
    }

    /// A bold title with a blank line above.
    pub(crate) fn title(&mut self, text: &str) {
        let line = format!("\n{}", self.palette().bold(text));
        self.say(line);
    }

    /// The same, with the members that the API left out.
    pub(crate) fn formatted_as(
        &mut self,
        format: &Format,
        shape: Shape,
        value: &Value,
    ) -> Result<bool, Failure> {
        if !format.is_given() {
            return Ok(false);
        }
        self.formatted(format, &shape.complete(value.clone()))
    }

    /// Prints the value by `-json` or `-t`; false when neither was asked for.
    pub(crate) fn formatted(&mut self, format: &Format, value: &Value) -> Result<bool, Failure> {
        match (&format.template, format.json) {
            (Some(_), true) => {
                Err(Failure::new("Both json and template formatting are not allowed"))
            }
            (Some(text), false) => {
                let text = template::render(text, value)?;
                self.say(text);
                Ok(true)
            }
            (None, true) => {
                self.say(json::pretty(value));
                Ok(true)
            }
            (None, false) => Ok(false),
        }
    }
}

// How an answer is printed. (A doc comment would become the help of the command.)
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Format {
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer through a Go template
    #[arg(long = "t", value_name = "TEMPLATE")]
    pub(crate) template: Option<String>,
}

impl Format {
    pub(crate) fn is_given(&self) -> bool {
        self.json || self.template.is_some()
    }
}

/// The words that are no flags, checked for their number.
pub(crate) fn no_words(words: &[String]) -> Outcome {
    match words {
        [] => Ok(()),
        _ => Err(Failure::usage("This command takes no arguments")),
    }
}

/// Exactly one word.
pub(crate) fn one_word<'w>(words: &'w [String], name: &str) -> Result<&'w str, Failure> {
    match words {
        [word] => Ok(word),
        _ => Err(Failure::usage(format!("This command takes one argument: {name}"))),
    }
}

/// At most one word.
pub(crate) fn maybe_word<'w>(words: &'w [String], name: &str) -> Result<Option<&'w str>, Failure> {
    match words {
        [] => Ok(None),
        [word] => Ok(Some(word)),
        _ => Err(Failure::usage(format!("This command takes either no arguments or one: {name}"))),
    }
}
