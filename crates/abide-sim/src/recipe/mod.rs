//! Policies read from files: what a provider permits, and how it says no, in TOML.
//!
//! ```
//! use abide_sim::recipe::Recipe;
//!
//! let text = "kind = \"bucket\"\ncount = 50\nper = \"1s\"\nburst = 10\nretry_after = \"1s\"\n";
//! let policy = Recipe::parse(text).unwrap().policy(1);
//! assert_eq!(policy.name(), "token bucket");
//! let fault = Recipe::parse("kind = \"bucket\"\ncount = 0\nper = \"1s\"\n").unwrap_err();
//! assert_eq!(fault.to_string(), "line 2, column 9: count must be from 1 to 1000000000");
//! ```

mod fault;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Duration;

use abide_core::Instant;
use fastrand::Rng;
use http::StatusCode;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

pub use fault::Fault;
use fault::fault;

use crate::policy::{
    Concurrency, FixedWindow, Hint, Outage, PenaltyBox, Plain, Policy, Quota, Reset, Service,
    SlidingWindow, Timed, TokenBucket,
};
use crate::reply::Answer;

/// The most of anything that is counted.
const MOST: u64 = 1_000_000_000;
/// The longest time, in days.
const DAYS: u64 = 366;

/// A policy as a file describes it.
#[derive(Clone, Debug)]
pub struct Recipe {
    limit: Limit,
    hint: Hint,
    refuses: Option<StatusCode>,
    service: Option<(Duration, f64)>,
    outage: Option<(Duration, Duration)>,
}

#[derive(Clone, Copy, Debug)]
enum Limit {
    Bucket {
        count: u64,
        per: Duration,
        burst: u64,
        penalty: Option<(Duration, u32, Duration)>,
    },
    Fixed {
        count: u64,
        per: Duration,
        phase: Duration,
        announce: bool,
    },
    Sliding {
        count: u64,
        per: Duration,
    },
    Concurrency {
        limit: u64,
    },
    Quota {
        count: u64,
        per: Option<Duration>,
    },
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bucket,
    Fixed,
    Sliding,
    Concurrency,
    Quota,
    None,
}

/// The file, key by key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kind: Spanned<Kind>,
    count: Option<Spanned<i64>>,
    per: Option<Spanned<Time>>,
    burst: Option<Spanned<i64>>,
    phase: Option<Spanned<Time>>,
    limit: Option<Spanned<i64>>,
    service: Option<Spanned<Time>>,
    jitter: Option<Spanned<f64>>,
    refuses: Option<Spanned<i64>>,
    retry_after: Option<Spanned<Told>>,
    announce: Option<Spanned<bool>>,
    penalty: Option<Spanned<Penalty>>,
    outage: Option<Spanned<Down>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Penalty {
    #[serde(default)]
    hold: Option<Spanned<Time>>,
    #[serde(default)]
    strikes: Option<Spanned<i64>>,
    #[serde(default)]
    ban: Option<Spanned<Time>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Down {
    from: Spanned<Time>,
    until: Spanned<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        time(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// What refusals say of when to come back.
#[derive(Clone, Copy, Debug)]
struct Told(Hint);

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            "true" => Ok(Self(Hint::True)),
            "none" => Ok(Self(Hint::None)),
            text => match time(text) {
                Ok(wait) => Ok(Self(Hint::Fixed(wait))),
                Err(why) => Err(serde::de::Error::custom(format!(
                    "{why}, nor \"true\" or \"none\""
                ))),
            },
        }
    }
}

/// Reads `250ms`, `1s`, `1.5h`, `1m 30s`.
fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 5] = [
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3_600.0),
        ("d", 86_400.0),
    ];
    let wrong = || format!("{text:?} is no time, as \"250ms\", \"30s\", \"1m 30s\" or \"2h\"");
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !digits(c)).ok_or_else(wrong)?;
        let amount: f64 = rest[..end].parse().map_err(|_| wrong())?;
        rest = &rest[end..];
        let end = rest.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = rest.split_at(end.unwrap_or(rest.len()));
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let seconds = amount * unit.ok_or_else(wrong)?.1;
        let part = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
        total = total.saturating_add(part);
        rest = after.trim_start();
    }
    if total > Duration::from_secs(DAYS * 86_400) {
        return Err(format!("{text:?} is longer than {DAYS} days"));
    }
    Ok(total)
}

/// What is wrong, and at which byte.
type Wrong = (Range<usize>, String);

fn counted(value: &Spanned<i64>, key: &str, most: u64) -> Result<u64, Wrong> {
    let told = u64::try_from(*value.get_ref()).ok();
    told.filter(|n| (1..=most).contains(n))
        .ok_or_else(|| (value.span(), format!("{key} must be from 1 to {most}")))
}

fn longer_than_nothing(value: &Spanned<Time>, key: &str) -> Result<Duration, Wrong> {
    let told = value.get_ref().0;
    if told.is_zero() {
        return Err((value.span(), format!("{key} must be longer than nothing")));
    }
    Ok(told)
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Fixed => "fixed",
            Self::Sliding => "sliding",
            Self::Concurrency => "concurrency",
            Self::Quota => "quota",
            Self::None => "none",
        }
    }

    /// The keys that it has beside those of all.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Bucket => &["count", "per", "burst", "refuses", "retry_after", "penalty"],
            Self::Fixed => &[
                "count",
                "per",
                "phase",
                "refuses",
                "retry_after",
                "announce",
            ],
            Self::Sliding => &["count", "per", "refuses", "retry_after"],
            Self::Concurrency => &["limit", "refuses"],
            Self::Quota => &["count", "per", "refuses", "retry_after"],
            Self::None => &[],
        }
    }
}

impl Raw {
    /// What is there of the keys that not every kind has.
    fn given(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        fn span<T>(value: Option<&Spanned<T>>) -> Option<Range<usize>> {
            value.map(Spanned::span)
        }
        [
            ("count", span(self.count.as_ref())),
            ("per", span(self.per.as_ref())),
            ("burst", span(self.burst.as_ref())),
            ("phase", span(self.phase.as_ref())),
            ("limit", span(self.limit.as_ref())),
            ("refuses", span(self.refuses.as_ref())),
            ("retry_after", span(self.retry_after.as_ref())),
            ("announce", span(self.announce.as_ref())),
            ("penalty", span(self.penalty.as_ref())),
        ]
        .into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
    }

    fn missing(&self, key: &str) -> Wrong {
        let kind = self.kind.get_ref().as_str();
        (self.kind.span(), format!("kind {kind:?} needs {key}"))
    }

    fn count(&self) -> Result<u64, Wrong> {
        let value = self.count.as_ref().ok_or_else(|| self.missing("count"))?;
        counted(value, "count", MOST)
    }

    fn per(&self) -> Result<Duration, Wrong> {
        let value = self.per.as_ref().ok_or_else(|| self.missing("per"))?;
        longer_than_nothing(value, "per")
    }

    fn limit(&self) -> Result<Limit, Wrong> {
        Ok(match self.kind.get_ref() {
            Kind::Bucket => Limit::Bucket {
                count: self.count()?,
                per: self.per()?,
                burst: match &self.burst {
                    Some(burst) => counted(burst, "burst", MOST)?,
                    None => 1,
                },
                penalty: self.penalty()?,
            },
            Kind::Fixed => Limit::Fixed {
                count: self.count()?,
                per: self.per()?,
                phase: self
                    .phase
                    .as_ref()
                    .map_or(Duration::ZERO, |p| p.get_ref().0),
                announce: self.announce.as_ref().is_some_and(|a| *a.get_ref()),
            },
            Kind::Sliding => Limit::Sliding {
                count: self.count()?,
                per: self.per()?,
            },
            Kind::Concurrency => {
                let value = self.limit.as_ref().ok_or_else(|| self.missing("limit"))?;
                Limit::Concurrency {
                    limit: counted(value, "limit", MOST)?,
                }
            }
            Kind::Quota => Limit::Quota {
                count: self.count()?,
                per: self.per.as_ref().map(|_| self.per()).transpose()?,
            },
            Kind::None => Limit::None,
        })
    }

    fn penalty(&self) -> Result<Option<(Duration, u32, Duration)>, Wrong> {
        let Some(penalty) = &self.penalty else {
            return Ok(None);
        };
        if let Some(refuses) = &self.refuses
            && *refuses.get_ref() != 429
        {
            return Err((
                refuses.span(),
                "a penalty always refuses with 429".to_owned(),
            ));
        }
        let told = penalty.get_ref();
        let time = |value: &Option<Spanned<Time>>, key, usual| match value {
            Some(value) => longer_than_nothing(value, key),
            None => Ok(Duration::from_secs(usual)),
        };
        let strikes = match &told.strikes {
            Some(strikes) => counted(strikes, "strikes", 1_000)?,
            None => 3,
        };
        Ok(Some((
            time(&told.hold, "hold", 2)?,
            u32::try_from(strikes).unwrap_or(u32::MAX),
            time(&told.ban, "ban", 10)?,
        )))
    }

    fn recipe(&self) -> Result<Recipe, Wrong> {
        let kind = *self.kind.get_ref();
        if let Some((key, span)) = self.given().find(|(key, _)| !kind.keys().contains(key)) {
            let kind = kind.as_str();
            return Err((span, format!("kind {kind:?} has no {key}")));
        }
        let limit = self.limit()?;
        let refuses = match &self.refuses {
            None => None,
            Some(status) => match *status.get_ref() {
                429 => Some(StatusCode::TOO_MANY_REQUESTS),
                403 => Some(StatusCode::FORBIDDEN),
                503 => Some(StatusCode::SERVICE_UNAVAILABLE),
                _ => return Err((status.span(), "refuses is one of 429, 403, 503".to_owned())),
            },
        };
        let jitter = match &self.jitter {
            None => 0.0,
            Some(jitter) if !(0.0..=1.0).contains(jitter.get_ref()) => {
                return Err((jitter.span(), "jitter must be from 0 to 1".to_owned()));
            }
            Some(jitter) if self.service.is_none() => {
                return Err((jitter.span(), "jitter needs service".to_owned()));
            }
            Some(jitter) => *jitter.get_ref(),
        };
        let outage = match &self.outage {
            None => None,
            Some(outage) => {
                let down = outage.get_ref();
                let (from, until) = (down.from.get_ref().0, down.until.get_ref().0);
                if until <= from {
                    return Err((down.until.span(), "until must be after from".to_owned()));
                }
                Some((from, until))
            }
        };
        Ok(Recipe {
            limit,
            hint: self
                .retry_after
                .as_ref()
                .map_or(Hint::None, |t| t.get_ref().0),
            refuses,
            service: self.service.as_ref().map(|s| (s.get_ref().0, jitter)),
            outage,
        })
    }
}

impl Recipe {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let raw: Raw = toml::from_str(text).map_err(|e| {
            let what = e.message().lines().next().unwrap_or_default();
            fault(text, e.span().map_or(0, |s| s.start), what.to_owned())
        })?;
        raw.recipe()
            .map_err(|(span, what)| fault(text, span.start, what))
    }

    /// A fresh policy, with its dice from `seed`.
    pub fn policy(&self, seed: u64) -> Box<dyn Policy> {
        let mut rng = Rng::with_seed(seed);
        let service = self
            .service
            .map(|(mean, jitter)| Service::jittered(mean, jitter, rng.fork()));
        let mut policy = self.limited(service.clone());
        if let (Some(service), false) = (service, self.serves()) {
            policy = Box::new(Timed::over(policy, service));
        }
        match self.outage {
            None => policy,
            Some((from, until)) => {
                let at = |d| Instant::ORIGIN.after(d);
                Box::new(Outage::over(policy, at(from), at(until), rng))
            }
        }
    }

    /// Whether the limit itself has a service time.
    const fn serves(&self) -> bool {
        matches!(self.limit, Limit::Concurrency { .. })
    }

    fn limited(&self, service: Option<Service>) -> Box<dyn Policy> {
        let usual = StatusCode::TOO_MANY_REQUESTS;
        let (hint, status) = (self.hint, self.refuses.unwrap_or(usual));
        match self.limit {
            Limit::Bucket {
                count,
                per,
                burst,
                penalty,
            } => {
                let bucket = TokenBucket::new(count, per, burst);
                match penalty {
                    Some((hold, strikes, ban)) => Box::new(
                        PenaltyBox::around(bucket)
                            .holding(hold)
                            .banning(strikes, ban)
                            .hinting(hint),
                    ),
                    None => Box::new(bucket.hinting(hint).refusing_with(status)),
                }
            }
            Limit::Fixed {
                count,
                per,
                phase,
                announce,
            } => {
                let window = FixedWindow::new(count, per)
                    .shifted(phase)
                    .hinting(hint)
                    .refusing_with(status);
                Box::new(if announce { window.announced() } else { window })
            }
            Limit::Sliding { count, per } => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let window = SlidingWindow::new(count, per);
                Box::new(window.hinting(hint).refusing_with(status))
            }
            Limit::Concurrency { limit } => {
                let service = service.unwrap_or_else(|| Service::constant(Duration::ZERO));
                let concurrency = Concurrency::new(limit, service);
                Box::new(match self.refuses {
                    Some(status) => concurrency.refusing_with(status, Duration::from_millis(2)),
                    None => concurrency,
                })
            }
            Limit::Quota { count, per } => {
                let quota = Quota::new(count, per.map_or(Reset::Never, Reset::After));
                let quota = quota.hinting(hint);
                Box::new(match self.refuses {
                    Some(status) => quota.refusing_with(Answer::refusal(status)),
                    None => quota,
                })
            }
            Limit::None => Box::new(Plain::new()),
        }
    }
}
