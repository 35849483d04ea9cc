//! What a caller is told when it is turned away.
//!
//! A refusal always says when to come back, if anyone knows: the true ask of the provider
//! travels through every cap of ours.

use std::fmt;
use std::time::Duration;

use crate::finding::Ask;
use crate::time::{Instant, Moment};
use crate::verdict::{Scope, Verdict};

/// Why a caller was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// It would be sent again, but its body was not kept: a stream, or too large.
    BodyNotKept,
    /// The breaker is open: the provider failed too often just now.
    BreakerOpen,
    /// The shared bound on re-sends is spent.
    BudgetSpent,
    /// What it was asked of has been shut down.
    Closed,
    /// The cost is larger than the limit's window: it could never be sent.
    CostTooLarge,
    /// The deadline passed while an answer was waited for.
    DeadlinePassed,
    /// The deadline comes before the next possible instant.
    DeadlineTooSoon,
    /// A hold outlasts what the caller is willing to wait.
    Held,
    /// The queue in front is longer than what the caller is willing to wait.
    QueueTooLong,
    /// The queue is at its bound.
    QueueFull,
    /// Our own network is down for longer than what the caller is willing to wait.
    Offline,
    /// The last attempt was refused, or failed.
    AttemptsSpent,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The breaker.
    Breaker,
    /// The caller's deadline.
    Deadline,
    /// The outage of our own network.
    Outage,
    /// A policy of ours.
    Policy,
    /// The provider.
    Provider,
    /// The queue.
    Queue,
}

/// A caller is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub kind: RefusalKind,
    /// The earliest instant at which asking again can make sense; `None` when nobody knows.
    pub retry_at: Option<Instant>,
    /// What the provider asked for, with its source.
    pub ask: Option<Ask>,
    /// What the answer behind it covers.
    pub scope: Scope,
    /// The verdict behind it: a caller held by an outage was not asking too often.
    pub cause: Option<Verdict>,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// Sends so far, the first one included.
    pub attempts: u32,
    /// All waiting so far.
    pub waited: Duration,
    /// The caller would rather have its work put off than wait.
    pub deferrable: bool,
}

impl Refusal {
    /// A refusal that knows nothing more yet.
    pub const fn new(kind: RefusalKind, decided_by: DecidedBy) -> Self {
        Self {
            kind,
            retry_at: None,
            ask: None,
            scope: Scope::Request,
            cause: None,
            decided_by,
            attempts: 0,
            waited: Duration::ZERO,
            deferrable: false,
        }
    }

    /// The provider said "not so often", or its quota is used up.
    pub fn is_rate_limited(&self) -> bool {
        self.cause.is_some_and(Verdict::is_rate_limited)
    }

    /// Whether asking again later can help.
    pub const fn is_retryable(&self) -> bool {
        !matches!(self.kind, RefusalKind::CostTooLarge)
    }

    /// Whether the work is to be put off until [`retry_at`](Self::retry_at): its caller asked for
    /// that, somebody knows when, and time is what is missing.
    pub fn should_defer(&self) -> bool {
        self.deferrable && self.retry_at.is_some() && self.is_retryable()
    }

    /// How long from `now` until asking again can make sense.
    pub fn retry_in(&self, now: Instant) -> Option<Duration> {
        self.retry_at.map(|at| at.since(now))
    }

    /// One line for a person: what happened, and when to come back on the wall clock.
    pub fn describe(&self, provider: &str, at: Moment) -> String {
        let why = match (self.kind, self.cause) {
            (RefusalKind::Held, Some(Verdict::RateLimited)) => {
                "asked for requests to wait (rate limited)"
            }
            (RefusalKind::Held | RefusalKind::AttemptsSpent, Some(Verdict::QuotaExhausted)) => {
                "says the quota is used up"
            }
            (RefusalKind::Held | RefusalKind::AttemptsSpent, Some(Verdict::Banned)) => {
                "has shut us out"
            }
            (RefusalKind::Held, Some(Verdict::Unavailable)) => "is unavailable, requests are held",
            (RefusalKind::Held, _) => "is held",
            (RefusalKind::BreakerOpen, _) => "failed too often just now, requests are held back",
            (RefusalKind::QueueTooLong, _) => "has a queue longer than this request may wait",
            (RefusalKind::QueueFull, _) => "has a full queue",
            (RefusalKind::CostTooLarge, _) => "has a limit smaller than the cost of this request",
            (RefusalKind::DeadlinePassed, _) => "did not answer before this request's deadline",
            (RefusalKind::DeadlineTooSoon, _) => "cannot be asked before this request's deadline",
            (RefusalKind::Closed, _) => "is not asked any more: shut down",
            (RefusalKind::BodyNotKept, _) => {
                "did not serve this request, whose body was not kept to be sent again (a stream, \
                 or larger than body.replay)"
            }
            (RefusalKind::Offline, _) => "is not asked: our own network is down",
            (RefusalKind::BudgetSpent, _) => "failed, and the budget for repeats is spent",
            (RefusalKind::AttemptsSpent, Some(v)) if v.is_rate_limited() => match self.attempts {
                0 | 1 => "refused (rate limited)",
                _ => "kept refusing (rate limited)",
            },
            (RefusalKind::AttemptsSpent, _) if self.attempts <= 1 => "failed",
            (RefusalKind::AttemptsSpent, _) => "kept failing",
        };
        match self.retry_at {
            Some(t) => format!("{provider} {why}; next possible at {}", at.wall_at(t)),
            None => format!("{provider} {why}"),
        }
    }
}

impl RefusalKind {
    /// The word used in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BodyNotKept => "body_not_kept",
            Self::BreakerOpen => "breaker_open",
            Self::BudgetSpent => "budget_spent",
            Self::Closed => "closed",
            Self::CostTooLarge => "cost_too_large",
            Self::DeadlinePassed => "deadline_passed",
            Self::DeadlineTooSoon => "deadline_too_soon",
            Self::Held => "held",
            Self::Offline => "offline",
            Self::QueueTooLong => "queue_too_long",
            Self::QueueFull => "queue_full",
            Self::AttemptsSpent => "attempts_spent",
        }
    }
}

impl DecidedBy {
    /// The word used in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::Deadline => "deadline",
            Self::Outage => "outage",
            Self::Policy => "policy",
            Self::Provider => "provider",
            Self::Queue => "queue",
        }
    }
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetSpent => f.write_str("retry budget spent"),
            other => f.write_str(&other.as_str().replace('_', " ")),
        }
    }
}
