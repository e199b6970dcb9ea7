//! Ids and choices that follow from a seed, so that a decision can be repeated.
//!
//! Each group of an evaluation has a branch of its own: one more allocation in a group does not
//! renumber another, and no two evaluations make the same id even from the same seed.

use uuid::Uuid;

/// A small deterministic generator (splitmix64; Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Seeded {
    state: u64,
}

impl Seeded {
    pub(crate) fn new(seed: u64, branch: &str) -> Self {
        // FNV-1a over the branch's name keeps branches apart.
        let mut state = seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in branch.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self { state }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is above 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn uuid(&mut self) -> Uuid {
        let bytes = (u128::from(self.next()) << 64) | u128::from(self.next());
        uuid::Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid()
    }
}
