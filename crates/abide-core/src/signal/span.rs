//! Durations with units, as Go prints them: `6m0s`, `20ms`, `2m59.56s`, `1h30m`. One space may stand between
//! two of them: `2m 13s`.
//!
//! Only quota reset headers carry them; in `Retry-After` a unit is malformed. `ms` is tested
//! before `m`, since reading 76 ms as 76 minutes is the classic mistake here.

use std::time::Duration;

use super::number::{Number, duration_of};

/// Reads the whole of `value`: at least one number, each followed by its unit, rounded up.
pub(super) fn parse(value: &[u8]) -> Option<Duration> {
    if value.is_empty() {
        return None;
    }
    let mut rest = value;
    let mut total = 0u128;
    while !rest.is_empty() {
        let n = rest
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'.')
            .count();
        let (number, tail) = rest.split_at(n);
        let (unit_nanos, tail) = unit(tail)?;
        // One unit is `unit_nanos` nanoseconds; a number counts in billionths of it.
        let billionths = Number::parse(number)?.nanos(1);
        let nanos = billionths
            .saturating_mul(unit_nanos)
            .div_ceil(1_000_000_000);
        total = total.saturating_add(nanos);
        // As people are told: "2m 13s".
        rest = match tail {
            [b' ', more @ ..] if !more.is_empty() => more,
            tail => tail,
        };
    }
    Some(duration_of(total))
}

fn unit(value: &[u8]) -> Option<(u128, &[u8])> {
    const UNITS: [(&[u8], u128); 9] = [
        (b"ns", 1),
        (b"us", 1_000),
        ("\u{b5}s".as_bytes(), 1_000),
        ("\u{3bc}s".as_bytes(), 1_000),
        (b"ms", 1_000_000),
        (b"s", 1_000_000_000),
        (b"m", 60_000_000_000),
        (b"h", 3_600_000_000_000),
        (b"d", 86_400_000_000_000),
    ];
    UNITS
        .iter()
        .find_map(|(name, nanos)| Some((*nanos, value.strip_prefix(*name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(v: &str) -> Option<Duration> {
        parse(v.as_bytes())
    }

    #[test]
    fn units_add_up() {
        assert_eq!(span("6m0s"), Some(Duration::from_secs(360)));
        assert_eq!(span("20ms"), Some(Duration::from_millis(20)));
        assert_eq!(span("2m59.56s"), Some(Duration::from_millis(179_560)));
        assert_eq!(span("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(span("2m 13s"), Some(Duration::from_secs(133)));
        assert_eq!(span("7.66s"), Some(Duration::from_millis(7660)));
        assert_eq!(span("3µs"), Some(Duration::from_micros(3)));
        assert_eq!(span("0s"), Some(Duration::ZERO));
    }

    #[test]
    fn rounds_up_and_saturates() {
        assert_eq!(span("1.5ns"), Some(Duration::from_nanos(2)));
        assert_eq!(span(&format!("{}h", "9".repeat(80))), Some(Duration::MAX));
    }

    #[test]
    fn the_rest_is_absent() {
        for v in [
            "", "s", "6", "-6m", "6m0", "6 m", "6mm", "6M", "1.m", "1x", "1s,2s",
        ] {
            assert_eq!(span(v), None, "{v:?}");
        }
    }
}
