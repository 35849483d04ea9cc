//! Heads: headers about waiting and quotas.

use abide_core::signal::{LineReading, MAX_VALUE, Note, Signal, explain, is_quota, read};
use abide_core::{Hint, Skew};
use http::{HeaderMap, StatusCode};

use crate::input::{NOW, WALLS, headers, moment};

const WAITS: [&str; 7] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "x-ratelimit-retry-after",
    "date",
    "age",
];

const QUOTAS: [&str; 27] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-interval",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
    "x-rate-limit-reset-after",
    "x-rate-limit-interval",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "ratelimit-reset-after",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "ratelimit",
    "ratelimit-policy",
    "retry-after",
    "retry-after-ms",
    "date",
    "age",
    "location",
];

/// Everything that says how long to wait, in any lines.
pub fn retry_after(data: &[u8]) {
    check(&headers(data, &WAITS));
}

/// Everything that tells of quotas, in any lines.
pub fn quota_headers(data: &[u8]) {
    check(&headers(data, &QUOTAS));
}

/// The structured fields. What does not parse as a whole tells nothing.
pub fn structured(data: &[u8]) {
    let all = headers(data, &["ratelimit", "ratelimit-policy"]);
    check(&all);
    let mut broken = HeaderMap::new();
    for (name, value) in all.iter().filter(|(n, _)| is_quota(n.as_str())) {
        if matches!(name.as_str(), "ratelimit" | "ratelimit-policy") {
            broken.append(name, value.clone());
        }
    }
    broken.append("ratelimit", http::HeaderValue::from_static("((("));
    broken.append("ratelimit-policy", http::HeaderValue::from_static("((("));
    let signal = read(StatusCode::OK, &broken, moment(WALLS[0]), &mut Skew::new());
    // Only the first lines are looked at, so the broken ones may be beyond them.
    if broken.get_all("ratelimit").iter().count() <= 16
        && broken.get_all("ratelimit-policy").iter().count() <= 16
    {
        assert!(signal.readings.is_empty(), "{:?}", signal.readings);
    }
}

/// What must hold for any head.
pub(crate) fn check(headers: &HeaderMap) {
    for wall in WALLS {
        let at = moment(wall);
        let mut skew = Skew::new();
        let signal = read(StatusCode::TOO_MANY_REQUESTS, headers, at, &mut skew);
        sound(&signal);
        let notes = explain(headers, &signal);
        assert!(notes.len() <= headers.len());
        for note in &notes {
            sound_note(note, headers);
        }
        // The same answer again teaches nothing that turns the wait around.
        let again = read(StatusCode::TOO_MANY_REQUESTS, headers, at, &mut skew);
        assert_eq!(again.retry_after, signal.retry_after);
    }
}

fn sound(signal: &Signal) {
    if let Hint::Until(until) = signal.retry_after {
        assert!(until >= NOW, "asks to come back before now: {until:?}");
    }
    // Five groups of names, and sixteen policies.
    assert!(signal.readings.len() <= 5 + 16);
    for r in &signal.readings {
        assert!(
            r.reset.is_none_or(|t| t >= NOW),
            "a reset before now: {r:?}"
        );
        assert!(
            r.window.is_none_or(|w| !w.is_zero()),
            "no window at all: {r:?}"
        );
    }
}

fn sound_note(note: &Note, headers: &HeaderMap) {
    // At most 80 bytes are kept, each of which may become a sign of three.
    assert!(note.value.len() <= 240);
    let longest = headers.get_all(&note.name).iter().map(|v| v.len()).max();
    match note.reading {
        LineReading::Until(until) => assert!(until >= NOW, "{note:?}"),
        LineReading::TooLong => assert!(longest > Some(MAX_VALUE), "{note:?}"),
        _ => {}
    }
}
