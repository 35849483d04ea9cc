//! Everything there is: the store, the processes, what is on its way, and the truth beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_core::WallTime;
use abide_store::StoreKey;
use abide_store::lend::{Ask, Book, GateAsk, Shape};

use crate::process::Process;

/// How often what may happen; and how far time goes, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) asks: u32,
    pub(crate) refusals: u32,
    pub(crate) lifts: u32,
    pub(crate) cuts: u32,
    pub(crate) kills: u32,
    pub(crate) losses: u32,
    /// Requests of a process that cannot reach the store: its share.
    pub(crate) alone: u32,
    /// How much more than one request is asked for.
    pub(crate) ahead: u32,
    /// How often what was lent goes back.
    pub(crate) backs: u32,
    pub(crate) horizon: i64,
}

/// Times are milliseconds since the model's beginning.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) store: Book,
    pub(crate) processes: Vec<Process>,
    pub(crate) gates: Vec<Vec<Shape>>,
    pub(crate) left: Left,
    pub(crate) holds: u64,
    pub(crate) truth: Truth,
}

/// What really happened, kept apart from what anybody believes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// Holds that the store was told of, and until when.
    pub(crate) told: BTreeMap<u64, i64>,
    /// Lifts that it was told of.
    pub(crate) lifted: BTreeSet<u64>,
    /// What was lent of each gate and not given back: when, and how much.
    pub(crate) lent: Vec<Vec<(i64, u32)>>,
    /// When requests were sent with leave.
    pub(crate) sent: Vec<i64>,
}

/// How long leave is good for, and a probe out, at most.
pub(crate) const LIFE: i64 = 1_000;
pub(crate) const PROBE: i64 = 2_500;
/// An answer comes so long after its request, and a hold lasts so long.
pub(crate) const TRIP: i64 = 300;
pub(crate) const HOLD: i64 = 1_000;

impl World {
    pub(crate) fn new(processes: u64, gates: &[Vec<Shape>], left: Left) -> Self {
        Self {
            now: 0,
            store: Book::default(),
            processes: (1..=processes).map(Process::new).collect(),
            gates: gates.to_vec(),
            left,
            holds: 0,
            truth: Truth {
                lent: vec![Vec::new(); gates.len()],
                ..Truth::default()
            },
        }
    }

    pub(crate) fn ask(&self) -> Ask {
        let gates = self.gates.iter().enumerate();
        Ask {
            provider: "p".to_owned(),
            gates: gates
                .map(|(n, windows)| GateAsk {
                    gate: name(n),
                    windows: windows.clone(),
                    cost: 1,
                    ahead: self.left.ahead,
                    life: Duration::from_millis(LIFE.unsigned_abs()),
                    probe: Duration::from_millis(PROBE.unsigned_abs()),
                })
                .collect(),
        }
    }

    /// Whether the store has been told of a hold that is in force.
    pub(crate) fn is_held(&self) -> bool {
        let mut told = self.truth.told.iter();
        told.any(|(id, until)| *until > self.now && !self.truth.lifted.contains(id))
    }
}

fn name(n: usize) -> [u8; 16] {
    [u8::try_from(n).unwrap_or(u8::MAX); 16]
}

/// The gate that is refused; others have windows only.
pub(crate) fn first() -> StoreKey {
    StoreKey {
        provider: "p".to_owned(),
        gate: name(0),
    }
}

pub(crate) fn wall(ms: i64) -> WallTime {
    WallTime::from_unix_nanos(ms * 1_000_000)
}

pub(crate) fn millis(wall: WallTime) -> i64 {
    wall.as_unix_nanos() / 1_000_000
}
