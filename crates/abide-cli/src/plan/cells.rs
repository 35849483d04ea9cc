//! A run cut into stretches, as coarsely as people plan.

use std::time::Duration;

use serde::Serialize;

/// A stretch of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Cell {
    /// When it begins, in seconds.
    pub(super) from: f64,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    /// Whether some gate was held in it.
    pub(super) held: bool,
}

/// No finer than people plan.
pub(super) fn coarse(d: Duration) -> Duration {
    match d.as_secs() {
        0..10 => Duration::from_millis(u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        secs => Duration::from_secs(secs + u64::from(d.subsec_nanos() > 0)),
    }
}
