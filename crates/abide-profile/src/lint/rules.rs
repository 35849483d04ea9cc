//! Rules that can never decide, never end, or match too much.

use regex::Regex;

use super::{Found, Subject};
use crate::format::{Amount, Match, Rule, Source};
use crate::problem::Place;
use crate::rules::Statuses;
use crate::units::duration;

/// Texts that have nothing to do with each other: an expression that finds itself in one of them
/// finds itself nearly everywhere.
const PROBES: [&str; 5] = ["q", "0", "<", " ", "é"];

pub(super) fn look(subject: &Subject<'_>, found: &mut Found) {
    let rules = &subject.own.rules;
    let longest = subject.whole.policy.hold_max.as_deref();
    let longest = longest
        .and_then(|t| duration(t).ok())
        .unwrap_or_else(|| abide_core::policy::GatePolicy::default().hold_max);
    for (i, rule) in rules.iter().enumerate() {
        let place = Place::default().key("rule").item(i);
        if let Some(earlier) = rules[..i].iter().position(|e| covers(e, rule)) {
            let what = format!(
                "can never decide: rule {} before it matches all that it matches",
                earlier + 1
            );
            found.warn(place.clone(), what);
        }
        if rule.why.is_empty() {
            let what = "why is missing: the line that says what this rule stands for";
            found.warn(place.clone(), what);
        }
        let wait = rule.wait.as_deref().and_then(|t| duration(t).ok());
        if wait.is_some_and(|w| w > longest) {
            let what = format!("is longer than the longest hold believed ({longest:?})");
            found.warn(place.key("wait"), what);
        }
        if let Some(text) = &rule.text {
            wide(text, place.key("text"), found);
            slashes(text, place.key("text"), found);
        }
        for (key, tests) in [("header", &rule.header), ("json", &rule.json)] {
            for (name, test) in tests {
                if let Match::Matches { matches } = test {
                    let place = place.key(key).key(name);
                    // A value is short: `^[0-9]+$` says enough of it, `.*` does not.
                    if PROBES.iter().all(|p| is_in(matches, p)) {
                        found.warn(place.clone(), anything(matches));
                    }
                    slashes(matches, place, found);
                }
            }
        }
        for (n, amount) in rule.ask.iter().enumerate() {
            texts(amount, &place.key("ask").item(n), found);
        }
    }
    for (n, amount) in subject.own.asks.iter().enumerate() {
        texts(amount, &Place::default().key("ask").item(n), found);
    }
}

/// Whether one rule matches all that another one matches, as far as that shows.
fn covers(earlier: &Rule, later: &Rule) -> bool {
    let place = Place::default();
    let statuses = |r: &Rule| Statuses::of(&r.status, &place, &mut Vec::new());
    let listed = |mine: &[String], theirs: &[String]| {
        mine.is_empty() || !theirs.is_empty() && theirs.iter().all(|t| mine.contains(t))
    };
    let tested = |mine: &std::collections::BTreeMap<String, Match>,
                  theirs: &std::collections::BTreeMap<String, Match>| {
        mine.iter()
            .all(|(name, test)| theirs.get(name) == Some(test))
    };
    statuses(earlier).covers(&statuses(later))
        && listed(&earlier.methods, &later.methods)
        && listed(&earlier.paths, &later.paths)
        && (earlier.media.is_none() || earlier.media == later.media)
        && (!earlier.json_expected || later.json_expected)
        && tested(&earlier.header, &later.header)
        && tested(&earlier.json, &later.json)
        && (earlier.text.is_none() || earlier.text == later.text)
        && (earlier.body.is_none() || earlier.body == later.body)
        && (earlier.at_least.is_none() || earlier.at_least == later.at_least)
        && (earlier.more_than.is_none() || earlier.more_than == later.more_than)
}

fn texts(amount: &Amount, place: &Place, found: &mut Found) {
    let sources: Vec<&Source> = match amount {
        Amount::Told(source) => vec![source],
        Amount::Missing {
            requested,
            available,
            rate,
        } => vec![requested, available, rate],
    };
    for source in sources {
        let Some(text) = &source.text else {
            continue;
        };
        slashes(text, place.key("text"), found);
        if source.header.is_none() {
            wide(text, place.key("text"), found);
        }
    }
}

fn wide(text: &str, place: Place, found: &mut Found) {
    if PROBES.iter().any(|p| is_in(text, p)) {
        found.warn(place, anything(text));
    }
}

fn anything(text: &str) -> String {
    format!("{text:?} is found in nearly every text: give it a word to look for")
}

fn is_in(expression: &str, text: &str) -> bool {
    Regex::new(expression).is_ok_and(|r| r.is_match(text))
}

/// `/…/i` as other languages write it: here the slashes are looked for themselves.
fn slashes(text: &str, place: Place, found: &mut Found) {
    let Some((inner, flags)) = text.strip_prefix('/').and_then(|t| t.rsplit_once('/')) else {
        return;
    };
    if !inner.is_empty() && flags.chars().all(|c| "gimsuxy".contains(c)) {
        let told = match flags {
            "" => inner.to_owned(),
            flags => format!("(?{flags}){inner}"),
        };
        let what = format!("the slashes around {text:?} are looked for too; meant is {told:?}?");
        found.warn(place, what);
    }
}
