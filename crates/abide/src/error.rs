//! What a caller of the client is told when there is no answer to hand over.

use std::fmt;
use std::sync::Arc;

use abide_core::classify::Transport;
use abide_core::refusal::Refusal;
use abide_core::{Moment, WallTime};
use bytes::Bytes;
use http::StatusCode;

use crate::cause::Cause;
use crate::transport;

/// The last answer behind a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastAnswer {
    /// Its status.
    pub status: StatusCode,
    /// The beginning of its body, as much as was looked at (`body.sample`), without what the
    /// request carried of secrets.
    pub sample: Bytes,
}

/// A call was turned away, or its attempts are spent.
#[derive(Clone, Debug)]
pub struct TurnedAway {
    /// Why, and when to come back.
    pub refusal: Refusal,
    /// The provider.
    pub provider: Arc<str>,
    /// The last answer, where there was one.
    pub last: Option<LastAnswer>,
    /// What the exchange failed of, where there was no answer.
    pub transport: Option<Transport>,
    /// The failure behind it, level by level, without secrets.
    pub cause: Option<Cause>,
    /// When it was decided; relates the refusal's instants to the wall clock.
    pub at: Moment,
}

impl TurnedAway {
    /// When to come back, on the wall clock.
    pub fn retry_at(&self) -> Option<WallTime> {
        self.refusal.retry_at.map(|t| self.at.wall_at(t))
    }

    /// The provider said "not so often", or its quota is used up.
    pub fn is_rate_limited(&self) -> bool {
        self.refusal.is_rate_limited()
    }

    /// Whether asking again later can help.
    pub const fn is_retryable(&self) -> bool {
        self.refusal.is_retryable()
    }

    /// Whether the work is to be put off until [`retry_at`](Self::retry_at), as its caller wished.
    pub fn should_defer(&self) -> bool {
        self.refusal.should_defer()
    }
}

impl fmt::Display for TurnedAway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.refusal.describe(&self.provider, self.at))?;
        if let Some(last) = &self.last {
            write!(f, " (its last answer: {})", last.status)?;
        }
        if let Some(t) = &self.transport {
            write!(f, " ({})", transport::describe(t))?;
        }
        if self.refusal.attempts > 1 {
            write!(f, " after {} attempts", self.refusal.attempts)?;
        }
        Ok(())
    }
}

impl std::error::Error for TurnedAway {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// Why there is no answer. No variant shows a URL or a credential, nor does any source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The answer's body is larger than the caller allows.
    #[error("the answer is larger than {limit} bytes")]
    BodyTooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The client cannot be built.
    #[error("the HTTP client cannot be set up: {0}")]
    Build(String),
    /// The request is not one that can be sent: its URL, a header.
    #[error("the request cannot be sent: {0}")]
    Request(String),
    /// The caller left: a run was interrupted, or gave up waiting.
    #[error("left before it was sent")]
    Left,
    /// What the store of this client said.
    #[error(transparent)]
    Store(#[from] abide_store::StoreError),
    /// A redirect leads nowhere.
    #[error("{provider} redirects {why}")]
    Redirect {
        /// The provider.
        provider: Arc<str>,
        /// What is wrong with it.
        why: String,
    },
    /// Turned away, or attempts spent.
    #[error(transparent)]
    Turned(Box<TurnedAway>),
}

impl Error {
    /// The provider said "not so often", or its quota is used up.
    pub fn is_rate_limited(&self) -> bool {
        self.turned().is_some_and(TurnedAway::is_rate_limited)
    }

    /// Whether asking again later can help: never for a request that cannot be sent at all.
    pub fn is_retryable(&self) -> bool {
        self.turned().is_some_and(TurnedAway::is_retryable)
    }

    /// Whether the work is to be put off, as its caller wished.
    pub fn should_defer(&self) -> bool {
        self.turned().is_some_and(TurnedAway::should_defer)
    }

    /// When to come back, if anyone knows.
    pub fn retry_at(&self) -> Option<WallTime> {
        self.turned()?.retry_at()
    }

    /// The refusal behind this error, if it is one.
    pub fn turned(&self) -> Option<&TurnedAway> {
        match self {
            Self::Turned(t) => Some(t),
            _ => None,
        }
    }
}
