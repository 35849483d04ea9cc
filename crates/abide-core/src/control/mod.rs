//! How a pace adapts to answers where nobody told the limit.
//!
//! A controller is fed what was sent, answered and refused, and proposes an interval. It never
//! sees a hold: staying away is the provider's word, the pace is our plan.

mod aimd;
mod cubic;
mod interval;
mod learn;
mod learned;
mod width;

use std::fmt;
use std::time::Duration;

pub use aimd::Aimd;
pub use cubic::Cubic;
pub use interval::{Interval, IntervalPolicy};
pub use learn::Learner;
pub use learned::{Learned, Limit, NotLearned};
pub use width::Width;

use crate::pace::Window;
use crate::time::{Instant, Moment};

/// Which controller a gate gets when it is refused.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Adaptive {
    /// None: the pace is what the windows say.
    Off,
    /// The one that infers the limit from what is refused ([`Learner`]). The default, since it
    /// comes closest to what the provider bears, at the price of a few refusals.
    #[default]
    Learn,
    /// The one that looks for the highest rate the provider bears ([`Aimd`]).
    Aimd,
    /// TCP's, on a rate ([`Cubic`]): to compare with.
    Cubic,
    /// The one that backs away in known steps ([`Interval`]).
    Interval(IntervalPolicy),
}

impl Adaptive {
    /// Whether there is none.
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    /// The controller of a gate at its first refusal.
    pub(crate) fn controller(&self, before: Before) -> Option<Box<dyn Controller>> {
        let (accepted, began) = (before.accepted, before.began);
        match self {
            Self::Off => None,
            Self::Learn => Some(Box::new(Learner::after(before))),
            Self::Aimd => Some(Box::new(Aimd::after(accepted, began))),
            Self::Cubic => Some(Box::new(Cubic::after(before))),
            Self::Interval(policy) => Some(Box::new(Interval::new(policy.clone()))),
        }
    }
}

/// What there was at a gate before its first refusal.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// How many requests came back well.
    pub accepted: u32,
    /// Since when, lately.
    pub began: Instant,
    /// When the last of them were sent, the oldest first.
    pub sends: Vec<Instant>,
    /// Some instant with its time on the wall, where somebody knows it.
    pub clock: Option<Moment>,
}

impl Before {
    /// Nothing at all: what follows was learned elsewhere.
    pub(crate) fn nothing(clock: Option<Moment>) -> Self {
        Self {
            clock,
            ..Self::default()
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

    /// A window to keep from now on in place of the interval, where it is another than before;
    /// what was sent is counted in it already.
    fn window(&mut self, _now: Instant) -> Option<Window> {
        None
    }

    /// Whether a window is kept in place of the interval.
    fn has_window(&self) -> bool {
        false
    }

    /// How many may be out at once.
    fn places(&self) -> u32 {
        u32::MAX
    }

    /// When a refusal that says nothing is over, where that is known.
    fn back_at(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Whether a refusal begins a whole interval: nothing goes before it is over, however short
    /// the hold is.
    fn rests(&self) -> bool {
        false
    }

    /// What the limit turned out to be, where that is known.
    fn learned(&self) -> Option<Learned> {
        None
    }

    /// Takes over a limit learned earlier (from the store, or another process). One that keeps no
    /// limits ignores it.
    fn remember(&mut self, _now: Instant, _learned: &Learned) {}

    /// Takes over an interval learned earlier (from the store, or another process).
    fn restore(&mut self, now: Instant, interval: Duration);
}
