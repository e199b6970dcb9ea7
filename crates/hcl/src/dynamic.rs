//! `dynamic` blocks: one block in the file, many when it is read.

use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::eval;
use crate::limits::EXPANSION_ITEMS;
use crate::syntax::{Attribute, Block};
use crate::value::Value;
use hcl_edit::expr::Expression;
use hcl_edit::structure::Body;
use std::collections::BTreeMap;
use std::ops::Range;

/// The word that marks such a block.
pub(crate) const KEYWORD: &str = "dynamic";

/// A block as it is read: written so, or produced by a `dynamic` block.
pub(crate) struct Instance<'i, 'b> {
    pub(crate) body: &'b Body,
    pub(crate) labels: Vec<(String, Range<usize>)>,
    pub(crate) span: Range<usize>,
    pub(crate) scope: &'i Scope<'i>,
}

/// What a block will be once it is read, with the place of that word.
pub(crate) fn kind_of(block: Block<'_>) -> (String, Range<usize>) {
    if block.kind() == KEYWORD
        && let Some(label) = block.labels().into_iter().next()
    {
        return label;
    }
    (block.kind().to_owned(), block.kind_span())
}

/// Gives the block, or each that it produces, to `each`.
pub(crate) fn instances<'b>(
    block: Block<'b>,
    scope: &Scope<'_>,
    each: &mut dyn FnMut(Instance<'_, 'b>),
) -> Result<(), Box<Diagnostic>> {
    if block.kind() != KEYWORD {
        let labels = block.labels();
        each(Instance { body: block.body(), labels, span: block.kind_span(), scope });
        return Ok(());
    }
    let generator = Generator::read(block, scope)?;
    let ctx = scope.ctx();
    let collection = eval::expression(generator.for_each.expr(), scope)?;
    for (key, value) in eval::pairs(collection, generator.for_each.value_span(), ctx)? {
        if !ctx.spend_expansion() {
            let detail =
                format!("All dynamic blocks of a file may produce {EXPANSION_ITEMS} blocks.");
            return eval::fail(ctx, block.kind_span(), "Too many dynamic blocks", detail);
        }
        let iterator = BTreeMap::from([("key".to_owned(), key), ("value".to_owned(), value)]);
        let inner = scope.child(vec![(generator.iterator.clone(), Value::Object(iterator))]);
        let labels = generator.labels(&inner)?;
        let span = block.kind_span();
        each(Instance { body: generator.content.body(), labels, span, scope: &inner });
    }
    Ok(())
}

struct Generator<'b> {
    iterator: String,
    for_each: Attribute<'b>,
    labels: Option<Attribute<'b>>,
    content: Block<'b>,
}

impl<'b> Generator<'b> {
    fn read(block: Block<'b>, scope: &Scope<'_>) -> Result<Generator<'b>, Box<Diagnostic>> {
        let ctx = scope.ctx();
        let labels = block.labels();
        let [(kind, _)] = &labels[..] else {
            let detail = "A dynamic block has one label, the type of the blocks it produces.";
            return eval::fail(ctx, block.kind_span(), "Invalid dynamic block", detail);
        };
        for attribute in block.attributes() {
            if !matches!(attribute.name(), "for_each" | "iterator" | "labels") {
                let detail = format!(
                    "An argument named {:?} is not expected in a dynamic block; what belongs to the \
                     produced blocks stands in its content block.",
                    attribute.name()
                );
                return eval::fail(ctx, attribute.name_span(), "Unsupported argument", detail);
            }
        }
        let find = |name: &str| block.attributes().find(|attribute| attribute.name() == name);
        let Some(for_each) = find("for_each") else {
            let detail = "The argument \"for_each\" is required in a dynamic block.";
            return eval::fail(ctx, block.kind_span(), "Missing required argument", detail);
        };
        let iterator = match find("iterator") {
            None => kind.clone(),
            Some(attribute) => match attribute.expr() {
                Expression::Variable(name) => name.as_str().to_owned(),
                _ => {
                    let detail = "The iterator is a plain name.";
                    return eval::fail(
                        ctx,
                        attribute.value_span(),
                        "Invalid iterator name",
                        detail,
                    );
                }
            },
        };
        let blocks: Vec<Block<'_>> = block.blocks().collect();
        let [content] = blocks[..] else {
            let detail = "A dynamic block must have one nested block of type \"content\", which \
                          describes the body of each generated block.";
            return eval::fail(ctx, block.kind_span(), "Missing dynamic content block", detail);
        };
        if content.kind() != "content" {
            let detail = format!(
                "Blocks of type {:?} are not expected in a dynamic block; it has a nested block of \
                 type \"content\".",
                content.kind()
            );
            return eval::fail(ctx, content.kind_span(), "Missing dynamic content block", detail);
        }
        Ok(Generator { iterator, for_each, labels: find("labels"), content })
    }

    fn labels(&self, scope: &Scope<'_>) -> Result<Vec<(String, Range<usize>)>, Box<Diagnostic>> {
        let Some(attribute) = &self.labels else {
            return Ok(Vec::new());
        };
        let span = attribute.value_span();
        let invalid =
            |detail: &str| eval::fail(scope.ctx(), span.clone(), "Invalid dynamic labels", detail);
        let Value::List(items) = eval::expression(attribute.expr(), scope)? else {
            return invalid("The labels must be a list of strings.");
        };
        let texts: Option<Vec<String>> = items.iter().map(Value::to_text).collect();
        match texts {
            Some(texts) => Ok(texts.into_iter().map(|text| (text, span.clone())).collect()),
            None => invalid("Each label must be a string."),
        }
    }
}
