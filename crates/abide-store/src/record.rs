//! The shape of what is stored of a gate.

use std::time::Duration;

use abide_core::hold::HoldId;
use abide_core::{AskSource, Scope, Verdict, WallTime};

/// Names a gate in a store: the provider in the clear, the rest hashed under the store's key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey {
    /// The provider's name.
    pub provider: String,
    /// The HMAC of the gate's tuple.
    pub gate: [u8; 16],
}

/// A hold, on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredHold {
    /// Names it among all processes.
    pub id: HoldId,
    /// Why.
    pub cause: Verdict,
    /// Closed until then.
    pub until: WallTime,
    /// What was asked for, with its source.
    pub ask: Option<(WallTime, AskSource)>,
    /// When it was opened.
    pub since: WallTime,
    /// Whether a probe goes first when it ends.
    pub probes: bool,
    /// A person lifted it: a tombstone, kept until the hold would have ended.
    pub lifted: bool,
}

/// What is remembered of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGate {
    /// The gate.
    pub key: StoreKey,
    /// What it stands for.
    pub scope: Scope,
    /// The hold in force.
    pub hold: Option<StoredHold>,
    /// The rung of its ladder; `None` outside an episode.
    pub rung: Option<u32>,
    /// The interval learned.
    pub interval: Option<Duration>,
    /// Counts of long fixed windows: which window, units used, its end.
    pub counts: Vec<(u8, u64, WallTime)>,
    /// Older revisions of the same process are ignored.
    pub revision: u64,
}

impl StoredGate {
    /// Merges what another wrote about the same gate: of two holds the longer one stays, unless
    /// it was lifted.
    #[must_use]
    pub fn merged(mut self, other: &Self) -> Self {
        self.hold = match (self.hold, other.hold) {
            (Some(a), Some(b)) if a.id == b.id => {
                let mut longer = if a.until >= b.until { a } else { b };
                longer.lifted = a.lifted || b.lifted;
                Some(longer)
            }
            (Some(a), Some(b)) => match (a.lifted, b.lifted) {
                (true, false) => Some(b),
                (false, true) => Some(a),
                _ => Some(if a.until >= b.until { a } else { b }),
            },
            (a, b) => a.or(b),
        };
        for (window, used, end) in &other.counts {
            match self.counts.iter_mut().find(|(w, _, _)| w == window) {
                Some(mine) if mine.2 == *end => mine.1 = mine.1.max(*used),
                Some(mine) if mine.2 < *end => *mine = (*window, *used, *end),
                Some(_) => {}
                None => self.counts.push((*window, *used, *end)),
            }
        }
        self
    }
}
