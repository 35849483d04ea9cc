//! What a caller wishes of the gateway: how long it will wait, how urgent it is, for whom it asks.
//!
//! `Prefer: wait=20` (RFC 7240) bounds all waiting, 0 means at once or not at all. `Priority: u=1`
//! (RFC 9218) is its urgency. `Abide-Key` names whom it asks for, to be fair between them. What
//! cannot be read is as if it were not there.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use abide::core::queue::Urgency;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::head::{KEY, PREFER};

pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const PRIORITY: HeaderName = HeaderName::from_static("priority");

/// The longest wait that a caller may wish for: a day. Longer waits are work for jobs.
const LONGEST: u64 = 86_400;

/// What a caller wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Bounds all waiting.
    pub(crate) wait: Option<Duration>,
    pub(crate) urgency: Option<u8>,
    pub(crate) fair: u64,
}

impl Wish {
    /// Reads it.
    pub(crate) fn of(headers: &HeaderMap, keys: &RandomState) -> Self {
        Self {
            wait: wait(headers),
            urgency: headers
                .get(PRIORITY)
                .and_then(|v| urgency(v.to_str().ok()?)),
            // 0 stands for everybody else.
            fair: headers
                .get(KEY)
                .map_or(0, |key| keys.hash_one(key.as_bytes()) | 1),
        }
    }

    pub(crate) fn urgency(&self) -> Urgency {
        self.urgency.map_or_else(Urgency::default, Urgency::new)
    }

    /// What is answered where a wish was followed.
    pub(crate) fn applied(&self) -> Option<HeaderValue> {
        let wait = self.wait?.as_secs();
        format!("wait={wait}").try_into().ok()
    }
}

/// Of several preferences of one name the first counts (RFC 7240 section 2).
fn wait(headers: &HeaderMap) -> Option<Duration> {
    if !headers.contains_key(PREFER) {
        return None;
    }
    let all = headers
        .get_all(PREFER)
        .iter()
        .filter_map(|v| v.to_str().ok());
    let told = all.flat_map(|v| v.split(',')).find_map(|preference| {
        let first = preference.split(';').next()?;
        let (name, value) = first.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    })?;
    if told.is_empty() || !told.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let seconds = told.parse().unwrap_or(LONGEST);
    Some(Duration::from_secs(u64::min(seconds, LONGEST)))
}

/// Of several members of one name the last counts, as in any dictionary of RFC 8941.
fn urgency(value: &str) -> Option<u8> {
    let members = value.split(',').rev();
    let told = members.filter_map(|m| m.split(';').next()?.trim().strip_prefix("u="));
    let told = told.map(str::trim).next()?;
    told.parse().ok().filter(|u| *u <= 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &'static str, value: &'static str) -> Wish {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        Wish::of(&headers, &RandomState::new())
    }

    #[test]
    fn gw50_a_caller_says_how_long_it_waits() {
        let wait = |value| of("prefer", value).wait.map(|w| w.as_secs());
        assert_eq!(wait("wait=20"), Some(20));
        assert_eq!(wait("respond-async, Wait = \"5\"; foo"), Some(5));
        assert_eq!(wait("wait=0"), Some(0));
        assert_eq!(wait("wait=99999999999999999999"), Some(86_400));
        for none in ["wait", "wait=", "wait=-1", "wait=1.5", "handling=lenient"] {
            assert_eq!(wait(none), None, "{none}");
        }
    }

    #[test]
    fn gw122_urgency_is_that_of_rfc_9218() {
        let urgency = |value| of("priority", value).urgency;
        assert_eq!(urgency("u=1"), Some(1));
        assert_eq!(urgency("u=5, i"), Some(5));
        assert_eq!(urgency("u=2, u=6"), Some(6));
        for none in ["i", "u=8", "u=x", "", "u"] {
            assert_eq!(urgency(none), None, "{none}");
        }
    }

    #[test]
    fn a_key_is_never_nobody() {
        assert_ne!(of("abide-key", "tenant-1").fair, 0);
        assert_eq!(of("accept", "*/*").fair, 0);
    }
}
