//! How a pace adapts to answers where nobody told the limit.
//!
//! A controller is fed what was sent, answered and refused, and proposes an interval. It never
//! sees a hold: staying away is the provider's word, the pace is our plan.

mod aimd;
mod interval;

use std::fmt;
use std::time::Duration;

pub use aimd::Aimd;
pub use interval::{Interval, IntervalPolicy};

use crate::time::Instant;

/// Which controller a gate gets when it is refused.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Adaptive {
    /// None: the pace is what the windows say.
    Off,
    /// The one that looks for the highest rate the provider bears ([`Aimd`]). The default, since
    /// it gives back most of what a refusal took.
    #[default]
    Aimd,
    /// The one that backs away in known steps ([`Interval`]).
    Interval(IntervalPolicy),
}

impl Adaptive {
    /// Whether there is none.
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    /// The controller of a gate at its first refusal, `accepted` requests having come back well
    /// since `began`.
    pub(crate) fn controller(&self, accepted: u32, began: Instant) -> Option<Box<dyn Controller>> {
        match self {
            Self::Off => None,
            Self::Aimd => Some(Box::new(Aimd::after(accepted, began))),
            Self::Interval(policy) => Some(Box::new(Interval::new(policy.clone()))),
        }
    }
}

/// Steers one gate's adaptive interval.
pub trait Controller: fmt::Debug + Send {
    /// A request of `cost` units was sent at `now`.
    fn sent(&mut self, now: Instant, cost: u32);

    /// A request sent at `sent` was answered without a refusal. `app_limited` says that fewer
    /// were sent than the pace allowed, so that the answer proves nothing about the pace.
    fn answered(&mut self, now: Instant, sent: Instant, app_limited: bool);

    /// A request sent at `sent` was refused. `opens` is true for the first refusal of an event
    /// and false for the siblings that were on the wire with it.
    fn refused(&mut self, now: Instant, sent: Instant, opens: bool);

    /// The hold is over: the probe came back well at `now`.
    fn resumed(&mut self, now: Instant);

    /// The interval between two units to keep; `None` while nothing is known against sending
    /// freely.
    fn interval(&self) -> Option<Duration>;

    /// Whether a refusal begins a whole interval: nothing goes before it is over, however short
    /// the hold is.
    fn rests(&self) -> bool {
        false
    }

    /// Takes over an interval learned earlier (from the store, or another process).
    fn restore(&mut self, now: Instant, interval: Duration);
}
