//! What an answer means: its kind, its effect on health, and what it covers.

use std::fmt;

/// What an answer means.
///
/// The kind says what happened to this request; [`Health`] says apart from it what the answer
/// tells about the provider, since a GraphQL 200 that carries ordinary errors is an answer and
/// yet no proof of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The provider refused the credential or the permission. Waiting does not heal it.
    AuthError,
    /// The provider shut us out (IP ban, captcha, WAF): a person or much time must act.
    Banned,
    /// The request itself is at fault; repeating it changes nothing.
    ClientError,
    /// The thing asked for does not exist: an answer, never a failure.
    NotFound,
    /// Our own network is down; says nothing about the provider.
    Offline,
    /// A quota of a day, a month or money is used up: never waited for inside a call.
    QuotaExhausted,
    /// Asked too often; the provider wants us to come back later.
    RateLimited,
    /// The provider answered what was asked.
    Success,
    /// The provider (or the way to it) is broken just now.
    Unavailable,
}

impl Verdict {
    /// The provider said "not now, not so often": rate limited or quota exhausted.
    pub const fn is_rate_limited(self) -> bool {
        matches!(self, Self::RateLimited | Self::QuotaExhausted)
    }

    /// The provider turned us away on purpose: these verdicts hold whatever else the answer says.
    pub const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::QuotaExhausted | Self::Banned
        )
    }

    /// A real answer to the question asked: neither a refusal nor an outage. Ends an episode.
    pub const fn is_answer(self) -> bool {
        matches!(
            self,
            Self::Success | Self::NotFound | Self::ClientError | Self::AuthError
        )
    }

    /// The default effect on the provider's health.
    ///
    /// Refusals and client errors are neutral: a provider that says 429 or 404 is well.
    pub const fn health(self) -> Health {
        match self {
            Self::Success => Health::Success,
            Self::Unavailable => Health::Failure,
            _ => Health::Neutral,
        }
    }

    /// How bad this is when findings about one answer come in stages; the worst one wins.
    pub(crate) const fn severity(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::NotFound => 1,
            Self::ClientError => 2,
            Self::AuthError => 3,
            Self::Offline => 4,
            Self::Unavailable => 5,
            Self::RateLimited => 6,
            Self::QuotaExhausted => 7,
            Self::Banned => 8,
        }
    }

    /// The word used in output, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthError => "auth_error",
            Self::Banned => "banned",
            Self::ClientError => "client_error",
            Self::NotFound => "not_found",
            Self::Offline => "offline",
            Self::QuotaExhausted => "quota_exhausted",
            Self::RateLimited => "rate_limited",
            Self::Success => "success",
            Self::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an answer tells about the health of the provider, apart from its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Health {
    /// The provider failed to do its work.
    Failure,
    /// Says nothing either way; a breaker gives its probe back.
    #[default]
    Neutral,
    /// The provider did its work.
    Success,
}

/// What an answer covers: this request alone, or one of the gates it passed.
///
/// A request whose gate set lacks the named gate is covered by the next wider one it has, since
/// an unknown scope must be read as the widest (a hold too small is a ban, a hold too wide a
/// pause).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// This request only: nothing is held.
    Request,
    /// The endpoint, bucket or model.
    Route,
    /// The credential, app or tenant.
    Account,
    /// Everything sent to this provider from here.
    Provider,
}

impl Scope {
    /// The word used in output, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Route => "route",
            Self::Account => "account",
            Self::Provider => "provider",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which of a provider's own gates this is: a profile may tell several apart within one scope (a
/// search pool beside the core pool), each with a policy of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateClass(u8);

impl GateClass {
    /// The gate that every provider has in a scope.
    pub const PLAIN: Self = Self(0);

    /// One host of a provider that has several: only its breaker is kept there, so that a host
    /// that fails closes none that is well. No answer is ever about it.
    pub const HOST: Self = Self(255);

    /// The `n`-th of the policy's own classes, counted from 0; beyond 253 it is the plain one.
    pub const fn nth(n: usize) -> Self {
        if n < 254 {
            // Checked just above.
            Self(n as u8 + 1)
        } else {
            Self::PLAIN
        }
    }

    /// Its place among the policy's own classes.
    pub const fn index(self) -> Option<usize> {
        match self.0 {
            0 | 255 => None,
            n => Some(n as usize - 1),
        }
    }
}
