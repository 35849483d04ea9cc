//! What a limit may look like.

use std::fmt;
use std::time::Duration;

use crate::pace::{Fixed, Gcra, Sliding, Window};
use crate::time::Instant;

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

    /// The window that keeps it, `sends` being counted in it. A bucket is empty at `now`: it is
    /// made when it has just refused.
    pub(super) fn window(&self, now: Instant, sends: impl Iterator<Item = Instant>) -> Window {
        let mut window: Window = match *self {
            Self::Bucket { rate, burst } => {
                // One unit is kept back for what arrives closer together than it was sent.
                let burst = whole((burst - 1.0).max(1.0));
                let mut bucket = Gcra::new(seconds(1.0 / rate), burst);
                bucket.drain(now, 0);
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
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket { rate, burst } => {
                write!(f, "{} a second, bursts of {burst:.0}", figure(*rate))
            }
            Self::Sliding { count, span } => {
                write!(f, "{count:.0} in any {:?}", seconds(*span))
            }
            Self::Fixed { count, span, .. } => {
                write!(f, "{count:.0} per {:?}, fixed window", seconds(*span))
            }
        }
    }
}

fn figure(n: f64) -> String {
    let text = format!("{n:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
