//! The boundaries at which providers begin to count anew: the next full minute, the next
//! midnight of some place.

use std::time::Duration;

use abide_core::{Instant, Moment};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, ZonedDateTime};

/// A boundary of the calendar or the clock.
#[derive(Clone, Debug)]
pub(crate) enum Boundary {
    /// The next whole multiple of this since 1970.
    Every(Duration),
    /// The next midnight there.
    Midnight(TimeZone),
    /// The next first day of a month there.
    Month(TimeZone),
}

impl Boundary {
    /// Reads `minute`, `quarter-hour`, `hour`, `midnight ZONE` or `month ZONE`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (kind, zone) = (words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        let every = |secs| {
            zone.is_none()
                .then(|| Self::Every(Duration::from_secs(secs)))
        };
        match kind {
            "minute" => every(60),
            "quarter-hour" => every(900),
            "hour" => every(3600),
            "midnight" => Some(Self::Midnight(self::zone(zone?)?)),
            "month" => Some(Self::Month(self::zone(zone?)?)),
            _ => None,
        }
    }

    /// The first of these after `at`; `None` beyond the calendar.
    pub(crate) fn next(&self, at: Moment) -> Option<Instant> {
        let nanos = i128::from(at.wall.as_unix_nanos());
        let next = match self {
            Self::Every(d) => {
                let d = i128::try_from(d.as_nanos()).ok()?;
                (nanos.div_euclid(d) + 1) * d
            }
            Self::Midnight(zone) => {
                let today = day(nanos, zone)?;
                today.checked_add(1.day()).ok()?.timestamp().as_nanosecond()
            }
            Self::Month(zone) => {
                let first = day(nanos, zone)?.first_of_month().ok()?;
                first
                    .checked_add(1.month())
                    .ok()?
                    .timestamp()
                    .as_nanosecond()
            }
        };
        let ahead = u64::try_from(next - nanos).ok()?;
        Some(at.now.after(Duration::from_nanos(ahead)))
    }
}

/// The time zone of this name.
pub(crate) fn zone(zone: &str) -> Option<TimeZone> {
    if zone == "UTC" {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(zone).ok()
}

/// The beginning of the day.
fn day(nanos: i128, zone: &TimeZone) -> Option<ZonedDateTime> {
    let now = Timestamp::from_nanosecond(nanos).ok()?;
    now.to_zoned_datetime(zone.clone()).start_of_day().ok()
}

#[cfg(test)]
mod tests {
    use abide_core::WallTime;

    use super::*;

    fn wait(boundary: &str, now: &str) -> u64 {
        let now: Timestamp = now.parse().unwrap();
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(now.as_second()),
        );
        let next = Boundary::parse(boundary).unwrap().next(at).unwrap();
        next.since(at.now).as_secs()
    }

    #[test]
    fn days_end_where_the_provider_lives() {
        assert_eq!(wait("midnight UTC", "2026-03-10T12:00:00Z"), 43_200);
        assert_eq!(
            wait("midnight America/Los_Angeles", "2026-03-10T12:00:00Z"),
            68_400
        );
        assert_eq!(
            wait("midnight America/Los_Angeles", "2026-01-15T12:00:00Z"),
            72_000
        );
    }

    #[test]
    fn a_day_of_twenty_three_hours_ends_an_hour_early() {
        // Summer time begins on this day at ten in the morning UTC.
        assert_eq!(
            wait("midnight America/Los_Angeles", "2026-03-08T08:30:00Z"),
            81_000
        );
    }

    #[test]
    fn clocks_and_months_have_boundaries_too() {
        assert_eq!(wait("quarter-hour", "2026-03-10T12:07:43Z"), 437);
        assert_eq!(wait("hour", "2026-03-10T12:00:00Z"), 3600);
        assert_eq!(wait("minute", "2026-03-10T12:00:59Z"), 1);
        assert_eq!(wait("month UTC", "2026-12-31T00:00:00Z"), 86_400);
    }

    #[test]
    fn what_is_no_boundary_is_refused() {
        for text in [
            "",
            "noon",
            "midnight",
            "midnight Atlantis",
            "hour UTC",
            "day UTC x",
        ] {
            assert!(Boundary::parse(text).is_none(), "{text:?}");
        }
    }
}
