//! A limit that was learned, as it is remembered and told.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::time::{WallTime, nanos};

/// No limit is counted over longer than a year.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// What a limit turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// One unit an interval, and a burst.
    Bucket {
        /// Between two units.
        interval: Duration,
        /// The most at once.
        burst: u32,
    },
    /// So many in any stretch of time.
    Sliding {
        /// How many.
        count: u32,
        /// How long.
        period: Duration,
    },
    /// So many between boundaries.
    Fixed {
        /// How many.
        count: u32,
        /// From one boundary to the next.
        period: Duration,
        /// How long after a whole number of periods since 1970 a boundary lies, less than a
        /// period.
        phase: Duration,
    },
    /// So many at once.
    AtOnce {
        /// How many.
        count: u32,
    },
}

impl Limit {
    /// Whether people would be told the same: figures are told with one digit behind the point,
    /// and boundaries, which are measured anew by every answer, not at all. How many at once is
    /// told by what is turned away now and then, and by no more than a quarter of itself exactly.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (*self, *other) {
            (
                Self::Bucket { interval, burst },
                Self::Bucket {
                    interval: i,
                    burst: b,
                },
            ) => burst == b && told_rate(interval) == told_rate(i),
            (
                Self::Fixed { count, period, .. },
                Self::Fixed {
                    count: c,
                    period: p,
                    ..
                },
            ) => (count, period) == (c, p),
            (Self::AtOnce { count }, Self::AtOnce { count: c }) => {
                count.abs_diff(c) <= count.max(c) / 4
            }
            _ => self == other,
        }
    }
}

/// A rate as it is told: in tenths a second or a minute.
fn told_rate(interval: Duration) -> (u64, bool) {
    let rate = 1.0 / interval.as_secs_f64().max(1e-9);
    let minute = rate < 1.0;
    let rate = if minute { rate * 60.0 } else { rate };
    ((rate * 10.0).round() as u64, minute)
}

/// A limit that nobody told, and what it cost to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The limit.
    pub limit: Limit,
    /// How many refusals were spent to learn it.
    pub refusals: u32,
    /// When it was last confirmed, where somebody knows the time.
    pub at: Option<WallTime>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bucket { interval, burst } => {
                let rate = 1.0 / interval.as_secs_f64().max(1e-9);
                if rate >= 1.0 {
                    write!(f, "{} requests a second", figure(rate))?;
                } else {
                    write!(f, "{} requests a minute", figure(rate * 60.0))?;
                }
                write!(f, ", bursts of {burst}")
            }
            Self::Sliding { count, period } => write!(f, "{count} requests in any {period:?}"),
            Self::Fixed { count, period, .. } => {
                write!(f, "{count} requests per {period:?}, fixed window")
            }
            Self::AtOnce { count } => write!(f, "{count} requests at once"),
        }
    }
}

/// In plain words, as in "looks like 100 requests per 2s, fixed window; 3 refusals spent to learn
/// it".
impl fmt::Display for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.refusals == 1 { "" } else { "s" };
        let Self {
            limit, refusals, ..
        } = self;
        write!(
            f,
            "looks like {limit}; {refusals} refusal{plural} spent to learn it"
        )
    }
}

fn figure(n: f64) -> String {
    let text = format!("{n:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Learned {
    /// The form kept in stores: `kind:figures:refusals:time`, times in nanoseconds.
    pub fn to_text(&self) -> String {
        let limit = match self.limit {
            Limit::Bucket { interval, burst } => format!("bucket:{}:{burst}:0", nanos(interval)),
            Limit::Sliding { count, period } => format!("sliding:{}:{count}:0", nanos(period)),
            Limit::Fixed {
                count,
                period,
                phase,
            } => format!("fixed:{}:{count}:{}", nanos(period), nanos(phase)),
            Limit::AtOnce { count } => format!("at-once:0:{count}:0"),
        };
        let at = self.at.map_or(0, WallTime::as_unix_nanos);
        format!("{limit}:{}:{at}", self.refusals)
    }
}

/// The text is none that [`Learned::to_text`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLearned;

impl fmt::Display for NotLearned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no limit that was learned")
    }
}

impl std::error::Error for NotLearned {}

impl FromStr for Learned {
    type Err = NotLearned;

    fn from_str(text: &str) -> Result<Self, NotLearned> {
        let parts: Vec<&str> = text.split(':').collect();
        let &[kind, time, count, phase, refusals, at] = parts.as_slice() else {
            return Err(NotLearned);
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| NotLearned);
        let (time, phase) = (number(time)?, number(phase)?);
        let count: u32 = count.parse().map_err(|_| NotLearned)?;
        let lasts = Duration::from_nanos(time);
        if lasts > LONGEST {
            return Err(NotLearned);
        }
        let limit = match kind {
            "bucket" if time > 0 && count > 0 => Limit::Bucket {
                interval: lasts,
                burst: count,
            },
            "sliding" if time > 0 && count > 0 => Limit::Sliding {
                count,
                period: lasts,
            },
            "fixed" if time > 0 && count > 0 && phase < time => Limit::Fixed {
                count,
                period: lasts,
                phase: Duration::from_nanos(phase),
            },
            "at-once" if count > 0 => Limit::AtOnce { count },
            _ => return Err(NotLearned),
        };
        let at: i64 = at.parse().map_err(|_| NotLearned)?;
        Ok(Self {
            limit,
            refusals: refusals.parse().map_err(|_| NotLearned)?,
            at: (at != 0).then(|| WallTime::from_unix_nanos(at)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn what_is_kept_comes_back() {
        let limits = [
            Limit::Bucket {
                interval: Duration::from_millis(20),
                burst: 10,
            },
            Limit::Sliding {
                count: 40,
                period: secs(1),
            },
            Limit::Fixed {
                count: 100,
                period: secs(2),
                phase: Duration::from_millis(300),
            },
            Limit::AtOnce { count: 4 },
        ];
        for limit in limits {
            for at in [None, Some(WallTime::from_unix_secs(1_773_144_000))] {
                let learned = Learned {
                    limit,
                    refusals: 3,
                    at,
                };
                assert_eq!(learned.to_text().parse(), Ok(learned));
            }
        }
        for bad in [
            "",
            "bucket:0:1:0:0:0",
            "fixed:5:1:5:0:0",
            "x:1:1:0:0:0",
            "bucket:1:1",
            "fixed:9223372036854775809:1:9223372036854775808:0:0",
        ] {
            assert_eq!(bad.parse::<Learned>(), Err(NotLearned), "{bad}");
        }
    }

    #[test]
    fn in_plain_words() {
        let learned = |limit| Learned {
            limit,
            refusals: 3,
            at: None,
        };
        let fixed = Limit::Fixed {
            count: 100,
            period: secs(2),
            phase: Duration::ZERO,
        };
        assert_eq!(
            learned(fixed).to_string(),
            "looks like 100 requests per 2s, fixed window; 3 refusals spent to learn it"
        );
        let slow = Limit::Bucket {
            interval: secs(6),
            burst: 2,
        };
        assert_eq!(slow.to_string(), "10 requests a minute, bursts of 2");
    }
}
