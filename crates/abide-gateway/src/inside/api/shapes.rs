//! What the API answers with.

use abide::core::control::{Learned as Found, Limit};
use abide::{HoldState, ProviderState};
use serde::Serialize;
use utoipa::openapi::{RefOr, schema};
use utoipa::{PartialSchema, ToSchema};

use super::words::{Setter, Word, shown};

/// What a provider asked for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ask {
    /// To stay away until then.
    #[schema(format = DateTime)]
    at: String,
    /// Where it said so: `retry-after`, `ratelimit-reset`, `body`, `learned`.
    source: &'static str,
}

/// A gate is closed until an instant.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Hold {
    /// Names it.
    pub(super) id: String,
    /// The provider.
    pub(super) provider: String,
    /// What it covers: `provider`, `account` or `route`.
    scope: &'static str,
    /// Why: what was last heard that made it longer.
    #[schema(value_type = Word)]
    cause: &'static str,
    /// What the provider asked for, where it did.
    ask: Option<Ask>,
    /// When it began.
    #[schema(format = DateTime)]
    since: String,
    /// Closed until then.
    #[schema(format = DateTime)]
    until: String,
    /// Who set it.
    set_by: Setter,
    /// What the person said who set it.
    reason: Option<String>,
}

impl From<&HoldState> for Hold {
    fn from(h: &HoldState) -> Self {
        Self {
            id: shown(h.id),
            provider: h.provider.to_string(),
            scope: h.scope.as_str(),
            cause: h.cause.as_str(),
            ask: h.ask.map(|(at, source)| Ask {
                at: at.to_string(),
                source: source.as_str(),
            }),
            since: h.since.to_string(),
            until: h.until.to_string(),
            set_by: h.set_by.into(),
            reason: h.reason.clone(),
        }
    }
}

/// A limit that nobody told, learned from refusals.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Learned {
    /// The provider.
    provider: String,
    /// The limit in plain words.
    limit: String,
    /// How many in a period, or at once.
    count: Option<u32>,
    /// The period.
    period_s: Option<f64>,
    /// Between two requests.
    interval_s: Option<f64>,
    /// The most in one burst.
    burst: Option<u32>,
    /// How many refusals were spent to learn it.
    refusals: u32,
    /// When it was last confirmed.
    #[schema(format = DateTime)]
    at: Option<String>,
}

impl Learned {
    pub(super) fn of(provider: &str, found: &Found) -> Self {
        let (count, period, interval, burst) = match found.limit {
            Limit::Bucket { interval, burst } => (None, None, Some(interval), Some(burst)),
            Limit::Sliding { count, period } | Limit::Fixed { count, period, .. } => {
                (Some(count), Some(period), None, None)
            }
            Limit::AtOnce { count } => (Some(count), None, None, None),
            _ => (None, None, None, None),
        };
        Self {
            provider: provider.to_owned(),
            limit: found.limit.to_string(),
            count,
            period_s: period.map(|d| d.as_secs_f64()),
            interval_s: interval.map(|d| d.as_secs_f64()),
            burst,
            refusals: found.refusals,
            at: found.at.map(|t| t.to_string()),
        }
    }
}

/// How a provider is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Provider {
    /// The provider.
    provider: String,
    /// Nothing failed since the last success.
    healthy: bool,
    /// Nothing holds it as a whole now: no hold, no open breaker.
    available: bool,
    /// When it can be asked again, where it is not available.
    #[schema(format = DateTime)]
    retry_at: Option<String>,
    /// Why it is held.
    #[schema(value_type = Option<Word>)]
    cause: Option<&'static str>,
    /// Failures in a row since the last success.
    failures: u32,
    /// When an answer last proved it well.
    #[schema(format = DateTime)]
    last_success: Option<String>,
    /// Requests on the wire.
    in_flight: u32,
    /// Requests in line.
    waiting: usize,
    /// The interval between requests it was found to want.
    interval_s: Option<f64>,
    /// `enforce`, `shadow` or `observe`.
    mode: &'static str,
    /// Limits that were learned.
    learned: Vec<Learned>,
    /// Its holds, those of its accounts included.
    holds: Vec<Hold>,
}

impl Provider {
    /// With those of all holds that are its.
    pub(super) fn of(s: &ProviderState, holds: &[HoldState]) -> Self {
        let name = &s.provider;
        let own = holds.iter().filter(|h| h.provider == *name);
        Self {
            provider: name.to_string(),
            healthy: s.healthy,
            available: s.available,
            retry_at: s.retry_at.map(|t| t.to_string()),
            cause: s.cause.map(|c| c.as_str()),
            failures: s.failures,
            last_success: s.last_success.map(|t| t.to_string()),
            in_flight: s.in_flight,
            waiting: s.waiting,
            interval_s: s.interval.map(|d| d.as_secs_f64()),
            mode: s.mode.as_str(),
            learned: s.learned.iter().map(|l| Learned::of(name, l)).collect(),
            holds: own.map(Into::into).collect(),
        }
    }
}

/// One gate: all state of one limit.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Gate {
    /// The provider.
    pub(super) provider: String,
    /// What it stands for: `provider`, `account` or `route`.
    pub(super) scope: &'static str,
    /// The end of whatever closes it: a hold, a breaker, our own outage.
    #[schema(format = DateTime)]
    pub(super) closed_until: Option<String>,
    /// Whether the first answer after a hold is still awaited.
    pub(super) in_episode: bool,
    /// Requests on the wire.
    pub(super) in_flight: u32,
    /// Requests in line.
    pub(super) waiting: usize,
    /// The interval between requests it has learned to keep.
    pub(super) interval_s: Option<f64>,
    /// Failures in a row since the last success.
    pub(super) failures: u32,
    /// When an answer last proved the provider well.
    #[schema(format = DateTime)]
    pub(super) last_success: Option<String>,
    /// The limit that was learned.
    pub(super) learned: Option<Learned>,
}

/// All providers met so far.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Providers {
    pub(super) providers: Vec<Provider>,
    /// Whether our own network is taken to be down.
    pub(super) offline: bool,
}

/// All gates in use.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Gates {
    pub(super) gates: Vec<Gate>,
}

/// All holds that stand.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Holds {
    pub(super) holds: Vec<Hold>,
}

/// All limits that were learned.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllLearned {
    pub(super) learned: Vec<Learned>,
}

/// What was lifted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Lifted {
    /// The holds.
    pub(super) lifted: Vec<String>,
}

/// Why a request was not done (RFC 9457).
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only described: problems are made in `answer`")]
struct ProblemShape {
    /// A URI that names the kind of problem; `about:blank` where the status says it all.
    r#type: String,
    /// What it is.
    title: String,
    /// The status.
    status: u16,
    /// What happened this time, and what to do.
    detail: String,
}

/// The shape of problems, by name.
pub(super) fn problem() -> (String, RefOr<schema::Schema>) {
    (ProblemShape::name().into_owned(), ProblemShape::schema())
}
