//! What a program that talks to Git providers requires, requirement by requirement: `b01_…` to
//! `b10_…`; `b2_…` for what only its code says, `b3_…` for what users of its kin complained of.
//!
//! Reads are repeated and writes are not; whom to repeat after what is said for each provider.
//! Its client of one provider repeats 429 and 502 by itself, so those are not repeated above it.
//!
//! Where the two differ, and why:
//!
//! * an ask is kept, where the program's own loop knew none: a primary limit whose reset comes
//!   after the caller's patience is told with that instant instead of being tried again thrice;
//! * a refusal holds every request that it covers, where the program's loops knew nothing of each
//!   other;
//! * all waiting of a call is bounded by its sum;
//! * a timeout is told from a broken connection by `retry.on` only by when it happens: `head`
//!   stands for both.
//!
//! Open: nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "b_git_provider/below.rs"]
mod below;
#[path = "b_git_provider/common.rs"]
mod common;
#[path = "b_git_provider/github.rs"]
mod github;
#[path = "b_git_provider/reads.rs"]
mod reads;
#[path = "b_git_provider/reports.rs"]
mod reports;
#[path = "b_git_provider/sockets.rs"]
mod sockets;
