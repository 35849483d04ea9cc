//! What every profile says of itself: where its numbers come from, and since when.

use super::{Found, Subject};
use crate::format::Evidence;
use crate::problem::Place;

pub(super) fn look(subject: &Subject<'_>, found: &mut Found) {
    let own = subject.own;
    let top = Place::default();
    // A user's additions to a known profile stand on what that one says.
    if own.extends.as_ref() == Some(&own.name) {
        return;
    }
    if own.title.is_empty() {
        found.warn(top.clone(), "title is missing: its name for people");
    }
    if own.docs.is_empty() {
        found.warn(
            top.clone(),
            "docs is missing: where the vendor describes its limits",
        );
    }
    if own.checked.is_empty() {
        found.warn(
            top.clone(),
            "checked is missing: the day its numbers were last looked at",
        );
    } else if own.checked.parse::<jiff::civil::Date>().is_err() {
        let what = format!("{:?} is no day (as 2026-11-01)", own.checked);
        found.warn(top.key("checked"), what);
    }
    if !says_evidence(subject.text) {
        found.warn(top, "evidence is missing: documented, observed or guessed");
    } else if own.evidence == Evidence::Documented && own.docs.is_empty() {
        let what = "documented, yet no docs are named";
        found.warn(top.key("evidence"), what);
    }
}

/// A file that says nothing reads as one that says `guessed`; only its text tells them apart.
fn says_evidence(text: &str) -> bool {
    let table: Result<toml::Table, _> = text.parse();
    table.is_ok_and(|t| t.contains_key("evidence"))
}
