//! Tests that are missing, and secrets in those that are there.

use std::collections::BTreeSet;

use super::{Found, Subject};
use crate::format::{Lines, Test};
use crate::problem::Place;

/// What the well-known kinds of secrets begin with, and how many characters follow at the least.
const PREFIXES: [(&str, usize); 14] = [
    ("Bearer ", 20),
    ("bearer ", 20),
    ("Basic ", 20),
    ("sk-", 20),
    ("sk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 30),
];

pub(super) fn look(subject: &Subject<'_>, found: &mut Found) {
    let own = subject.own;
    for (i, test) in own.tests.iter().enumerate() {
        let place = Place::default().key("test").item(i);
        for (key, text) in texts(test) {
            if let Some(kind) = secret(text) {
                let what = format!(
                    "holds what looks like a real secret ({}…): make one up that says so, as \
                     \"example-token\"",
                    kind.trim_end()
                );
                found.forbid(place.key(key), what);
            }
        }
    }
    for (i, reading) in own.readings.iter().enumerate() {
        let place = Place::default().key("reading").item(i);
        for (key, source) in reading.sources() {
            let Some(header) = &source.header else {
                continue;
            };
            let has = |t: &Test| t.headers.keys().any(|h| h.eq_ignore_ascii_case(header));
            if !own.tests.iter().any(has) {
                let what = format!("no test has the header {header}");
                found.warn(place.key(key), what);
            }
        }
    }
    // A user's additions to a known profile stand on its tests.
    if own.extends.as_ref() != Some(&own.name) {
        enough(&own.tests, found);
    }
}

/// A success, a refusal, and what looks like a refusal and is none.
fn enough(tests: &[Test], found: &mut Found) {
    let top = Place::default();
    let refused = |t: &Test| matches!(&*t.verdict, "rate_limited" | "quota_exhausted" | "banned");
    let missing = |what: &str| format!("no test shows {what}");
    if !tests.iter().any(|t| t.verdict == "success") {
        found.warn(top.clone(), missing("a success"));
    }
    if !tests.iter().any(refused) {
        found.warn(top.clone(), missing("a refusal"));
    }
    if tests.len() < 3 {
        let what = "has fewer than three tests: a success, a refusal, and what looks like a \
                    refusal and is none";
        found.warn(top, what);
    }
}

fn texts(test: &Test) -> impl Iterator<Item = (&'static str, &str)> {
    let headers = test.headers.values().flat_map(|lines| match lines {
        Lines::One(line) => std::slice::from_ref(line),
        Lines::Several(lines) => lines,
    });
    let headers = headers.map(|line| ("headers", line.as_str()));
    let others = [("body", &test.body), ("request", &test.request)];
    let others = others
        .into_iter()
        .filter_map(|(key, text)| Some((key, text.as_deref()?)));
    headers.chain(others)
}

/// The beginning of what looks like a real secret: a known prefix and a long token that nobody
/// makes up.
fn secret(text: &str) -> Option<&'static str> {
    PREFIXES.into_iter().find_map(|(prefix, least)| {
        let mut found = text.match_indices(prefix);
        found
            .any(|(at, _)| {
                let rest = &text[at + prefix.len()..];
                let fit = |c: char| c.is_ascii_alphanumeric() || "-_.+/=".contains(c);
                let token = &rest[..rest.find(|c| !fit(c)).unwrap_or(rest.len())];
                // AKIA may stand inside a word of a body; a secret begins where a word does.
                let starts = text[..at]
                    .chars()
                    .next_back()
                    .is_none_or(|c| !c.is_ascii_alphanumeric());
                starts && token.len() >= least && is_random(token)
            })
            .then_some(prefix)
    })
}

fn is_random(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    let made_up = ["example", "token", "test", "secret", "xxxx", "0000", "1234"];
    let kinds: BTreeSet<char> = token.chars().collect();
    kinds.len() >= 10
        && token.bytes().any(|b| b.is_ascii_digit())
        && token.bytes().any(|b| b.is_ascii_alphabetic())
        && !made_up.iter().any(|w| lower.contains(w))
}
