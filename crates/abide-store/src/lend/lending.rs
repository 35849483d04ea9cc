//! What is asked of a store, and what it answers.

use std::time::Duration;

use abide_core::hold::HoldId;
use abide_core::{Verdict, WallTime};

use super::windows::Shape;

/// Leave for one request, at all its gates together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The provider: all gates of a request are of one.
    pub provider: String,
    /// Its gates, at most eight.
    pub gates: Vec<GateAsk>,
}

/// What is asked of one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateAsk {
    /// The gate, as it is named in the store.
    pub gate: [u8; 16],
    /// Its limits, as this process knows them; by their places in the list they are counted.
    pub windows: Vec<Shape>,
    /// What the request costs here.
    pub cost: u32,
    /// How much more would be of use soon: lent as far as it is there. 0 for nothing.
    pub ahead: u32,
    /// How long what is lent may be spent, at most.
    pub life: Duration,
    /// How long the asker may be the one whose answer everybody waits for, where an episode is
    /// under way.
    pub probe: Duration,
}

/// What a store says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All gates let it pass.
    Lent(Lent),
    /// One does not, and none was paid.
    NotNow(NotNow),
}

/// What was lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lent {
    /// A gate each, in the order asked.
    pub grants: Vec<Grant>,
    /// When, on the store's clock, in microseconds: to be named when something is given back.
    pub at: i64,
    /// How many processes share the store, this one included.
    pub peers: u32,
}

/// What was lent of one gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Units, the request's own cost included.
    pub permits: u32,
    /// What is not spent by then lapses; from the moment at which the store answered.
    pub life: Duration,
    /// The request is the one whose answer everybody waits for.
    pub probe: bool,
}

/// Why nothing was lent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNow {
    /// The gate's place in what was asked.
    pub gate: usize,
    /// Why.
    pub why: Why,
    /// It makes sense to ask again after so long.
    pub after: Duration,
    /// How many processes share the store, this one included.
    pub peers: u32,
}

/// Why a gate lends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is held.
    Held {
        /// The hold.
        id: HoldId,
        /// Why.
        cause: Verdict,
        /// When it ends, on the asker's wall clock.
        until: WallTime,
        /// Whether a probe goes first then.
        probes: bool,
    },
    /// Another process's probe is out.
    Probing,
    /// What its windows have is spent.
    Spent,
}
