//! `Retry-After` and its millisecond forms.
//!
//! Accepted: digits, `D+.D+`, the three forms of HTTP-date, RFC 3339, and a number that can only
//! be an epoch. All else is absent. Of several valid values the longest counts, since waiting too
//! long costs a pause and too short costs a ban.

use super::number::Number;
use super::told::{Told, near_epoch};
use super::{date, list};
use crate::time::WallTime;

/// Adds one line of `Retry-After`.
pub(super) fn seconds(value: &[u8], now: WallTime, told: &mut Told) {
    list::members(value, |member| {
        if let Some(n) = Number::parse(member) {
            match near_epoch(n, now) {
                Some(point) => told.at(point),
                None => told.after(n.duration(1)),
            }
            return true;
        }
        match date::parse(member, now) {
            Some(point) => {
                told.at(point);
                true
            }
            None => false,
        }
    });
}

/// Adds one line of a header whose name says that it counts milliseconds.
pub(super) fn millis(value: &[u8], told: &mut Told) {
    list::members(value, |member| match Number::parse(member) {
        Some(n) => {
            told.after(n.duration(1000));
            true
        }
        None => false,
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::skew::Skew;
    use super::super::told::Hint;
    use super::*;
    use crate::time::{Instant, Moment};

    const WALL: WallTime = WallTime::from_unix_secs(1_773_144_000);

    fn hint(lines: &[&str]) -> Hint {
        let at = Moment::new(Instant::from_secs(1000), WALL);
        let mut told = Told::default();
        for line in lines {
            seconds(line.as_bytes(), WALL, &mut told);
        }
        told.hint(&Skew::new().observe(at, None, Duration::ZERO))
    }

    fn after(secs: u64) -> Hint {
        Hint::Until(Instant::from_secs(1000 + secs))
    }

    #[test]
    fn the_longest_valid_value_counts() {
        assert_eq!(hint(&["120, 60"]), after(120));
        assert_eq!(hint(&["soon", "90", "-200"]), after(90));
        assert_eq!(hint(&["Tue, 10 Mar 2026 12:01:00 GMT, 120"]), after(120));
        assert_eq!(hint(&["120, Tue, 10 Mar 2026 12:05:00 GMT"]), after(300));
        assert_eq!(hint(&["0", "7"]), after(7));
        assert_eq!(
            hint(&["2026-03-10T12:05:00Z", "2026-03-10T12:01:00Z"]),
            after(300)
        );
    }

    #[test]
    fn zero_is_not_absent_and_an_elapsed_date_is() {
        assert_eq!(hint(&["0"]), Hint::Zero);
        assert_eq!(hint(&["0.0"]), Hint::Zero);
        assert_eq!(hint(&["Tue, 10 Mar 2026 11:59:59 GMT"]), Hint::Absent);
        assert_eq!(hint(&["Tue, 10 Mar 2026 12:00:00 GMT"]), Hint::Absent);
        assert_eq!(hint(&["1773143990"]), Hint::Absent);
        assert_eq!(hint(&[]), Hint::Absent);
    }

    #[test]
    fn units_are_malformed_here() {
        assert_eq!(hint(&["30s", "6m0s", "1e3", "0x1F", ""]), Hint::Absent);
    }

    #[test]
    fn too_large_saturates() {
        assert_eq!(hint(&["99999999999999999999"]), Hint::Until(Instant::FAR));
        assert_eq!(hint(&["9999-12-31T23:59:59Z"]), Hint::Until(Instant::FAR));
    }

    #[test]
    fn milliseconds_round_up() {
        let mut told = Told::default();
        millis(b"1500.0000001, 20", &mut told);
        let at = Moment::new(Instant::ORIGIN, WALL);
        let until = told.until(&Skew::new().observe(at, None, Duration::ZERO));
        assert_eq!(until, Some(Instant::from_nanos(1_500_000_001)));
    }
}
