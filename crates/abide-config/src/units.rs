//! Durations, rates and sizes as people write them.
//!
//! A number without a unit is refused: `patience = 30` means seconds to one reader and
//! milliseconds to the next. Reading is exact, without floating point, and what is written back
//! reads as the same value.

use std::fmt;
use std::time::Duration;

/// Units of time, the longest first, in nanoseconds.
const TIMES: [(&str, u64); 5] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
];

/// Units of size, the largest first, in bytes.
const SIZES: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

/// So many in so much time: `50/s`, `1/10s`, `100/2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many; at least 1.
    pub count: u32,
    /// In how much time; longer than zero.
    pub per: Duration,
}

impl Rate {
    /// The time between two, rounded up: a pace is never faster than what was asked for.
    pub fn interval(self) -> Duration {
        let nanos = self.per.as_nanos().div_ceil(u128::from(self.count.max(1)));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = duration_text(self.per);
        let one = TIMES.iter().find(|(unit, _)| per == format!("1{unit}"));
        let per = one.map_or(per.as_str(), |(unit, _)| unit);
        write!(f, "{}/{per}", self.count)
    }
}

/// Reads a duration: `30s`, `2m 13s`, `250ms`, `1.5h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut nanos = 0_u64;
    let mut seen = false;
    while !rest.is_empty() {
        let (amount, after) = amount(rest)?;
        let (unit, after) = word(after);
        let unit = TIMES.iter().find(|(name, _)| *name == unit)?.1;
        nanos = nanos.checked_add(amount.of(unit)?)?;
        rest = after.trim_start();
        seen = true;
    }
    seen.then(|| Duration::from_nanos(nanos))
}

/// Reads a rate.
pub(crate) fn rate(text: &str) -> Option<Rate> {
    let (count, per) = text.split_once('/')?;
    let (count, per) = (count.trim(), per.trim());
    let digits = !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit());
    let count = digits.then(|| count.parse().ok()).flatten()?;
    let unit = TIMES.iter().find(|(name, _)| *name == per);
    let per = match unit {
        Some((_, nanos)) => Duration::from_nanos(*nanos),
        None => duration(per)?,
    };
    (count > 0 && per > Duration::ZERO).then_some(Rate { count, per })
}

/// Reads a size in bytes: `64KiB`, `10 MB`, `512B`.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (amount, rest) = amount(text.trim())?;
    let (unit, rest) = word(rest.trim_start());
    let unit = SIZES.iter().find(|(name, _)| *name == unit)?.1;
    rest.is_empty().then(|| amount.of(unit)).flatten()
}

/// A decimal number, exactly.
struct Amount {
    whole: u64,
    part: u64,
    scale: u64,
}

impl Amount {
    /// So many of a unit; what is smaller than its smallest part is cut.
    fn of(&self, unit: u64) -> Option<u64> {
        let whole = self.whole.checked_mul(unit)?;
        let part = u128::from(self.part) * u128::from(unit) / u128::from(self.scale);
        whole.checked_add(u64::try_from(part).ok()?)
    }
}

fn amount(text: &str) -> Option<(Amount, &str)> {
    let (whole, rest) = digits(text);
    let mut amount = Amount {
        whole: whole.parse().ok()?,
        part: 0,
        scale: 1,
    };
    let Some(after) = rest.strip_prefix('.') else {
        return Some((amount, rest));
    };
    let (part, rest) = digits(after);
    if part.len() > 9 {
        return None;
    }
    amount.part = part.parse().ok()?;
    amount.scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    Some((amount, rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn word(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_alphabetic).count())
}

/// A duration as it is read, without its quotes.
pub(crate) fn duration_text(d: Duration) -> String {
    let mut nanos = u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (unit, length) in TIMES {
        let whole = nanos / length;
        nanos %= length;
        if unit == "ms" && nanos > 0 {
            let part = format!("{nanos:06}");
            parts.push(format!("{whole}.{}ms", part.trim_end_matches('0')));
        } else if whole > 0 {
            parts.push(format!("{whole}{unit}"));
        }
    }
    if parts.is_empty() {
        parts.push("0s".to_owned());
    }
    parts.join(" ")
}

/// A size as it is read, without its quotes.
pub(crate) fn size_text(bytes: u64) -> String {
    let fits = SIZES
        .iter()
        .find(|(_, size)| bytes > 0 && bytes.is_multiple_of(*size));
    let (unit, size) = fits.unwrap_or(&("B", 1));
    format!("{}{unit}", bytes / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_as_they_are_written() {
        for (text, ms) in [
            ("30s", 30_000),
            ("2m 13s", 133_000),
            ("2m13s", 133_000),
            ("250ms", 250),
            ("1.5h", 5_400_000),
            ("31d", 2_678_400_000),
            (" 0s ", 0),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1e3s",
            "1 s",
            "1x",
            "0x1s",
            "1_0s",
            ".5s",
            "1.s",
            "1..5s",
            "99999999999999999999s",
            "999999999d",
            "1s,2s",
            "１s",
        ] {
            assert_eq!(duration(text), None, "{text:?}");
        }
    }

    #[test]
    fn rates_read_as_they_are_written() {
        for (text, count, ms) in [
            ("50/s", 50, 1_000),
            ("1/10s", 1, 10_000),
            ("100/2s", 100, 2_000),
            ("5000 / h", 5_000, 3_600_000),
        ] {
            let per = Duration::from_millis(ms);
            assert_eq!(rate(text), Some(Rate { count, per }), "{text}");
        }
        for text in [
            "", "50", "0/s", "50/", "/s", "50/0s", "-5/s", "+5/s", "50/5", "5.5/s",
        ] {
            assert_eq!(rate(text), None, "{text:?}");
        }
        let third = rate("3/s").map(Rate::interval);
        assert_eq!(third, Some(Duration::from_nanos(333_333_334)), "rounded up");
    }

    #[test]
    fn sizes_read_as_they_are_written() {
        assert_eq!(size("64KiB"), Some(65_536));
        assert_eq!(size("1.5 MB"), Some(1_500_000));
        for text in ["", "64", "64kib", "KiB", "64KiBs", "99999999999999GiB"] {
            assert_eq!(size(text), None, "{text:?}");
        }
        assert_eq!(size_text(65_536), "64KiB");
        assert_eq!(size_text(0), "0B");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(nanos: u64, bytes: u64, count in 1_u32..) {
            let d = Duration::from_nanos(nanos);
            prop_assert_eq!(duration(&duration_text(d)), Some(d));
            prop_assert_eq!(size(&size_text(bytes)), Some(bytes));
            if nanos > 0 {
                let r = Rate { count, per: d };
                prop_assert_eq!(rate(&r.to_string()), Some(r));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = (duration(&text), rate(&text), size(&text));
        }
    }
}
