//! Dates: the three forms of HTTP-date here, RFC 3339 in [`super::rfc3339`].
//!
//! Read leniently where no other meaning is possible (letter case, a numeric zone, a four-digit
//! year in the old form, minute precision) and strictly everywhere else. The name of the weekday
//! must be one, yet is not compared with the date: the date is what was meant.

use super::civil::{Civil, year_of};
use super::cursor::Cursor;
use super::rfc3339;
use crate::time::WallTime;

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];
const DAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Any of the four forms. `now` settles the century of a two-digit year.
pub(super) fn parse(value: &[u8], now: WallTime) -> Option<WallTime> {
    match value.first()? {
        b if b.is_ascii_digit() => rfc3339::parse(value),
        b if b.is_ascii_alphabetic() => http_date(value, now),
        _ => None,
    }
}

/// The name of a weekday, short or long, in any case.
pub(super) fn is_weekday(word: &[u8]) -> bool {
    DAYS.iter().any(|d| {
        word.eq_ignore_ascii_case(d.as_bytes()) || word.eq_ignore_ascii_case(&d.as_bytes()[..3])
    })
}

/// `Tue, 10 Mar 2026 12:05:00 GMT`, `Tuesday, 10-Mar-26 12:05:00 GMT`,
/// `Tue Mar 10 12:05:00 2026`.
pub(super) fn http_date(value: &[u8], now: WallTime) -> Option<WallTime> {
    let mut c = Cursor(value);
    if !is_weekday(c.word()?) {
        return None;
    }
    if c.byte(b',').is_none() {
        return asctime(c);
    }
    c.spaces()?;
    let day = c.digits(1, 2)?;
    let dashed = c.0.first() == Some(&b'-');
    if dashed {
        c.byte(b'-')?;
    } else {
        c.spaces()?;
    }
    let month = month(c.word()?)?;
    if dashed {
        c.byte(b'-')?;
    } else {
        c.spaces()?;
    }
    let width = c.0.len();
    let year = c.digits(2, 4)?;
    let two_digits = width - c.0.len() == 2;
    if width - c.0.len() == 3 || (two_digits && !dashed) {
        return None;
    }
    c.spaces()?;
    let clock = c.clock()?;
    c.spaces()?;
    let east = zone(&mut c)?;
    c.done()?;
    let year = if two_digits { century(year, now) } else { year };
    Civil {
        year,
        month,
        day,
        clock,
    }
    .wall(east)
}

/// What follows the weekday in the form of C's `asctime`.
fn asctime(mut c: Cursor<'_>) -> Option<WallTime> {
    c.spaces()?;
    let month = month(c.word()?)?;
    c.spaces()?;
    let day = c.digits(1, 2)?;
    c.spaces()?;
    let clock = c.clock()?;
    c.spaces()?;
    let year = c.digits(4, 4)?;
    c.done()?;
    Civil {
        year,
        month,
        day,
        clock,
    }
    .wall(0)
}

fn month(word: &[u8]) -> Option<u32> {
    let found = MONTHS.iter().position(|m| word.eq_ignore_ascii_case(*m))?;
    u32::try_from(found + 1).ok()
}

fn zone(c: &mut Cursor<'_>) -> Option<i64> {
    if matches!(c.0.first(), Some(b'+' | b'-')) {
        return c.offset();
    }
    let word = c.word()?;
    ["gmt", "utc", "ut", "z"]
        .iter()
        .any(|z| word.eq_ignore_ascii_case(z.as_bytes()))
        .then_some(0)
}

/// The year with those last two digits that lies at most 50 years ahead and less than 50 behind.
fn century(two: u32, now: WallTime) -> u32 {
    let this = year_of(now);
    let ahead = (i64::from(two) - this).rem_euclid(100);
    let year = if ahead > 50 {
        this + ahead - 100
    } else {
        this + ahead
    };
    u32::try_from(year).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallTime = WallTime::from_unix_secs(1_773_144_000);
    const IN_FIVE_MINUTES: WallTime = WallTime::from_unix_secs(1_773_144_300);

    fn date(v: &str) -> Option<WallTime> {
        parse(v.as_bytes(), NOW)
    }

    #[test]
    fn every_form_names_the_same_instant() {
        for v in [
            "Tue, 10 Mar 2026 12:05:00 GMT",
            "tue, 10 mar 2026 12:05:00 gmt",
            "Tue, 10 Mar 2026 12:05:00 +0000",
            "Tue, 10 Mar 2026 13:05:00 +0100",
            "Tue, 10 Mar 2026 07:05:00 -05:00",
            "Tuesday, 10-Mar-26 12:05:00 GMT",
            "Tue, 10-Mar-2026 12:05:00 GMT",
            "Tue Mar 10 12:05:00 2026",
            "2026-03-10T12:05:00Z",
            "2026-03-10t12:05:00.000z",
            "2026-03-10 12:05:00Z",
            "2026-03-10T12:05Z",
            "2026-03-10T05:05:00-07:00",
            "2026-03-10T05:05:00.0-0700",
        ] {
            assert_eq!(date(v), Some(IN_FIVE_MINUTES), "{v}");
        }
    }

    #[test]
    fn a_padded_day_in_asctime() {
        let expected = date("Sun, 01 Mar 2026 00:00:00 GMT");
        assert!(expected.is_some());
        assert_eq!(date("Sun Mar  1 00:00:00 2026"), expected);
    }

    #[test]
    fn what_is_no_date_is_absent() {
        for v in [
            "",
            "Tue",
            "Tue, ",
            "Tue, 10 Mar",
            "Xyz, 10 Mar 2026 12:05:00 GMT",
            "Tue, 10 Mrz 2026 12:05:00 GMT",
            "Tue, 32 Mar 2026 12:05:00 GMT",
            "Tue, 10 Mar 2026 25:05:00 GMT",
            "Tue, 10 Mar 26 12:05:00 GMT",
            "Tue, 10 Mar 2026 12:05:00",
            "Tue, 10 Mar 2026 12:05:00 CET",
            "Tue, 10 Mar 2026 12:05:00 GMT junk",
            "2026-03-10",
            "2026-03-10T12:05:00",
            "2026-13-10T12:05:00Z",
            "2026-03-10T12:05:00.Z",
            "2026-03-10T12:05:00Zjunk",
        ] {
            assert_eq!(date(v), None, "{v}");
        }
    }

    #[test]
    fn two_digit_years_look_at_most_fifty_years_ahead() {
        let year = |v: &str| date(v).map(|w| (year_of(w), w > NOW));
        assert_eq!(year("Sunday, 06-Nov-94 08:49:37 GMT"), Some((1994, false)));
        assert_eq!(year("Friday, 06-Nov-76 08:49:37 GMT"), Some((2076, true)));
        assert_eq!(year("Sunday, 06-Nov-77 08:49:37 GMT"), Some((1977, false)));
    }

    #[test]
    fn fractions_round_up_and_never_is_very_late() {
        let half = date("2026-03-10T12:05:00.5000000001Z");
        assert_eq!(
            half.map(WallTime::as_unix_nanos),
            Some(1_773_144_300_500_000_001)
        );
        assert_eq!(date("9999-12-31T23:59:59Z"), Some(WallTime::MAX));
        assert_eq!(date("Fri, 31 Dec 9999 23:59:59 GMT"), Some(WallTime::MAX));
    }
}
