//! The invariants of the design, each under the name it has there.
//!
//! A failing seed is printed; `ABIDE_SEED=n cargo test --test invariants` replays it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bounds;
mod outage;
mod sending;
mod storm;
mod waiting;

use abide_core::Instant;

pub(crate) const SEEDS: u64 = 800;
pub(crate) const GUSTS: usize = 120;

pub(crate) fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}
