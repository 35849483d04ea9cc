//! What a limit may look like.

use std::time::Duration;

use crate::control::Limit;
use crate::pace::{Fixed, Gcra, Sliding, Window};
use crate::time::{Instant, Moment, nanos};

/// A limit that explains what was accepted and what was refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Model {
    /// So many a second, and a burst.
    Bucket { rate: f64, burst: f64 },
    /// So many in any stretch of so many seconds.
    Sliding { count: f64, span: f64 },
    /// So many between boundaries, one of which lies at an instant of sending.
    Fixed {
        count: f64,
        span: f64,
        boundary: Instant,
    },
}

impl Model {
    /// Units a second in the long run.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Self::Bucket { rate, .. } => *rate,
            Self::Sliding { count, span } | Self::Fixed { count, span, .. } => count / span,
        }
    }

    /// Whether it is of the same kind and nearly the same figures.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.005 * b.abs();
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && near(self.rate(), other.rate())
    }

    /// The same limit that much larger.
    pub(super) fn times(&self, factor: f64) -> Self {
        match *self {
            Self::Bucket { rate, burst } => Self::Bucket {
                rate: rate * factor,
                burst,
            },
            Self::Sliding { count, span } => Self::Sliding {
                count: (count * factor).floor().max(count + 1.0),
                span,
            },
            Self::Fixed {
                count,
                span,
                boundary,
            } => Self::Fixed {
                count: (count * factor).floor().max(count + 1.0),
                span,
                boundary,
            },
        }
    }

    /// The window that keeps it, `sends` being counted in it. A bucket is empty at `empty`, or
    /// else full.
    pub(super) fn window(
        &self,
        empty: Option<Instant>,
        sends: impl Iterator<Item = Instant>,
    ) -> Window {
        let mut window: Window = match *self {
            Self::Bucket { rate, burst } => {
                // One unit is kept back for what arrives closer together than it was sent.
                let burst = whole((burst - 1.0).max(1.0));
                let mut bucket = Gcra::new(seconds(1.0 / rate), burst);
                if let Some(at) = empty {
                    bucket.drain(at, 0);
                }
                return bucket.into();
            }
            Self::Sliding { count, span } => Sliding::new(whole(count), seconds(span)).into(),
            Self::Fixed {
                count,
                span,
                boundary,
            } => Fixed::new(whole(count), seconds(span), boundary).into(),
        };
        for at in sends {
            window.sent(at);
        }
        window
    }

    /// As it is remembered. A boundary is told on the wall clock, as the provider sees it: what is
    /// sent then arrives one `way` later.
    pub(super) fn limit(&self, clock: Option<Moment>, way: Duration) -> Option<Limit> {
        Some(match *self {
            Self::Bucket { rate, burst } => Limit::Bucket {
                interval: seconds(1.0 / rate),
                burst: whole(burst),
            },
            Self::Sliding { count, span } => Limit::Sliding {
                count: whole(count),
                period: seconds(span),
            },
            Self::Fixed {
                count,
                span,
                boundary,
            } => {
                let wall = clock?.wall_at(boundary.after(way)).as_unix_nanos();
                let period = nanos(seconds(span)).max(1);
                let phase = wall.rem_euclid(period.cast_signed());
                Limit::Fixed {
                    count: whole(count),
                    period: Duration::from_nanos(period),
                    phase: Duration::from_nanos(phase.cast_unsigned()),
                }
            }
        })
    }

    /// What is remembered; `None` where it takes a clock that is not there, or is no such limit.
    pub(super) fn of(limit: Limit, clock: Option<Moment>) -> Option<Self> {
        Some(match limit {
            Limit::Bucket { interval, burst } => Self::Bucket {
                rate: 1.0 / interval.as_secs_f64().max(1e-9),
                burst: burst.into(),
            },
            Limit::Sliding { count, period } => Self::Sliding {
                count: count.into(),
                span: period.as_secs_f64(),
            },
            Limit::Fixed {
                count,
                period,
                phase,
            } => {
                let clock = clock?;
                let since = clock.wall.as_unix_nanos() - nanos(phase).cast_signed();
                let length = nanos(period).max(1);
                let into = since.rem_euclid(length.cast_signed()).cast_unsigned();
                Self::Fixed {
                    count: count.into(),
                    span: period.as_secs_f64(),
                    // The way there is not known yet: what is sent at the boundary arrives after.
                    boundary: clock.now.after(Duration::from_nanos(length - into)),
                }
            }
            Limit::AtOnce { .. } => return None,
        })
    }
}

pub(super) fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what fits"
)]
fn whole(n: f64) -> u32 {
    n.clamp(1.0, 1e9) as u32
}
