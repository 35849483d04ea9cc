//! Counts read as times, and times read in two ways.

use super::{Found, Subject};
use crate::format::{Amount, Source, Unit};
use crate::problem::Place;

/// How a header's time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Point,
    Span,
}

pub(super) fn look(subject: &Subject<'_>, found: &mut Found) {
    let mut seen: Vec<(&Source, Kind)> = Vec::new();
    for (source, place) in times(subject) {
        let Some(header) = &source.header else {
            continue;
        };
        // A limit told as a rate tells the time of one unit.
        let plain = source.key.is_none() && source.text.is_none();
        if is_count(header) && plain && source.unit != Some(Unit::PerSecond) {
            let what = format!("{header:?} sounds like a count, and is read as a time");
            found.warn(place.clone(), what);
        }
        let Some(kind) = kind(source) else {
            continue;
        };
        let same = |other: &&(&Source, Kind)| {
            let other = other.0;
            let name = other.header.as_deref().unwrap_or_default();
            name.eq_ignore_ascii_case(header)
                && (other.item, &other.key, &other.text) == (source.item, &source.key, &source.text)
        };
        match seen.iter().find(same) {
            Some((_, other)) if *other != kind => {
                let what = format!(
                    "{header:?} is read as a point in time here and as a length of time elsewhere; \
                     unit = \"any\" tells them apart by their size"
                );
                found.warn(place, what);
            }
            _ => seen.push((source, kind)),
        }
    }
}

/// Every place where a profile reads a time to come back.
fn times<'a>(subject: &Subject<'a>) -> Vec<(&'a Source, Place)> {
    let own = subject.own;
    let top = Place::default();
    let mut all = Vec::new();
    for (i, reading) in own.readings.iter().enumerate() {
        let place = top.key("reading").item(i).key("reset");
        all.extend(reading.reset.as_ref().map(|s| (s, place)));
    }
    let mut asks = |amounts: &'a [Amount], place: &Place| {
        for (i, amount) in amounts.iter().enumerate() {
            if let Amount::Told(source) = amount {
                all.push((source, place.item(i)));
            }
        }
    };
    asks(&own.asks, &top.key("ask"));
    for (i, rule) in own.rules.iter().enumerate() {
        asks(&rule.ask, &top.key("rule").item(i).key("ask"));
    }
    all
}

fn is_count(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    let mut words = name.split(['-', '_']);
    let time = [
        "reset", "retry", "after", "until", "wait", "delay", "expire", "next", "interval", "time",
    ];
    words.any(|w| matches!(w, "remaining" | "limit")) && !time.iter().any(|t| name.contains(t))
}

const fn kind(source: &Source) -> Option<Kind> {
    match source.unit {
        Some(Unit::Any) => None,
        Some(Unit::Epoch | Unit::HttpDate | Unit::Rfc3339) => Some(Kind::Point),
        _ => Some(Kind::Span),
    }
}
