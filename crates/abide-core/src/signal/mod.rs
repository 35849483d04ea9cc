//! What one answer said: pure parsing of its head, total on any bytes.
//!
//! [`read`] walks the headers once and matches names, so that a plain answer costs next to nothing
//! and allocates nothing. Nothing is judged here: [`classify`](crate::classify) decides what a
//! signal means. Malformed values are absent, values longer than [`MAX_VALUE`] are not read, and
//! every number saturates: whatever a provider sends, reading it ends and never panics.
//!
//! Order of belief among the headers that say when to come back: the millisecond forms, then
//! `Retry-After`, then `X-RateLimit-Retry-After`; the first usable one wins and a zero yields.
//! Resets of quotas are kept apart as readings, since on a good answer they mean something else
//! than on a refusal.

mod civil;
mod cursor;
mod date;
mod explain;
mod list;
mod names;
mod number;
mod quota;
mod retry_after;
mod rfc3339;
mod set;
mod skew;
mod span;
mod structured;
#[cfg(test)]
mod tests;
mod told;
mod value;

use std::time::Duration;

use http::{HeaderMap, StatusCode};

pub use self::explain::{LineReading, Note, explain};
pub use self::set::NameSet;
pub use self::skew::Skew;
pub use self::told::Hint;
pub use self::value::{Form, count};

use self::names::Known;
use self::quota::Quotas;
use self::skew::Clock;
use self::told::Told;
use crate::finding::Reading;
use crate::time::{Instant, Moment, WallTime};

/// A hint longer than this many bytes is not read: no provider needs so many, and the work per
/// answer stays bounded.
pub const MAX_VALUE: usize = 1024;

/// What the head of one answer said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// Its status.
    pub status: StatusCode,
    /// When it was received.
    pub at: Moment,
    /// What `Retry-After` or one of its kin says.
    pub retry_after: Hint,
    /// What it tells of quotas, in no particular order.
    pub readings: Vec<Reading>,
    /// Its `Date`, as sent.
    pub date: Option<WallTime>,
    /// Its `Age`; zero when it did not come from a cache.
    pub age: Duration,
    /// Whether it names another place to look at.
    pub has_location: bool,
    /// What kind of body it announces.
    pub media: Media,
    /// Which headers it has, known or not: what is not among them need not be looked up.
    pub names: NameSet,
    clock: Clock,
}

impl Signal {
    /// It was kept by a cache for a while, so what it tells of quotas is stale.
    pub const fn is_cached(&self) -> bool {
        !self.age.is_zero()
    }

    /// Our instant for a time on the provider's clock, as this answer dates it; `None` when it
    /// has passed. For times that a body tells.
    pub fn instant_of(&self, theirs: WallTime) -> Option<Instant> {
        self.clock.instant_of(theirs)
    }
}

/// The kind of a body, as announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Media {
    /// Not said.
    #[default]
    Unknown,
    /// JSON, or a type built upon it.
    Json,
    /// A page for people.
    Html,
    /// Anything else.
    Other,
}

impl Media {
    fn of(content_type: &[u8]) -> Self {
        let end = content_type
            .iter()
            .position(|b| *b == b';')
            .unwrap_or(content_type.len());
        let kind = cursor::trim(&content_type[..end]);
        let ends = |suffix: &[u8]| {
            kind.len()
                .checked_sub(suffix.len())
                .is_some_and(|at| kind[at..].eq_ignore_ascii_case(suffix))
        };
        if kind.is_empty() {
            Self::Unknown
        } else if ends(b"/json") || ends(b"+json") || ends(b"/x-ndjson") || ends(b"/jsonl") {
            Self::Json
        } else if ends(b"/html") || ends(b"/xhtml+xml") {
            Self::Html
        } else {
            Self::Other
        }
    }
}

/// Whether a header of this name (in lower case) is known to tell of quotas.
pub fn is_quota(name: &str) -> bool {
    matches!(
        names::known(name.as_bytes()),
        Some(Known::Quota(..) | Known::RateLimit | Known::RateLimitPolicy)
    )
}

/// Reads the head of an answer received `at`; its `Date` narrows `skew`.
pub fn read(status: StatusCode, headers: &HeaderMap, at: Moment, skew: &mut Skew) -> Signal {
    let mut millis = Told::default();
    let mut plain = Told::default();
    let mut other = Told::default();
    let mut quotas = None;
    let mut structured = false;
    let mut date = None;
    let mut age = None;
    let mut has_location = false;
    let mut media = Media::Unknown;
    let mut held = NameSet::default();
    for (name, value) in headers {
        let name = name.as_str().as_bytes();
        held.join(NameSet::of(name));
        let Some(known) = names::known(name) else {
            continue;
        };
        let value = value.as_bytes();
        if value.len() > MAX_VALUE {
            has_location |= known == Known::Location;
            continue;
        }
        match known {
            Known::Age => age = age.max(whole_seconds(value)),
            Known::ContentType => media = Media::of(value),
            Known::Date => date = date.or_else(|| date::http_date(cursor::trim(value), at.wall)),
            Known::Location => has_location = true,
            Known::Quota(group, part) => {
                quotas
                    .get_or_insert_with(Quotas::default)
                    .take(group, part, value, at.wall);
            }
            Known::RateLimit | Known::RateLimitPolicy => structured = true,
            Known::RetryAfter => retry_after::seconds(value, at.wall, &mut plain),
            Known::RetryAfterMillis => retry_after::millis(value, &mut millis),
            Known::RetryAfterX => retry_after::seconds(value, at.wall, &mut other),
        }
    }
    let age = age.unwrap_or(Duration::ZERO);
    let clock = skew.observe(at, date, age);
    let mut readings = Vec::new();
    if let Some(quotas) = quotas {
        quotas.readings(&clock, &mut readings);
    }
    if structured {
        structured::readings(headers, &clock, &mut readings);
    }
    let retry_after = millis
        .hint(&clock)
        .or(plain.hint(&clock))
        .or(other.hint(&clock));
    Signal {
        status,
        at,
        retry_after,
        readings,
        date,
        age,
        has_location,
        media,
        names: held,
        clock,
    }
}

/// `D+` in seconds, as `Age` is written.
fn whole_seconds(value: &[u8]) -> Option<Duration> {
    number::Number::parse(cursor::trim(value)).map(|n| Duration::from_secs(n.whole()))
}
