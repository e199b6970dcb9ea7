//! Commands about nodes.

pub(crate) mod config;
mod detail;
pub(crate) mod drain;
pub(crate) mod eligibility;
pub(crate) mod status;

use sdk::Fields;

use crate::context::{Context, one_word};
use crate::failure::Failure;
use crate::lookup::{self, Kind};

/// The node a word names, or the agent's own.
async fn node_or_own(ctx: &Context<'_>, words: &[String], own: bool) -> Result<String, Failure> {
    if own {
        if !words.is_empty() {
            return Err(Failure::usage("With -self this command takes no argument"));
        }
        return lookup::own_node(ctx).await;
    }
    let given = one_word(words, "<node>")?;
    Ok(lookup::row(ctx, Kind::Node, given).await?.text("ID").to_owned())
}
