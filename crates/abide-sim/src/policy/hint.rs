//! How a refusal tells when to come back.

use std::time::Duration;

use crate::reply::Reply;

/// What a limit says in `Retry-After`, in whole seconds rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Always the same, however long it really takes.
    Fixed(Duration),
    /// Nothing.
    #[default]
    None,
    /// The time that is really left.
    True,
}

impl Hint {
    /// Adds the hint to a refusal that really ends after `left`.
    pub(crate) fn on(self, reply: Reply, left: Duration) -> Reply {
        match self {
            Self::Fixed(wait) => reply.retry_after(wait),
            Self::None => reply,
            Self::True => reply.retry_after(left),
        }
    }
}
