//! Durations as profiles write them.

use std::time::Duration;

use jiff::SignedDuration;

/// Reads `30s`, `5m`, `24h`, `1h30m`, `7d`.
///
/// # Errors
/// What is wrong with it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration (as \"30s\", \"5m\", \"24h\", \"7d\")");
    let total = if let Some(days) = text.strip_suffix('d') {
        let days: u32 = days.trim().parse().map_err(|_| wrong())?;
        Duration::from_secs(u64::from(days) * 86_400)
    } else {
        let signed: SignedDuration = text.parse().map_err(|_| wrong())?;
        Duration::try_from(signed).map_err(|_| wrong())?
    };
    if total.is_zero() {
        return Err(format!("{text:?} is no time at all"));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        for text in ["", "30", "-5s", "0s", "soon", "d"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }
}
