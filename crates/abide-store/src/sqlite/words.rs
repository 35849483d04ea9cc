//! Words in the file for what is an enum in the program; others are damage.

use abide_core::{AskSource, Scope, Verdict};

use super::fault::Fault;
use crate::words;

pub(super) fn scope(word: &str) -> Result<Scope, Fault> {
    known(words::scope(word), word, "scope")
}

pub(super) fn verdict(word: &str) -> Result<Verdict, Fault> {
    known(words::verdict(word), word, "cause")
}

pub(super) fn source(word: &str) -> Result<AskSource, Fault> {
    known(words::source(word), word, "source of an ask")
}

fn known<T>(found: Option<T>, word: &str, what: &str) -> Result<T, Fault> {
    found.ok_or_else(|| Fault::corrupt(format!("{word:?} is no {what}")))
}
