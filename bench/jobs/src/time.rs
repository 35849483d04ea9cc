//! Time and processor time, as a bench measures them.

use std::time::Duration;

/// Measures how long something takes.
pub(crate) struct Watch(std::time::Instant);

impl Watch {
    #[expect(
        clippy::disallowed_methods,
        reason = "a bench measures the machine's time, and decides nothing by it"
    )]
    pub(crate) fn begin() -> Self {
        Self(std::time::Instant::now())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a bench measures the machine's time, and decides nothing by it"
    )]
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

pub(crate) fn per_second(things: usize, took: Duration) -> f64 {
    things as f64 / took.as_secs_f64()
}

/// Processor time this process has used.
pub(crate) fn processor() -> Duration {
    let clock = rustix::time::ClockId::ProcessCPUTime;
    let used = rustix::time::clock_gettime(clock);
    let secs = u64::try_from(used.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(used.tv_nsec).unwrap_or_default();
    Duration::new(secs, nanos)
}
