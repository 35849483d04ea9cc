//! The structured fields `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers),
//! and the dictionary form of older drafts.
//!
//! A field that does not parse as a whole is ignored, as the draft demands. Where an item tells no
//! `t`, the whole window of its policy is the safe bound. Partition keys are not read: what they
//! split is already split by credential.

use std::time::Duration;

use http::HeaderMap;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};

use super::skew::Clock;
use crate::finding::Reading;

/// More policies than this are not looked at.
const MAX_ITEMS: usize = 16;
/// More lines than this are not looked at.
const MAX_LINES: usize = 16;

/// Adds what the two fields tell.
pub(super) fn readings(headers: &HeaderMap, clock: &Clock, out: &mut Vec<Reading>) {
    let policies = list(headers, "ratelimit-policy").unwrap_or_default();
    let policies = || policies.iter().filter_map(string_item).take(MAX_ITEMS);
    let Some(limits) = list(headers, "ratelimit") else {
        out.extend(dictionary(headers, clock));
        return;
    };
    let before = out.len();
    for (name, item) in limits.iter().filter_map(string_item).take(MAX_ITEMS) {
        let Some(remaining) = number(item, "r") else {
            continue;
        };
        let policy = policies().find(|(n, _)| *n == name).map(|(_, item)| item);
        let window = policy.and_then(window);
        let told = number(item, "t")
            .filter(|t| *t >= 0)
            .map(seconds)
            .or(window);
        out.push(Reading {
            limit: policy.and_then(quota),
            remaining: Some(u64::try_from(remaining).unwrap_or(0)),
            reset: told.map(|d| clock.at.now.after(d)),
            window,
            ..Reading::default()
        });
    }
    if out.len() == before {
        out.extend(policies().map(|(_, item)| Reading {
            limit: quota(item),
            window: window(item),
            ..Reading::default()
        }));
    }
}

/// `limit=100, remaining=0, reset=5`, each an integer.
fn dictionary(headers: &HeaderMap, clock: &Clock) -> Option<Reading> {
    let mut dict = Dictionary::new();
    for line in headers.get_all("ratelimit").iter().take(MAX_LINES) {
        dict = Parser::new(line.as_bytes())
            .parse_dictionary_with_visitor(dict)
            .ok()?;
    }
    let value = |key| match dict.get(key) {
        Some(ListEntry::Item(Item {
            bare_item: BareItem::Integer(n),
            ..
        })) => Some(i64::from(*n)),
        _ => None,
    };
    let remaining = value("remaining")?;
    let reset = value("reset").filter(|t| *t > 0).map(seconds);
    Some(Reading {
        limit: value("limit").and_then(|n| u64::try_from(n).ok()),
        remaining: Some(u64::try_from(remaining).unwrap_or(0)),
        reset: reset.map(|d| clock.at.now.after(d)),
        ..Reading::default()
    })
}

/// All lines of one field as one list; `None` when any of it is malformed.
fn list(headers: &HeaderMap, name: &str) -> Option<List> {
    let mut list = List::new();
    for line in headers.get_all(name).iter().take(MAX_LINES) {
        list = Parser::new(line.as_bytes())
            .parse_list_with_visitor(list)
            .ok()?;
    }
    Some(list)
}

fn string_item(entry: &ListEntry) -> Option<(&str, &Item)> {
    match entry {
        ListEntry::Item(item) => match &item.bare_item {
            BareItem::String(name) => Some((name.as_str(), item)),
            _ => None,
        },
        ListEntry::InnerList(_) => None,
    }
}

fn number(item: &Item, key: &str) -> Option<i64> {
    match item.params.get(key) {
        Some(BareItem::Integer(n)) => Some(i64::from(*n)),
        _ => None,
    }
}

fn quota(policy: &Item) -> Option<u64> {
    number(policy, "q").and_then(|n| u64::try_from(n).ok())
}

fn window(policy: &Item) -> Option<Duration> {
    number(policy, "w").filter(|w| *w > 0).map(seconds)
}

fn seconds(n: i64) -> Duration {
    Duration::from_secs(n.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::super::skew::Skew;
    use super::*;
    use crate::time::{Instant, Moment, WallTime};

    fn read(lines: &[(&'static str, &str)]) -> Vec<Reading> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(1_773_144_000),
        );
        let mut out = Vec::new();
        readings(
            &headers,
            &Skew::new().observe(at, None, Duration::ZERO),
            &mut out,
        );
        out
    }

    fn told(limit: Option<u64>, left: u64, secs: Option<u64>, window: Option<u64>) -> Reading {
        Reading {
            limit,
            remaining: Some(left),
            reset: secs.map(|s| Instant::from_secs(1000 + s)),
            window: window.map(Duration::from_secs),
            ..Reading::default()
        }
    }

    #[test]
    fn items_meet_their_policies_by_name() {
        let out = read(&[
            (
                "ratelimit-policy",
                r#""burst";q=100;w=60, "daily";q=1000;w=86400;pk=:c2VjcmV0:"#,
            ),
            ("ratelimit", r#""daily";r=998;t=86397"#),
            ("ratelimit", r#""burst";r=0"#),
        ]);
        assert_eq!(
            out,
            [
                told(Some(1000), 998, Some(86_397), Some(86_400)),
                told(Some(100), 0, Some(60), Some(60)),
            ]
        );
    }

    #[test]
    fn an_item_without_a_policy_stands_alone() {
        assert_eq!(
            read(&[("ratelimit", r#""x";r=0;t=5"#)]),
            [told(None, 0, Some(5), None)]
        );
        assert_eq!(
            read(&[("ratelimit", r#""x";r=0"#)]),
            [told(None, 0, None, None)]
        );
        assert_eq!(
            read(&[("ratelimit", r#""x";r=-2;t=-5"#)]),
            [told(None, 0, None, None)]
        );
    }

    #[test]
    fn malformed_is_ignored_as_a_whole() {
        for value in [
            "default;;r=zero",
            r#""x";r=0;t=5, "#,
            r#""x";r=0;t=5, "y"#,
            r#"("x");r=0"#,
            r#""x";r="0""#,
            r#""x";t=5"#,
            "x;r=0;t=5",
            "",
        ] {
            assert_eq!(read(&[("ratelimit", value)]), [], "{value}");
        }
        let one_bad_line = [("ratelimit", r#""x";r=0;t=5"#), ("ratelimit", r#""y"#)];
        assert_eq!(read(&one_bad_line), []);
    }

    #[test]
    fn the_older_dictionary() {
        let out = read(&[("ratelimit", "limit=100, remaining=0, reset=5")]);
        assert_eq!(out, [told(Some(100), 0, Some(5), None)]);
        assert_eq!(read(&[("ratelimit", "limit=100, reset=5")]), []);
    }

    #[test]
    fn a_policy_alone_tells_the_limit() {
        let out = read(&[("ratelimit-policy", r#""x";q=10;w=1"#)]);
        assert_eq!(out[0].limit, Some(10));
        assert_eq!(out[0].window, Some(Duration::from_secs(1)));
        assert_eq!(out[0].remaining, None);
    }
}
