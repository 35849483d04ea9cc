//! The shape of what is stored of a gate.

use std::time::Duration;

use abide_core::control::Learned;
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
    /// A person lifted it: kept until the hold would have ended, so that nobody who has not
    /// heard of the lift closes the gate again.
    pub lifted: bool,
}

/// What is remembered of a gate.
///
/// Of two words about a gate the store keeps the sum: within a hold's id the longer end, every
/// lift, and the higher count of a window; the rung is whoever spoke last's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGate {
    /// The gate.
    pub key: StoreKey,
    /// What it stands for.
    pub scope: Scope,
    /// The hold in force, or one that was lifted.
    pub hold: Option<StoredHold>,
    /// The rung of its ladder; `None` outside an episode.
    pub rung: Option<u32>,
    /// The interval learned.
    pub interval: Option<Duration>,
    /// The limit learned.
    pub learned: Option<Learned>,
    /// Failures since the last success; 0 while the provider is healthy.
    pub failures: u32,
    /// When an answer last proved the provider well.
    pub last_success: Option<WallTime>,
    /// Counts of long fixed windows: which window, units used, its end.
    pub counts: Vec<(u8, u64, WallTime)>,
    /// Of an older revision of the same process only the holds and counts are taken in.
    pub revision: u64,
}
