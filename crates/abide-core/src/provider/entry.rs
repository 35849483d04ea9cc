//! One request inside the machine, from admission to settlement.

use std::ops::{Index, IndexMut};

use super::{Pass, Request, Ticket};
use crate::gate::{GateKey, MAX_GATES};
use crate::queue::{Rank, Urgency};
use crate::time::Instant;
use crate::verdict::Verdict;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Let through, not yet sent.
    Granted,
    /// In its own backoff.
    Parked,
    /// On the wire.
    Started,
    /// Standing at a gate since an instant.
    Waiting { gate: u32, since: Instant },
}

/// What only a probe or a borrower carries, gate by gate; kept apart since a plain request is
/// neither, and is copied about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rare {
    /// The probe generation it is; 0 for none.
    pub(super) probes: [u32; MAX_GATES],
    /// The breaker's lease it holds as its probe; 0 for none.
    pub(super) breakers: [u32; MAX_GATES],
    /// The generation of the store's lease it was paid from.
    pub(super) leases: [u32; MAX_GATES],
    /// The gate at which it would have waited, and until when, had its mode not let it by.
    pub(super) let_by: Option<(GateKey, Option<Instant>)>,
}

/// One request inside the machine.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) state: State,
    pub(super) set: [u32; MAX_GATES],
    len: u8,
    pub(super) urgency: Urgency,
    pub(super) cost: u32,
    pub(super) paced: bool,
    pub(super) fair: u64,
    pub(super) rank: Rank,
    pub(super) not_before: Instant,
    pub(super) expires: Instant,
    pub(super) hold_limit: Instant,
    /// When its cost was paid.
    pub(super) charged: Instant,
    /// When it was sent.
    pub(super) sent: Instant,
    /// Its place in the order of starts and holds.
    pub(super) order: u64,
    /// How many were on the wire with it, gate by gate.
    pub(super) together: [u32; MAX_GATES],
    /// What only a probe or a borrower carries.
    pub(super) rare: Option<Box<Rare>>,
    /// How much each gate counts, where they do not count alike.
    weights: Option<Box<[u32; MAX_GATES]>>,
    /// At which gates it was charged, a bit each: two names of one bucket are charged once.
    pub(super) paid: u8,
    /// The worst verdict found so far.
    pub(super) worst: Option<Verdict>,
}

impl Entry {
    pub(super) fn new(r: &Request, set: [u32; MAX_GATES], len: usize) -> Self {
        Self {
            state: State::Granted,
            set,
            len: u8::try_from(len).unwrap_or(0),
            urgency: r.urgency,
            cost: r.cost,
            paced: r.paced,
            fair: r.fair,
            rank: Rank {
                paced: r.paced,
                in_line: true,
                urgency: r.urgency,
                fair: 0,
                arrival: 0,
            },
            not_before: r.not_before,
            expires: r.expires,
            hold_limit: r.hold_limit.min(r.expires),
            charged: Instant::ORIGIN,
            sent: Instant::ORIGIN,
            order: 0,
            together: [0; MAX_GATES],
            rare: None,
            weights: r.gates.weights().map(Box::new),
            paid: 0,
            worst: None,
        }
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len as usize
    }

    /// What it costs at the `i`-th gate of its set.
    #[inline]
    pub(super) fn cost_at(&self, i: usize) -> u32 {
        self.cost.saturating_mul(self.weight(i))
    }

    /// How much its `i`-th gate counts.
    pub(super) fn weight(&self, i: usize) -> u32 {
        self.weights.as_ref().map_or(1, |w| w[i])
    }

    /// Whether all its gates count alike.
    #[inline]
    pub(super) const fn is_even(&self) -> bool {
        self.weights.is_none()
    }

    /// What it leaves of a bucket to whoever is more urgent: nothing once its turn has come.
    #[inline]
    pub(super) const fn leaves(&self) -> u32 {
        if self.rank.in_line {
            self.urgency.leaves()
        } else {
            0
        }
    }

    /// What it carries beside a plain request.
    #[inline]
    pub(super) fn rare(&self) -> Rare {
        self.rare.as_deref().copied().unwrap_or_default()
    }

    /// Whether it was charged at the `i`-th gate of its set.
    #[inline]
    pub(super) const fn paid_at(&self, i: usize) -> bool {
        self.paid & (1 << i) != 0
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    live: bool,
    entry: Entry,
}

/// The requests inside the machine, by slot.
#[derive(Debug, Default)]
pub(super) struct Entries {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Entries {
    pub(super) fn insert(&mut self, entry: Entry) -> u32 {
        if let Some(i) = self.free.pop() {
            let s = &mut self.slots[i as usize];
            s.entry = entry;
            s.live = true;
            return i;
        }
        self.slots.push(Slot {
            generation: 1,
            live: true,
            entry,
        });
        u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
    }

    /// Makes a new entry in place, where a slot is free: most requests come and go at once, and
    /// copying them about would cost more than deciding on them.
    #[inline]
    pub(super) fn renew(&mut self, r: &Request, rank: Rank, len: u8) -> Option<u32> {
        let i = self.free.pop()?;
        let s = &mut self.slots[i as usize];
        s.live = true;
        let e = &mut s.entry;
        e.state = State::Granted;
        e.len = len;
        e.urgency = r.urgency;
        e.cost = r.cost;
        e.paced = r.paced;
        e.fair = r.fair;
        e.rank = rank;
        e.not_before = r.not_before;
        e.expires = r.expires;
        e.hold_limit = r.hold_limit.min(r.expires);
        e.paid = 0;
        e.rare = None;
        e.weights = None;
        e.worst = None;
        Some(i)
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        s.generation = s.generation.wrapping_add(1);
        s.live = false;
        self.free.push(slot);
    }

    /// Those in line.
    pub(super) fn waiting(&self) -> Vec<u32> {
        let waits =
            |s: &Slot| s.live && matches!(s.entry.state, State::Waiting { .. } | State::Parked);
        let slots = self.slots.iter().zip(0..);
        slots.filter(|(s, _)| waits(s)).map(|(_, i)| i).collect()
    }

    #[inline]
    pub(super) fn holds(&self, slot: u32, generation: u32) -> bool {
        self.slots
            .get(slot as usize)
            .is_some_and(|s| s.generation == generation && s.live)
    }

    pub(super) fn ticket(&self, slot: u32) -> Ticket {
        Ticket {
            slot,
            generation: self.slots[slot as usize].generation,
        }
    }

    #[inline]
    pub(super) fn pass(&self, slot: u32) -> Pass {
        Pass {
            slot,
            generation: self.slots[slot as usize].generation,
        }
    }
}

impl Index<u32> for Entries {
    type Output = Entry;

    #[inline]
    fn index(&self, slot: u32) -> &Entry {
        &self.slots[slot as usize].entry
    }
}

impl IndexMut<u32> for Entries {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.slots[slot as usize].entry
    }
}
