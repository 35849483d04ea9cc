//! The same reading again, line by line and in words: which hints were used, and why the others
//! were not.
//!
//! Kept apart from [`read`](super::read), so that the path of every answer pays nothing for it.

use http::{HeaderMap, HeaderName};

use super::names::{Known, Part, known};
use super::skew::Clock;
use super::told::{Hint, Told};
use super::{MAX_VALUE, Signal, quota, retry_after, structured};
use crate::time::Instant;

/// One header line that could say something, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The header.
    pub name: HeaderName,
    /// Its value, with bytes that are no text replaced; at most 80 bytes are kept.
    pub value: String,
    /// What was made of it.
    pub reading: LineReading,
}

/// What was made of one header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineReading {
    /// It names an instant.
    Until(Instant),
    /// It asks for zero, which every other source outranks.
    Zero,
    /// It names a time that has passed, which instructs nothing.
    Elapsed,
    /// It tells something else that was understood (a limit, what remains).
    Understood,
    /// It follows no grammar that is accepted, so it counts as absent.
    Malformed,
    /// It is longer than [`MAX_VALUE`].
    TooLong,
}

/// Explains the hints of an answer whose head was read as `signal`.
pub fn explain(headers: &HeaderMap, signal: &Signal) -> Vec<Note> {
    let lines = headers.iter().filter_map(|(name, value)| {
        let known = known(name.as_str().as_bytes())?;
        let value = value.as_bytes();
        let reading = if value.len() > MAX_VALUE {
            LineReading::TooLong
        } else {
            reading(known, value, headers, signal)?
        };
        let shown = &value[..value.len().min(80)];
        let value = String::from_utf8_lossy(shown).into_owned();
        Some(Note {
            name: name.clone(),
            value,
            reading,
        })
    });
    lines.collect()
}

/// `None` for a header that is no hint.
fn reading(
    known: Known,
    value: &[u8],
    headers: &HeaderMap,
    signal: &Signal,
) -> Option<LineReading> {
    let wall = signal.at.wall;
    let mut told = Told::default();
    match known {
        Known::RetryAfter | Known::RetryAfterX => {
            retry_after::seconds(value, wall, &mut told);
        }
        Known::RetryAfterMillis => retry_after::millis(value, &mut told),
        Known::Quota(_, Part::Reset | Part::ResetAfter) => quota::reset(value, wall, &mut told),
        Known::Quota(group, part) => {
            let mut quotas = quota::Quotas::default();
            quotas.take(group, part, value, wall);
            let mut out = Vec::new();
            quotas.readings(&signal.clock, &mut out);
            return Some(understood(!out.is_empty()));
        }
        // Their lines mean something only together.
        Known::RateLimit | Known::RateLimitPolicy => {
            let mut out = Vec::new();
            structured::readings(headers, &signal.clock, &mut out);
            return Some(understood(!out.is_empty()));
        }
        Known::Age | Known::ContentType | Known::Date | Known::Location => return None,
    }
    Some(when(&told, &signal.clock))
}

fn when(told: &Told, clock: &Clock) -> LineReading {
    match told.hint(clock) {
        Hint::Until(t) => LineReading::Until(t),
        Hint::Zero => LineReading::Zero,
        Hint::Absent if told.is_silent() => LineReading::Malformed,
        Hint::Absent => LineReading::Elapsed,
    }
}

const fn understood(yes: bool) -> LineReading {
    if yes {
        LineReading::Understood
    } else {
        LineReading::Malformed
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, StatusCode};

    use super::*;
    use crate::signal::{Skew, read};
    use crate::{Moment, WallTime};

    #[test]
    fn every_hint_is_accounted_for() {
        let long = "1".repeat(MAX_VALUE + 1);
        let lines: [(&'static str, &str, LineReading); 10] = [
            (
                "retry-after",
                "5",
                LineReading::Until(Instant::from_secs(1005)),
            ),
            ("retry-after", "-5", LineReading::Malformed),
            ("retry-after", "0", LineReading::Zero),
            (
                "retry-after",
                "Tue, 10 Mar 2026 11:00:00 GMT",
                LineReading::Elapsed,
            ),
            ("retry-after-ms", &long, LineReading::TooLong),
            (
                "x-ratelimit-reset",
                "6m0s",
                LineReading::Until(Instant::from_secs(1360)),
            ),
            ("x-ratelimit-remaining", "12", LineReading::Understood),
            ("x-ratelimit-limit", "unlimited", LineReading::Malformed),
            ("ratelimit", "default;;r=zero", LineReading::Malformed),
            ("x-amz-retry-after", "1e3", LineReading::Malformed),
        ];
        let mut headers = HeaderMap::new();
        headers.append("location", HeaderValue::from_static("/secret"));
        for (name, value, _) in &lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(1_773_144_000),
        );
        let signal = read(StatusCode::OK, &headers, at, &mut Skew::new());
        let notes = explain(&headers, &signal);
        assert_eq!(notes.len(), lines.len(), "and nothing else is shown");
        for (name, value, reading) in lines {
            let note = notes
                .iter()
                .find(|n| n.name == name && value.starts_with(&n.value));
            assert_eq!(note.map(|n| n.reading), Some(reading), "{name}: {value}");
        }
    }
}
