//! Why there is no answer.

use std::fmt;

use crate::error::TurnedAway;

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// What the service below said, untouched.
    Inner(E),
    /// The request names no host: neither its URI nor its `Host` does. Nothing was sent.
    NoHost,
    /// Turned away by us: held for too long, the queue is full, the deadline has passed …
    Turned(Box<TurnedAway>),
}

impl<E> Error<E> {
    /// The refusal behind this error, if it is one.
    pub fn turned(&self) -> Option<&TurnedAway> {
        match self {
            Self::Turned(t) => Some(t),
            _ => None,
        }
    }

    /// What the service below said, if it did.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Inner(e) => Some(e),
            _ => None,
        }
    }

    /// As a boxed error: the inner one as it is, for services whose own errors are boxed.
    pub fn boxed(self) -> Box<dyn std::error::Error + Send + Sync>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match self {
            Self::Inner(e) => e.into(),
            Self::NoHost => NO_HOST.into(),
            Self::Turned(t) => t,
        }
    }
}

const NO_HOST: &str = "the request names no host, neither in its URI nor in its Host header";

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inner(_) => f.write_str("the service below failed"),
            Self::NoHost => f.write_str(NO_HOST),
            Self::Turned(t) => t.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Inner(e) => Some(e),
            _ => None,
        }
    }
}
