//! What an answer of the servers means for what is here. Pure. Hop 13 of `job run`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::alloc::Alloc;
use model::ids::AllocId;
use rpc::methods::NodeAllocs;

/// What is here of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Here {
    /// It lives, as the servers changed it at this index.
    Live {
        alloc_modify_index: u64,
    },
    Ended,
}

/// What to do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) start: Vec<Arc<Alloc>>,
    pub(crate) update: Vec<Arc<Alloc>>,
    pub(crate) remove: Vec<AllocId>,
}

/// Compares. `since` is what was asked for: an answer from before it is of a server that lags
/// behind or was set up anew, and is no reason to end anything.
pub(crate) fn changes(here: &BTreeMap<AllocId, Here>, answer: &NodeAllocs, since: u64) -> Changes {
    let mut changes = Changes::default();
    for alloc in &answer.changed {
        match here.get(&alloc.id) {
            // Ended before this node heard of it, or before it lost its memory.
            None if alloc.is_client_terminal() => {}
            None => changes.start.push(alloc.clone()),
            Some(Here::Live { alloc_modify_index })
                if alloc.alloc_modify_index > *alloc_modify_index =>
            {
                changes.update.push(alloc.clone());
            }
            Some(_) => {}
        }
    }
    if answer.index >= since {
        let known: BTreeSet<&AllocId> = answer.all.iter().collect();
        changes.remove = here.keys().filter(|id| !known.contains(id)).copied().collect();
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(name: &str, index: u64) -> Arc<Alloc> {
        let mut alloc = crate::fixture::alloc(Arc::default(), Default::default());
        alloc.id = AllocId::from_name(name);
        alloc.alloc_modify_index = index;
        Arc::new(alloc)
    }

    fn answer(index: u64, all: &[&str], changed: Vec<Arc<Alloc>>) -> NodeAllocs {
        let all = all.iter().map(|name| AllocId::from_name(name)).collect();
        NodeAllocs { index, all, changed, specs: Vec::new() }
    }

    fn here() -> BTreeMap<AllocId, Here> {
        let live = Here::Live { alloc_modify_index: 5 };
        [("live", live), ("ended", Here::Ended), ("gone", live)]
            .map(|(name, here)| (AllocId::from_name(name), here))
            .into()
    }

    #[test]
    fn the_new_is_started_the_changed_updated_and_the_missing_removed() {
        let (new, live) = (alloc("new", 9), alloc("live", 9));
        let changed = vec![new.clone(), live.clone(), alloc("ended", 9)];
        let changes = changes(&here(), &answer(9, &["new", "live", "ended"], changed), 8);
        assert_eq!(changes.start, [new]);
        assert_eq!(changes.update, [live]);
        assert_eq!(changes.remove, [AllocId::from_name("gone")]);
    }

    #[test]
    fn nothing_is_repeated_and_an_answer_from_the_past_removes_nothing() {
        let past = answer(3, &[], vec![alloc("live", 5)]);
        assert_eq!(changes(&here(), &past, 8), Changes::default());
    }

    #[test]
    fn what_ended_long_ago_is_not_started_again() {
        let mut old = (*alloc("old", 9)).clone();
        old.observed.status = model::alloc::ClientStatus::Complete;
        let found = changes(&BTreeMap::new(), &answer(9, &["old"], vec![Arc::new(old)]), 0);
        assert_eq!(found, Changes::default());
    }
}
