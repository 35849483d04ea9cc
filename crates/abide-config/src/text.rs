//! Single values with units, for flags and inputs that are no knobs.

use std::time::Duration;

use crate::units::{self, Rate};

/// Reads a duration, as `30s` or `2m 13s`.
///
/// # Errors
/// What was found, and what a duration looks like.
pub fn duration(text: &str) -> Result<Duration, String> {
    units::duration(text)
        .ok_or_else(|| format!("{text:?} is no time; write 250ms, 30s, 2m 13s or 1h"))
}

/// Reads a rate, as `50/s` or `1/10s`.
///
/// # Errors
/// What was found, and what a rate looks like.
pub fn rate(text: &str) -> Result<Rate, String> {
    units::rate(text).ok_or_else(|| format!("{text:?} is no rate; write 50/s, 100/2s or 1/10s"))
}

/// Reads a size, as `64KiB`, in bytes.
///
/// # Errors
/// What was found, and what a size looks like.
pub fn size(text: &str) -> Result<u64, String> {
    units::size(text).ok_or_else(|| format!("{text:?} is no size; write 512B, 64KiB or 10MB"))
}
