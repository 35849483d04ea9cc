//! Calendar dates to Unix seconds.
//!
//! Done by hand since "never" is often written as the last second of the year 9999, which must
//! become a very long wait rather than an error, and since the answer's head is read on every
//! request.

use crate::time::WallTime;

/// A date and a time of day, not yet checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Civil {
    pub(super) year: u32,
    /// 1 to 12.
    pub(super) month: u32,
    /// 1 to 31.
    pub(super) day: u32,
    /// Hour, minute, second.
    pub(super) clock: (u32, u32, u32),
}

impl Civil {
    /// Seconds since the Unix epoch, reading the fields as UTC; `None` for a day that no
    /// calendar has. A leap second counts as the first second of the next minute.
    pub(super) fn unix_secs(self) -> Option<i64> {
        let (h, m, s) = self.clock;
        let days = days_in(self.year, self.month)?;
        if self.day == 0 || self.day > days || h > 23 || m > 59 || s > 60 {
            return None;
        }
        // Years counted from March put the leap day last, so that months need no table.
        let (y, month) = if self.month > 2 {
            (i64::from(self.year), self.month - 3)
        } else {
            (i64::from(self.year) - 1, self.month + 9)
        };
        let before_year = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
        let before_month = i64::from((153 * month + 2) / 5);
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        let day = before_year + before_month + i64::from(self.day) - 1 - 719_468;
        Some(day * 86_400 + i64::from(h) * 3600 + i64::from(m) * 60 + i64::from(s))
    }

    /// The time it names, the fields read `east` seconds east of UTC.
    pub(super) fn wall(self, east: i64) -> Option<WallTime> {
        Some(WallTime::from_unix_secs(self.unix_secs()? - east))
    }
}

/// The calendar year of `at`, to within a day of New Year.
pub(super) const fn year_of(at: WallTime) -> i64 {
    1970 + at.as_unix_secs_ceil().div_euclid(31_556_952)
}

const fn days_in(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(year: u32, month: u32, day: u32) -> Option<i64> {
        Civil {
            year,
            month,
            day,
            clock: (0, 0, 0),
        }
        .unix_secs()
    }

    #[test]
    fn agrees_with_the_calendar_library() {
        for year in [1970, 1999, 2000, 2024, 2026, 2100, 2400, 9999] {
            for month in 1..=12 {
                for day in [1, 15, 28] {
                    let date = jiff::civil::date(year as i16, month as i8, day as i8);
                    let expected = date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs();
                    assert_eq!(unix(year, month, day), Some(expected), "{date}");
                }
            }
        }
    }

    #[test]
    fn days_that_no_calendar_has() {
        assert_eq!(unix(2026, 2, 29), None);
        assert_eq!(unix(1900, 2, 29), None);
        assert!(unix(2000, 2, 29).is_some());
        assert_eq!(unix(2026, 13, 1), None);
        assert_eq!(unix(2026, 4, 31), None);
        assert_eq!(unix(2026, 4, 0), None);
    }
}
