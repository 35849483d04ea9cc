//! Times and lengths of time for people.

use std::time::Duration;

use abide::core::WallTime;
use abide::profile::judge::Recorded;
use jiff::tz::TimeZone;

/// `5 s`, `0.25 s`, `90 s`, `2 min 5 s`, `3 d 4 h`: no finer than two units. Seconds stay seconds
/// as long as a header's arithmetic can be followed in the head.
pub(crate) fn span(d: Duration) -> String {
    if d < Duration::from_secs(60) && d.subsec_nanos() != 0 {
        let millis = d.as_nanos().div_ceil(1_000_000);
        let (secs, rest) = (millis / 1000, millis % 1000);
        let decimals = format!("{rest:03}");
        return match decimals.trim_end_matches('0') {
            "" => format!("{secs} s"),
            some => format!("{secs}.{some} s"),
        };
    }
    let secs = d.as_secs().saturating_add(u64::from(d.subsec_nanos() > 0));
    let (big, small) = match secs {
        0..120 => ((secs, "s"), (0, "")),
        120..3600 => ((secs / 60, "min"), (secs % 60, "s")),
        3600..86_400 => ((secs / 3600, "h"), (secs % 3600 / 60, "min")),
        _ => ((secs / 86_400, "d"), (secs % 86_400 / 3600, "h")),
    };
    match small {
        (0, _) => format!("{} {}", big.0, big.1),
        (n, unit) => format!("{} {} {n} {unit}", big.0, big.1),
    }
}

/// The same time in the zone of this machine; `None` where that is UTC.
pub(crate) fn here(at: WallTime) -> Option<String> {
    let zone = TimeZone::system();
    let told = jiff::Timestamp::from_second(at.as_unix_secs_ceil()).ok()?;
    let zoned = told.to_zoned_datetime(zone);
    if zoned.offset().is_zero() {
        return None;
    }
    Some(zoned.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}

/// A value that told a time, with what is taken off it.
pub(super) struct Told<'a> {
    value: &'a str,
    wait: Duration,
    /// The clock that points in time are told by.
    clock: &'static str,
    now: String,
}

impl<'a> Told<'a> {
    pub(super) fn new(value: &'a str, wait: Duration, recorded: &Recorded) -> Self {
        let date = recorded.headers.get("date");
        let date = date.and_then(|d| d.to_str().ok());
        Self {
            value: value.trim(),
            wait,
            clock: if date.is_some() { "its Date" } else { "now" },
            now: date.map_or_else(|| recorded.wall.to_string(), str::to_owned),
        }
    }

    /// `x-ratelimit-reset 1773144060 − its Date 1773144000`; a length of time stands for itself.
    pub(super) fn equation(&self, name: &str) -> String {
        let Self { value, clock, .. } = self;
        match self.epoch() {
            Some(now) => format!("{name} {value} − {clock} {now}"),
            None if self.is_date() => format!("{name} {value} − {clock} {}", self.now),
            None => format!("{name} {value}"),
        }
    }

    /// What the clock shows, counted as the value counts.
    fn epoch(&self) -> Option<String> {
        let whole = self.value.split('.').next()?;
        if whole.len() < 10 || !whole.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let then: u128 = whole.parse().ok()?;
        let nanos = self.wait.as_nanos();
        let per = match whole.len() {
            10..=11 => 1_000_000_000,
            12..=14 => 1_000_000,
            15..=17 => 1_000,
            _ => 1,
        };
        let now = then.checked_sub(nanos / per)?;
        Some(now.to_string())
    }

    fn is_date(&self) -> bool {
        let letters = self.value.bytes().filter(u8::is_ascii_alphabetic).count();
        self.value.len() >= 16 && (letters >= 2 || self.value.contains(':'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_two_units_at_most() {
        let told = |secs: f64| span(Duration::from_secs_f64(secs));
        assert_eq!(told(0.0), "0 s");
        assert_eq!(told(0.25), "0.25 s");
        assert_eq!(told(5.0), "5 s");
        assert_eq!(told(12.5), "12.5 s");
        assert_eq!(told(59.9999), "60 s");
        assert_eq!(told(90.0), "90 s");
        assert_eq!(told(125.0), "2 min 5 s");
        assert_eq!(told(3600.0), "1 h");
        assert_eq!(told(43_200.5), "12 h");
        assert_eq!(told(266_400.0), "3 d 2 h");
        let longest = span(Duration::MAX);
        assert!(
            longest.ends_with(" h") || longest.ends_with(" d"),
            "{longest}"
        );
    }
}
