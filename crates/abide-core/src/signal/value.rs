//! Values that providers tell in places of their own, in a form that their profile declares.
//!
//! The grammars are those of the common headers; only the unit is not guessed.

use std::time::Duration;

use super::cursor::trim;
use super::number::Number;
use super::told::{Hint, Told, epoch_by_size};
use super::{MAX_VALUE, Signal, date, quota, span};

/// How a told time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Seconds from now, decimals allowed.
    Seconds,
    /// Milliseconds from now.
    Millis,
    /// Microseconds from now.
    Micros,
    /// Nanoseconds from now.
    Nanos,
    /// Minutes from now.
    Minutes,
    /// Hours from now.
    Hours,
    /// Seconds, milli-, micro- or nanoseconds since 1970, told apart by their size.
    Epoch,
    /// A date in one of the HTTP forms, or as RFC 3339 has it.
    Date,
    /// A span with units, as Go and protobuf write it.
    Duration,
    /// Units a second; the time of one unit is meant.
    PerSecond,
    /// Whatever of these can be told from its looks; a plain number below a billion is seconds.
    Any,
}

impl Form {
    /// A value as a span of time, where it is one.
    pub fn span(self, value: &[u8]) -> Option<Duration> {
        let value = within(value)?;
        let scaled = |per_second| Number::parse(value).map(|n| n.duration(per_second));
        match self {
            Self::Seconds => scaled(1),
            Self::Millis => scaled(1_000),
            Self::Micros => scaled(1_000_000),
            Self::Nanos => scaled(1_000_000_000),
            Self::Minutes => scaled(1).map(|d| d.saturating_mul(60)),
            Self::Hours => scaled(1).map(|d| d.saturating_mul(3600)),
            Self::Duration => span::parse(value),
            Self::PerSecond => {
                let rate: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
                let plain = Number::parse(value).is_some() && rate > 0.0;
                plain.then(|| Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX))
            }
            Self::Any => span::parse(value).or_else(|| {
                let n = Number::parse(value)?;
                epoch_by_size(n).is_none().then(|| n.duration(1))
            }),
            Self::Epoch | Self::Date => None,
        }
    }
}

impl Signal {
    /// When a value told somewhere in this answer says to come back.
    pub fn told(&self, value: &[u8], form: Form) -> Hint {
        let mut told = Told::default();
        let Some(value) = within(value) else {
            return Hint::Absent;
        };
        match form {
            Form::Epoch => {
                if let Some(point) = Number::parse(value).and_then(epoch_by_size) {
                    told.at(point);
                }
            }
            Form::Date => {
                if let Some(point) = date::parse(value, self.at.wall) {
                    told.at(point);
                }
            }
            Form::Any => quota::reset(value, self.at.wall, &mut told),
            _ => {
                if let Some(span) = form.span(value) {
                    told.after(span);
                }
            }
        }
        told.hint(&self.clock)
    }
}

/// A count, as `12`, `0.0` or `-3` (which reads as nothing left).
pub fn count(value: &[u8]) -> Option<u64> {
    let value = within(value)?;
    // Nearly all are plain and short, and there are several in most answers.
    if (1..20).contains(&value.len()) && value.iter().all(u8::is_ascii_digit) {
        let digits = value.iter().map(|b| u64::from(b - b'0'));
        return Some(digits.fold(0, |n, digit| n * 10 + digit));
    }
    match value.strip_prefix(b"-") {
        Some(n) => Number::parse(n).map(|_| 0),
        None => Number::parse(value).map(Number::whole),
    }
}

fn within(value: &[u8]) -> Option<&[u8]> {
    let value = trim(value);
    (value.len() <= MAX_VALUE).then_some(value)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;
    use crate::signal::{Skew, read};
    use crate::{Instant, Moment, WallTime};

    fn told(value: &str, form: Form) -> Hint {
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(1_773_144_000),
        );
        let signal = read(StatusCode::OK, &HeaderMap::new(), at, &mut Skew::new());
        signal.told(value.as_bytes(), form)
    }

    fn after(millis: u64) -> Hint {
        Hint::Until(Instant::from_millis(1_000_000 + millis))
    }

    #[test]
    fn every_form_is_read_in_its_own_unit() {
        assert_eq!(told("2.5", Form::Seconds), after(2500));
        assert_eq!(told("20", Form::Millis), after(20));
        assert_eq!(told("3", Form::Minutes), after(180_000));
        assert_eq!(told("1.5", Form::Hours), after(5_400_000));
        assert_eq!(told("1773144060000", Form::Epoch), after(60_000));
        assert_eq!(told("2026-03-10T12:01:00Z", Form::Date), after(60_000));
        assert_eq!(told("3.447s", Form::Duration), after(3447));
        assert_eq!(told("0.5", Form::PerSecond), after(2000));
        assert_eq!(told("6m0s", Form::Any), after(360_000));
        assert_eq!(told("0", Form::Seconds), Hint::Zero);
    }

    #[test]
    fn another_form_is_absent() {
        for (value, form) in [
            ("60", Form::Epoch),
            ("6m0s", Form::Seconds),
            ("60", Form::Date),
            ("60", Form::Duration),
            ("0", Form::PerSecond),
            ("-1", Form::Seconds),
            ("1e3", Form::PerSecond),
            ("inf", Form::PerSecond),
            ("", Form::Any),
        ] {
            assert_eq!(told(value, form), Hint::Absent, "{value:?} as {form:?}");
        }
    }

    #[test]
    fn counts_saturate_and_never_go_below_nothing() {
        assert_eq!(count(b"0.0"), Some(0));
        assert_eq!(count(b" 12 "), Some(12));
        assert_eq!(count(b"-3"), Some(0));
        assert_eq!(count(b"0012"), Some(12));
        let longest = "9999999999999999999";
        assert_eq!(count(longest.as_bytes()), longest.parse().ok());
        assert_eq!(count(b""), None);
        assert_eq!(count(&[b'9'; 40]), Some(u64::MAX));
        assert_eq!(count(b"many"), None);
    }
}
