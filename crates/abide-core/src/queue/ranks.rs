//! Who comes before whom.
//!
//! Fairness between keys (runs, tenants) within an urgency is start-time fair queueing: a key's
//! next waiter is stamped with where its last one ended, so ten waiters of one key do not push
//! back the first of another.

use std::collections::HashMap;

use super::{Rank, Urgency};

/// Hands out ranks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks {
    arrivals: u64,
    lines: [FairLine; 8],
}

#[derive(Clone, Debug, Default)]
struct FairLine {
    now: u64,
    keys: HashMap<u64, Key>,
    /// Keys with waiters.
    active: u64,
    /// At this many keys those that rank like new ones are forgotten.
    sweep_at: usize,
}

/// What is remembered of one fairness key.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// Where its newest waiter ends.
    end: u64,
    /// Where the newest one let through ends.
    served: u64,
    waiting: u32,
}

impl Ranks {
    /// The rank of a newcomer with this fairness key.
    pub(crate) fn arrive(&mut self, urgency: Urgency, key: u64, cost: u32) -> Rank {
        self.arrivals += 1;
        let line = &mut self.lines[urgency.index()];
        let k = line.keys.entry(key).or_default();
        let start = k.end.max(line.now);
        k.end = start.saturating_add(u64::from(cost));
        line.sweep();
        Rank {
            paced: true,
            in_line: true,
            urgency,
            fair: start,
            arrival: self.arrivals,
        }
    }

    /// The rank of a newcomer that finds nobody waiting.
    #[inline]
    pub(crate) const fn newcomer(&mut self, urgency: Urgency) -> Rank {
        self.arrivals += 1;
        Rank {
            paced: true,
            in_line: true,
            urgency,
            fair: self.lines[urgency.index()].now,
            arrival: self.arrivals,
        }
    }

    /// The newest arrival of a key was turned away at once: its key ends where it ended before.
    pub(crate) fn leave(&mut self, urgency: Urgency, key: u64, cost: u32) {
        if let Some(k) = self.lines[urgency.index()].keys.get_mut(&key) {
            k.end = k.end.saturating_sub(u64::from(cost));
        }
    }

    /// A request of this rank was let through: fair time moves on to it.
    pub(crate) fn served(&mut self, rank: Rank, key: u64, cost: u32) {
        let line = &mut self.lines[rank.urgency.index()];
        line.now = line.now.max(rank.fair);
        if let Some(k) = line.keys.get_mut(&key) {
            k.served = k.served.max(rank.fair.saturating_add(u64::from(cost)));
        }
    }

    /// One more of this key waits.
    pub(crate) fn enlist(&mut self, urgency: Urgency, key: u64) {
        let line = &mut self.lines[urgency.index()];
        let k = line.keys.entry(key).or_default();
        line.active += u64::from(k.waiting == 0);
        k.waiting += 1;
    }

    /// One of this key waits no more. When it was the last, the key owes only what was let
    /// through: places that were given up push nobody back.
    pub(crate) fn delist(&mut self, urgency: Urgency, key: u64) {
        let line = &mut self.lines[urgency.index()];
        if let Some(k) = line.keys.get_mut(&key) {
            k.waiting = k.waiting.saturating_sub(1);
            if k.waiting == 0 {
                k.end = k.served;
                line.active = line.active.saturating_sub(1);
            }
        }
    }

    /// How many keys have waiters.
    pub(crate) const fn keys(&self, urgency: Urgency) -> u64 {
        self.lines[urgency.index()].active
    }

    /// How far `rank` lies ahead of fair time.
    pub(crate) const fn backlog(&self, rank: Rank) -> u64 {
        rank.fair
            .saturating_sub(self.lines[rank.urgency.index()].now)
    }

    /// Nobody waits any more: forget every key.
    pub(crate) fn clear(&mut self) {
        for line in &mut self.lines {
            if !line.keys.is_empty() {
                line.keys.clear();
                line.active = 0;
            }
        }
    }
}

impl FairLine {
    /// Forgets keys that rank like new ones, each time their number has doubled.
    fn sweep(&mut self) {
        if self.keys.len() > self.sweep_at.max(64) {
            let now = self.now;
            self.keys.retain(|_, k| k.waiting > 0 || k.end > now);
            self.sweep_at = 2 * self.keys.len();
        }
    }
}
