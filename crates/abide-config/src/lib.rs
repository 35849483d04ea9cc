//! abide-config
#![allow(dead_code)]

mod units;

use std::time::Duration;

pub use units::Rate;

/// Reads a duration.
///
/// # Errors
/// What a duration looks like.
pub fn duration(text: &str) -> Result<Duration, String> {
    units::duration(text)
        .ok_or_else(|| format!("{text:?} is no time; write 250ms, 30s, 2m 13s or 1h"))
}

/// Reads a rate.
///
/// # Errors
/// What a rate looks like.
pub fn rate(text: &str) -> Result<Rate, String> {
    units::rate(text).ok_or_else(|| format!("{text:?} is no rate; write 50/s, 100/2s or 1/10s"))
}

/// Reads a size, in bytes.
///
/// # Errors
/// What a size looks like.
pub fn size(text: &str) -> Result<u64, String> {
    units::size(text).ok_or_else(|| format!("{text:?} is no size; write 512B, 64KiB or 10MB"))
}
