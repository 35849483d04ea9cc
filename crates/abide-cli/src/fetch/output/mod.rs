//! The output: one JSON line an item, written in groups that the run's ledger commits.
//!
//! The order is what makes a run lose nothing: bodies saved as files first, then the lines, then
//! the commit of which items are finished together with the output's length. A crash in between
//! leaves bytes beyond the committed length, and a resumed run cuts them off. On a pipe nothing
//! can be cut off: there the last group may be printed twice after a crash.

mod body;
mod line;
mod order;
mod resume;
mod sort;
mod writer;

pub(crate) use body::Bodies;
pub(crate) use resume::{Found, Target, open, rescan, without_skipped};
pub(crate) use writer::{Handle, Tally, Writing, start};
