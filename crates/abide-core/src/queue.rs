//! Places in line: ranks, not times.
//!
//! A waiter stands at the one gate that blocks it, in the order (urgency, fair time, arrival;
//! what is exempt from pace before all else),
//! and keeps its rank when it moves on to the next blocking gate. Only the head has an instant,
//! so there is nothing to recompute when a hold grows and nothing to drift when a wake is late.
//!
//! Fairness between keys (runs, tenants) within an urgency is start-time fair queueing: a key's
//! next waiter is stamped with where its last one ended, so ten waiters of one key do not push
//! back the first of another.

use std::collections::{BTreeMap, HashMap};

/// How urgent a request is, as RFC 9218 counts: 0 first, 7 last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Urgency(u8);

impl Urgency {
    /// Somebody waits at the screen.
    pub const INTERACTIVE: Self = Self(1);
    /// RFC 9218's default.
    pub const NORMAL: Self = Self(3);
    /// Nobody waits.
    pub const BULK: Self = Self(6);

    /// Urgency `n`; above 7 reads as 7.
    pub const fn new(n: u8) -> Self {
        Self(if n > 7 { 7 } else { n })
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Units of a bucket that it leaves to whoever is more urgent, so that somebody at the screen
    /// does not wait for the next: bulk uses up all that comes, and is no slower for one less.
    #[inline]
    pub(crate) const fn leaves(self) -> u32 {
        (self.0 >= Self::BULK.0) as u32
    }
}

impl Default for Urgency {
    fn default() -> Self {
        Self::NORMAL
    }
}

/// A place in line: smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// What is exempt from pace goes first: behind somebody who waits for the pace it would wait
    /// for it too.
    pub(crate) paced: bool,
    pub(crate) urgency: Urgency,
    pub(crate) fair: u64,
    pub(crate) arrival: u64,
}

impl Rank {
    /// What a waiter of this rank takes of the pace.
    fn of_pace(self, cost: u32) -> u64 {
        if self.paced { u64::from(cost) } else { 0 }
    }
}

/// The waiters standing at one gate. Made when somebody first waits, since most gates never have
/// a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Option<Box<Line>>);

#[derive(Clone, Debug, Default)]
struct Line {
    waiters: BTreeMap<Rank, (u32, u32)>,
    /// By urgency.
    cost: [u64; 8],
}

impl Queue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|l| l.waiters.is_empty())
    }

    pub(crate) fn head(&self) -> Option<(Rank, u32)> {
        let line = self.0.as_ref()?;
        let (rank, (slot, _)) = line.waiters.first_key_value()?;
        Some((*rank, *slot))
    }

    /// Whether somebody of a better rank stands here.
    #[inline]
    pub(crate) fn is_behind(&self, rank: Rank) -> bool {
        self.head().is_some_and(|(head, _)| head < rank)
    }

    pub(crate) fn push(&mut self, rank: Rank, slot: u32, cost: u32) {
        let line = self.0.get_or_insert_default();
        line.cost[rank.urgency.index()] += rank.of_pace(cost);
        line.waiters.insert(rank, (slot, cost));
    }

    pub(crate) fn remove(&mut self, rank: Rank) {
        if let Some(line) = &mut self.0
            && let Some((_, cost)) = line.waiters.remove(&rank)
        {
            line.cost[rank.urgency.index()] -= rank.of_pace(cost);
        }
    }

    /// The cost standing here that is more urgent, and that of the same urgency.
    pub(crate) fn cost_ahead(&self, urgency: Urgency) -> (u64, u64) {
        let Some(line) = &self.0 else {
            return (0, 0);
        };
        let above = line.cost[..urgency.index()].iter().sum();
        (above, line.cost[urgency.index()])
    }

    pub(crate) fn waiters(&self) -> impl Iterator<Item = (Rank, u32, u32)> + '_ {
        self.0
            .iter()
            .flat_map(|line| &line.waiters)
            .map(|(r, (slot, cost))| (*r, *slot, *cost))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |l| l.waiters.len())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_of_one_key_do_not_push_back_the_first_of_another() {
        let mut r = Ranks::default();
        let mine: Vec<Rank> = (0..10).map(|_| r.arrive(Urgency::NORMAL, 1, 1)).collect();
        let yours = r.arrive(Urgency::NORMAL, 2, 1);
        assert!(mine[0] < yours && yours < mine[1]);
    }

    #[test]
    fn one_key_is_first_in_first_out() {
        let mut r = Ranks::default();
        let ranks: Vec<Rank> = (0..100).map(|_| r.arrive(Urgency::NORMAL, 0, 3)).collect();
        assert!(ranks.is_sorted());
    }

    #[test]
    fn a_more_urgent_newcomer_goes_first() {
        let mut r = Ranks::default();
        let bulk = r.arrive(Urgency::BULK, 0, 1);
        let person = r.arrive(Urgency::INTERACTIVE, 0, 1);
        assert!(person < bulk);
    }
}
