//! What a reader asks for, learnt from the reader itself.
//!
//! HCL's JSON spelling needs it: whether `{"a": {"b": {}}}` is an argument, a block or a block with
//! a label is known only to whoever reads it. A reader is run once over nothing, and each line that
//! names a field is noted, so that there is no second list to keep.

use crate::context::{EvalContext, Scope};
use crate::fields::Fields;
use crate::limits::Limits;
use crate::syntax;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The names that may stand in a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    /// Arguments.
    pub attributes: BTreeSet<&'static str>,
    /// Arguments whose value in JSON is the text of an expression, such as a type.
    pub(crate) expressions: BTreeSet<&'static str>,
    /// Blocks by kind.
    pub blocks: BTreeMap<&'static str, BlockSchema>,
}

/// How a block of one kind is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSchema {
    /// Labels that must be there.
    pub labels: usize,
    /// Labels that may follow them.
    pub optional_labels: usize,
    /// What stands in it.
    pub content: Content,
}

/// What stands in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Named fields.
    Fields(Schema),
    /// Arguments of any name.
    Arguments,
    /// Anything: the block is one value, and may be written as an argument too.
    Value,
}

impl Schema {
    /// What a reader asks for. It must ask for the same fields whatever it finds.
    pub fn of<T>(read: impl FnOnce(&mut Fields<'_>) -> T) -> Schema {
        let Ok(body) = syntax::parse("", "", &Limits::default()) else {
            return Schema::default();
        };
        let ctx = EvalContext::new(&body, &Limits::default(), &|| [0; 16]);
        let (scope, problems) = (Scope::root(&ctx), RefCell::default());
        let schema = RefCell::default();
        // What it finds fault with in nothing at all is of no interest.
        read(&mut Fields::recording(body.inner(), &scope, &problems, &schema));
        schema.into_inner()
    }

    /// Adds the blocks of variables and locals, which no reader asks for.
    #[must_use]
    pub fn with_variables(mut self) -> Schema {
        let fields = |attributes: &[&'static str]| Schema {
            attributes: attributes.iter().copied().collect(),
            ..Schema::default()
        };
        let block = |labels, content| BlockSchema { labels, optional_labels: 0, content };
        let mut variable = fields(&["default", "description", "sensitive"]);
        variable.attributes.insert("type");
        variable.expressions.insert("type");
        let rule = fields(&["condition", "error_message"]);
        variable.blocks.insert("validation", block(0, Content::Fields(rule)));
        self.blocks.insert("variable", block(1, Content::Fields(variable)));
        self.blocks.insert("variables", block(0, Content::Arguments));
        self.blocks.insert("locals", block(0, Content::Arguments));
        self
    }
}
