//! The contract of the layer, by hand: every poll is made here and time stands still until it is
//! told to pass. `docs/layer-contract.md` says which test shows what.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod admission;
mod attempts;
mod bodies;
mod contract;
mod leaving;
mod probe;
mod readiness;
mod world;
