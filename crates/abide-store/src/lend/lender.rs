//! Who lends leave.

use std::fmt;
use std::pin::Pin;

use super::{Answer, Ask, Lent};

/// The store cannot be asked: gone, slow, failing over, read-only, full. Says what was met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shared store cannot be used: {0}")]
pub struct Lost(pub String);

/// An answer that comes later.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, Lost>> + Send>>;

/// Lends leave to send to the processes that share it.
pub trait Lender: fmt::Debug + Send + Sync {
    /// Asks for leave. Ends in bounded time: a store that does not answer is lost.
    fn ask(&self, ask: Ask) -> Later<Answer>;

    /// Gives back what was lent and not used: what its windows can still take back, and the
    /// place of a probe that was not sent. Queued, and never waits; where the store is gone it is
    /// dropped, since what was lent lapses.
    fn give_back(&self, ask: &Ask, unused: &Lent);

    /// How many processes share it, as far as is known; at least 1.
    fn peers(&self) -> u32;

    /// Whether it can be asked, by asking it.
    fn greet(&self) -> Later<()>;
}
