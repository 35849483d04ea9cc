//! Places in line: ranks, not times.
//!
//! A waiter stands at the one gate that blocks it, in the order (urgency, fair time, arrival;
//! what is exempt from pace before all else),
//! and keeps its rank when it moves on to the next blocking gate. Only the head has an instant,
//! so there is nothing to recompute when a hold grows and nothing to drift when a wake is late.
//! `ranks` makes the ranks, `turns` sees to it that the less urgent keep a share.

mod ranks;
mod turns;

use std::collections::BTreeMap;

pub(crate) use ranks::Ranks;
pub(crate) use turns::most_before;

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
    /// Whoever was passed over until its turn came is in line no more and goes next.
    pub(crate) in_line: bool,
    pub(crate) urgency: Urgency,
    pub(crate) fair: u64,
    pub(crate) arrival: u64,
}

impl Rank {
    /// What a waiter of this rank takes of the pace.
    fn of_pace(self, cost: u32) -> u64 {
        if self.paced { u64::from(cost) } else { 0 }
    }

    /// Whether it may be passed over.
    const fn is_passed(self) -> bool {
        self.paced && self.in_line
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
    turns: turns::Turns,
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
        line.turns.stands(rank);
        line.waiters.insert(rank, (slot, cost));
    }

    pub(crate) fn remove(&mut self, rank: Rank) {
        if let Some(line) = &mut self.0
            && let Some((_, cost)) = line.waiters.remove(&rank)
        {
            line.cost[rank.urgency.index()] -= rank.of_pace(cost);
            line.turns.leaves(rank);
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
