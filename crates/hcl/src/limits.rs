//! What a text may cost: the parse endpoint is open to untrusted text, so each dimension that
//! grows faster than the text itself has a bound here.

/// Largest source text; a job file of this size holds thousands of groups.
pub const SOURCE_BYTES: usize = 1 << 20;
/// Deepest nesting of blocks, brackets and templates. The parser recurses once per level and
/// refuses more than 64 itself; this bound is checked first and gives the clearer message.
pub const NESTING_DEPTH: usize = 60;
/// Most items in one pair of braces. The parser looks for each key among all earlier ones.
pub const ITEMS_PER_BODY: usize = 4096;
/// Most blocks that all `dynamic` blocks of one file may produce together.
pub const EXPANSION_ITEMS: usize = 10_000;
/// Most evaluation steps of one file; each node evaluated, and each 16 bytes or one element
/// copied, costs one. It bounds the memory of values to a few dozen MiB.
pub const EVALUATION_STEPS: u64 = 2_000_000;
/// Most problems reported of one file; more only bury the first ones.
pub const DIAGNOSTICS: usize = 100;

/// The limits of one parse; `Limits::default()` is right for nearly every caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// See [`SOURCE_BYTES`].
    pub source_bytes: usize,
    /// See [`NESTING_DEPTH`].
    pub nesting_depth: usize,
    /// See [`EXPANSION_ITEMS`].
    pub expansion_items: usize,
    /// See [`EVALUATION_STEPS`].
    pub evaluation_steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            source_bytes: SOURCE_BYTES,
            nesting_depth: NESTING_DEPTH,
            expansion_items: EXPANSION_ITEMS,
            evaluation_steps: EVALUATION_STEPS,
        }
    }
}
