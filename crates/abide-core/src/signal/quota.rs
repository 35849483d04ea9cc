//! The quota headers that come one fact a line: limit, remaining, reset.
//!
//! A negative remaining is how some providers count what was asked too much; it reads as none
//! left. Of several values the most careful one counts: the least that remains, the latest reset.

use std::time::Duration;

use super::cursor::trim;
use super::names::{GROUPS, Group, Part};
use super::number::Number;
use super::skew::Clock;
use super::told::{Told, epoch_by_size};
use super::{date, list, span};
use crate::finding::Reading;
use crate::time::WallTime;

/// What was gathered of every group.
#[derive(Debug, Default)]
pub(super) struct Quotas([Quota; GROUPS]);

#[derive(Clone, Copy, Debug, Default)]
struct Quota {
    limit: Option<u64>,
    remaining: Option<u64>,
    window: Option<Duration>,
    reset: Told,
    reset_after: Told,
}

impl Quotas {
    /// Takes in one header line.
    pub(super) fn take(&mut self, group: Group, part: Part, value: &[u8], now: WallTime) {
        let quota = &mut self.0[group as usize];
        match part {
            Part::Limit => {
                let (limit, window) = limit(value);
                quota.limit = quota.limit.or(limit);
                quota.window = quota.window.or(window);
            }
            Part::Remaining => {
                for member in value.split(|b| *b == b',') {
                    let (left, window) = amount(member);
                    quota.remaining = match (quota.remaining, left) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                    quota.window = quota.window.or(window);
                }
            }
            Part::Reset => reset(value, now, &mut quota.reset),
            Part::ResetAfter => reset(value, now, &mut quota.reset_after),
            Part::Interval => quota.window = quota.window.or_else(|| interval(trim(value))),
        }
    }

    /// One reading for every group that told anything.
    pub(super) fn readings(&self, clock: &Clock, out: &mut Vec<Reading>) {
        for quota in &self.0 {
            // A span needs no clock, so it is believed before a point in time.
            let told = if quota.reset_after.is_silent() {
                quota.reset
            } else {
                quota.reset_after
            };
            let reading = Reading {
                limit: quota.limit,
                remaining: quota.remaining,
                reset: told.until(clock),
                window: quota.window,
                ..Reading::default()
            };
            if reading != Reading::default() {
                out.push(reading);
            }
        }
    }
}

/// `100`, `10, 10;w=1`, `100;w=21600`: the limit in force first, its window where told.
fn limit(value: &[u8]) -> (Option<u64>, Option<Duration>) {
    let mut members = value.split(|b| *b == b',').map(amount);
    let Some((Some(limit), window)) = members.next() else {
        return (None, None);
    };
    let told =
        window.or_else(|| members.find_map(|(n, window)| window.filter(|_| n == Some(limit))));
    (Some(limit), told)
}

/// One amount with its window, as in `76;w=21600`.
fn amount(member: &[u8]) -> (Option<u64>, Option<Duration>) {
    let mut pieces = member.split(|b| *b == b';').map(trim);
    let amount = pieces.next().and_then(|n| match n.strip_prefix(b"-") {
        Some(n) => Number::parse(n).map(|_| 0),
        None => Number::parse(n).map(Number::whole),
    });
    let window = pieces.find_map(|p| Number::parse(p.strip_prefix(b"w=")?));
    (
        amount,
        window.map(|n| n.duration(1)).filter(|w| !w.is_zero()),
    )
}

fn interval(value: &[u8]) -> Option<Duration> {
    let told = span::parse(value).or_else(|| Number::parse(value).map(|n| n.duration(1)));
    told.filter(|w| !w.is_zero())
}

/// A reset: a span in seconds, an epoch by its size, a date, or a span with units.
pub(super) fn reset(value: &[u8], now: WallTime, told: &mut Told) {
    list::members(value, |member| {
        if let Some(n) = Number::parse(member) {
            match epoch_by_size(n) {
                Some(point) => told.at(point),
                None => told.after(n.duration(1)),
            }
        } else if let Some(span) = span::parse(member) {
            told.after(span);
        } else if let Some(point) = date::parse(member, now) {
            told.at(point);
        } else {
            return false;
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use super::super::skew::Skew;
    use super::*;
    use crate::time::{Instant, Moment};

    const WALL: WallTime = WallTime::from_unix_secs(1_773_144_000);

    fn read(lines: &[(Group, Part, &str)]) -> Vec<Reading> {
        let mut quotas = Quotas::default();
        for (group, part, value) in lines {
            quotas.take(*group, *part, value.as_bytes(), WALL);
        }
        let at = Moment::new(Instant::from_secs(1000), WALL);
        let mut out = Vec::new();
        quotas.readings(&Skew::new().observe(at, None, Duration::ZERO), &mut out);
        out
    }

    fn reset_of(value: &str) -> Option<Duration> {
        let told = read(&[(Group::X, Part::Reset, value)]);
        told.first()?
            .reset
            .map(|t| t.since(Instant::from_secs(1000)))
    }

    #[test]
    fn every_way_to_write_a_reset() {
        for (value, millis) in [
            ("37", 37_000),
            ("41.5", 41_500),
            ("1773144077", 77_000),
            ("1773144077000", 77_000),
            ("1773144077000000", 77_000),
            ("1773144077000000000", 77_000),
            ("1773144012.250", 12_250),
            ("2026-03-10T12:30:47Z", 1_847_000),
            ("2026-03-10T05:30:00-07:00", 1_800_000),
            ("Tue, 10 Mar 2026 12:01:00 GMT", 60_000),
            ("6m0s", 360_000),
            ("76ms", 76),
            ("7, 9", 9_000),
        ] {
            assert_eq!(
                reset_of(value),
                Some(Duration::from_millis(millis)),
                "{value}"
            );
        }
        for value in ["-7", "tomorrow", "1773143997", "1600000000", "0", "", "NaN"] {
            assert_eq!(reset_of(value), None, "{value}");
        }
    }

    #[test]
    fn limits_with_windows() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(limit(b"10, 10;w=1"), (Some(10), second));
        assert_eq!(limit(b"10, 5;w=60, 10;w=1"), (Some(10), second));
        assert_eq!(
            limit(b"100;w=21600"),
            (Some(100), Some(Duration::from_secs(21_600)))
        );
        assert_eq!(limit(b"100;w=0"), (Some(100), None));
        assert_eq!(limit(b"unlimited"), (None, None));
    }

    #[test]
    fn below_zero_is_none_left() {
        let left = |v| {
            read(&[(Group::X, Part::Remaining, v)])
                .first()
                .and_then(|r| r.remaining)
        };
        assert_eq!(left("-3"), Some(0));
        assert_eq!(left("599.0"), Some(599));
        assert_eq!(left("199, 4"), Some(4));
        assert_eq!(left("-"), None);
        assert_eq!(left("none"), None);
    }

    #[test]
    fn a_span_is_believed_before_a_point() {
        let told = read(&[
            (Group::X, Part::Reset, "1773144500"),
            (Group::X, Part::ResetAfter, "1.25"),
        ]);
        let at = told[0].reset.map(|t| t.since(Instant::from_secs(1000)));
        assert_eq!(at, Some(Duration::from_millis(1250)));
    }

    #[test]
    fn groups_are_kept_apart_and_silence_tells_nothing() {
        let told = read(&[
            (Group::Requests, Part::Remaining, "12"),
            (Group::Tokens, Part::Remaining, "0"),
            (Group::Draft, Part::Limit, "unlimited"),
        ]);
        assert_eq!(
            told.iter().map(|r| r.remaining).collect::<Vec<_>>(),
            [Some(12), Some(0)]
        );
    }
}
