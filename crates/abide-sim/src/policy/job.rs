//! The job an oracle is asked about.

use std::num::NonZeroU64;
use std::time::Duration;

use abide_core::Moment;

/// A number of items to be got through a provider as fast as it permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// How many items, one accepted request each.
    pub items: u64,
    /// The time on the wire, there and back; half of it each way.
    pub trip: Duration,
    /// When the first request is sent. Policies that look at the wall clock need it.
    pub start: Moment,
    /// How many requests the client has on the wire at most; `None` is "as many as it takes".
    /// Looked at only where nothing but the client's own width bounds it: limits by rate assume
    /// that there are workers enough to keep up.
    pub workers: Option<NonZeroU64>,
    /// Time that wrappers add to each answer.
    pub service: Duration,
}

impl Job {
    /// `items` items over a wire with round trips of `trip`, begun at the origin of time.
    pub fn new(items: u64, trip: Duration) -> Self {
        Self {
            items,
            trip,
            start: Moment::default(),
            workers: None,
            service: Duration::ZERO,
        }
    }

    /// The same job, begun at `start`.
    #[must_use]
    pub fn starting(self, start: Moment) -> Self {
        Self { start, ..self }
    }

    /// The same job with at most `workers` requests on the wire (at least one).
    #[must_use]
    pub fn with_workers(self, workers: u64) -> Self {
        Self {
            workers: NonZeroU64::new(workers.max(1)),
            ..self
        }
    }

    pub(crate) fn with_items(self, items: u64) -> Self {
        Self { items, ..self }
    }

    pub(crate) fn serving(self, more: Duration) -> Self {
        Self {
            service: self.service.saturating_add(more),
            ..self
        }
    }

    /// When the first request arrives.
    pub(crate) fn first_arrival(&self) -> Moment {
        let there = self.trip / 2;
        Moment::new(self.start.now.after(there), self.start.wall.after(there))
    }

    /// The way back of the last answer.
    pub(crate) fn way_back(&self) -> Duration {
        self.trip.saturating_sub(self.trip / 2)
    }

    /// The job's time when its arrivals are spread over `span`.
    pub(crate) fn spread(&self, span: Duration) -> Duration {
        if self.items == 0 {
            return Duration::ZERO;
        }
        span.saturating_add(self.trip).saturating_add(self.service)
    }

    /// The job's time when `width` requests go at once, each the moment the one before is back.
    pub(crate) fn rounds(&self, width: Option<NonZeroU64>) -> Duration {
        let rounds = match width {
            Some(width) => self.items.div_ceil(width.get()),
            None => self.items.min(1),
        };
        times(self.trip.saturating_add(self.service), rounds)
    }
}

/// `d × n`, saturating.
pub(crate) fn times(d: Duration, n: u64) -> Duration {
    let nanos = d.as_nanos().saturating_mul(u128::from(n));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
