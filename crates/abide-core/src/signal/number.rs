//! Decimal numbers as providers write them: `D+` and `D+.D+`, nothing else.
//!
//! Lax parsers read `-5`, `+30`, `0x1F`, `1_0`, `1e3` and `NaN` as numbers, each in some language;
//! here they are absent, because a hint nobody meant is worse than none. Rounding goes up, so a
//! wait never ends early, and a number too large saturates instead of wrapping into "at once".

use std::time::Duration;

const BILLION: u128 = 1_000_000_000;

/// A non-negative decimal number, exact to a billionth, rounded up beyond that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// The value in billionths.
    billionths: u128,
    /// The part before the point.
    whole: u128,
}

impl Number {
    /// Reads the whole of `value`.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let n = value.iter().take_while(|b| b.is_ascii_digit()).count();
        let (int, rest) = value.split_at(n);
        if int.is_empty() {
            return None;
        }
        let fraction = match rest {
            [] => 0,
            [b'.', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                billionths(digits)
            }
            _ => return None,
        };
        let whole = whole(int);
        // Nearly all numbers fit into half the width, where nothing can overflow.
        let billionths = match u64::try_from(whole) {
            Ok(short) => u128::from(short) * BILLION + fraction,
            Err(_) => whole.saturating_mul(BILLION).saturating_add(fraction),
        };
        Some(Self { billionths, whole })
    }

    /// The part before the point, saturating.
    pub(super) fn whole(self) -> u64 {
        u64::try_from(self.whole).unwrap_or(u64::MAX)
    }

    /// As nanoseconds, when one unit is `1 / per_second` of a second; rounded up.
    pub(super) const fn nanos(self, per_second: u128) -> u128 {
        // A division of this width costs more than all the reading.
        match per_second {
            1 => self.billionths,
            _ => self.billionths.div_ceil(per_second),
        }
    }

    /// As a duration, when one unit is `1 / per_second` of a second; rounded up, saturating.
    pub(super) fn duration(self, per_second: u128) -> Duration {
        duration_of(self.nanos(per_second))
    }
}

/// A duration of that many nanoseconds, saturating.
pub(super) fn duration_of(nanos: u128) -> Duration {
    if let Ok(nanos) = u64::try_from(nanos) {
        return Duration::from_nanos(nanos);
    }
    match u64::try_from(nanos / BILLION) {
        Ok(secs) => Duration::new(secs, (nanos % BILLION) as u32),
        Err(_) => Duration::MAX,
    }
}

/// The digits before it. Nearly all numbers fit into half the width, where sums cost a tenth.
fn whole(digits: &[u8]) -> u128 {
    if digits.len() < 20 {
        let value = digits
            .iter()
            .fold(0u64, |v, b| v * 10 + u64::from(b - b'0'));
        return u128::from(value);
    }
    digits.iter().fold(0, |v: u128, b| {
        v.saturating_mul(10).saturating_add(u128::from(b - b'0'))
    })
}

/// The digits after a decimal point, in billionths, rounded up.
fn billionths(digits: &[u8]) -> u128 {
    let mut value = 0u128;
    for i in 0..9 {
        value = value * 10 + digits.get(i).map_or(0, |b| u128::from(b - b'0'));
    }
    let more = digits.iter().skip(9).any(|b| *b != b'0');
    value + u128::from(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(v: &str) -> Option<Duration> {
        Number::parse(v.as_bytes()).map(|n| n.duration(1))
    }

    #[test]
    fn digits_and_one_point() {
        assert_eq!(secs("0120"), Some(Duration::from_secs(120)));
        assert_eq!(secs("2.0"), Some(Duration::from_secs(2)));
        assert_eq!(secs("1.5"), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn what_lax_parsers_accept_is_absent() {
        for v in [
            "", "-5", "+30", "0x1F", "1_0", "1e3", "NaN", "30s", ".5", "5.", "1.2.3", "١٢", "1 2",
        ] {
            assert_eq!(secs(v), None, "{v:?}");
        }
    }

    #[test]
    fn rounding_goes_up_to_the_next_nanosecond() {
        assert_eq!(secs("0.0000000001"), Some(Duration::from_nanos(1)));
        assert_eq!(secs("1.9999999999"), Some(Duration::from_secs(2)));
        let ms = Number::parse(b"1.0000001").map(|n| n.duration(1000));
        assert_eq!(ms, Some(Duration::from_nanos(1_000_001)));
    }

    #[test]
    fn too_large_saturates() {
        assert_eq!(secs(&"9".repeat(60)), Some(Duration::MAX));
        assert_eq!(
            Number::parse(b"9999999999999999999").map(Number::whole),
            Some(9_999_999_999_999_999_999)
        );
        let wraps_to_four = "340282366920938463463374607431768211460";
        assert_eq!(secs(wraps_to_four), Some(Duration::MAX));
        assert_eq!(
            Number::parse(b"99999999999999999999").map(Number::whole),
            Some(u64::MAX)
        );
    }
}
