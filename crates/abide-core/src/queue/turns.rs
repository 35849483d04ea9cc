//! What the less urgent keep while the more urgent use a limit up.
//!
//! Strict order would let urgent work that saturates a limit shut everybody else out for good. So
//! at each gate it is counted, for each urgency that stands there, how many units went to more
//! urgent requests since one of it was last let through. At nine times what its first waiter
//! costs, that waiter's turn has come: it goes next, before all urgencies and with their rights.
//! Each urgency that waits so keeps at least one unit in [`SHARE`]: a job makes progress, and
//! those at the screen wait a ninth longer at most for it.
//!
//! Units are counted and not time: a share of time would let ten thousand waiters of a job, all of
//! whom have waited long, go before whoever comes now.

use super::{Queue, Rank, Urgency};

/// One unit in so many is that of the less urgent, while they wait. Two in ten would be felt at
/// the screen; with one in a hundred a job's callers would run out of patience before their turn.
const SHARE: u64 = 10;

/// Units of more urgent requests that may go before so many units of one urgency.
pub(crate) const fn most_before(units: u64) -> u64 {
    let units = if units == 0 { 1 } else { units };
    units.saturating_mul(SHARE - 1)
}

/// By urgency: who may be passed over, and how often that happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    standing: [u32; 8],
    passed: [u64; 8],
}

impl Turns {
    pub(super) const fn stands(&mut self, rank: Rank) {
        self.standing[rank.urgency.index()] += rank.is_passed() as u32;
    }

    pub(super) const fn leaves(&mut self, rank: Rank) {
        self.standing[rank.urgency.index()] -= rank.is_passed() as u32;
    }
}

impl Queue {
    /// Somebody of this urgency was let through for `cost` units; whether that is `past` those
    /// less urgent who stand here, and not by what was kept for it.
    pub(crate) fn let_through(&mut self, urgency: Urgency, cost: u32, past: bool) {
        let Some(line) = self.0.as_mut().filter(|l| !l.waiters.is_empty()) else {
            return;
        };
        let turns = &mut line.turns;
        turns.passed[urgency.index()] = 0;
        for u in urgency.index() + 1..8 {
            if turns.standing[u] == 0 {
                turns.passed[u] = 0;
            } else if past {
                turns.passed[u] += u64::from(cost);
            }
        }
    }

    /// The next waiter less urgent than that whose turn has come, with its new rank.
    pub(crate) fn take_turn(&mut self, urgency: Urgency) -> Option<(u32, Rank)> {
        let line = self.0.as_mut()?;
        for u in urgency.index() + 1..8 {
            let passed = line.turns.passed[u];
            if passed < most_before(1) || line.turns.standing[u] == 0 {
                continue;
            }
            let first = Rank {
                paced: true,
                in_line: true,
                urgency: Urgency::new(u as u8),
                fair: 0,
                arrival: 0,
            };
            let (rank, (slot, cost)) = line.waiters.range(first..).next()?;
            let (rank, slot, cost) = (*rank, *slot, *cost);
            if rank.urgency != first.urgency || passed < most_before(u64::from(cost)) {
                continue;
            }
            line.turns.passed[u] = 0;
            self.remove(rank);
            let rank = Rank {
                in_line: false,
                ..rank
            };
            self.push(rank, slot, cost);
            return Some((slot, rank));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ranks;
    use super::*;

    #[test]
    fn nine_units_go_before_one_and_no_more() {
        let (mut ranks, mut queue) = (Ranks::default(), Queue::default());
        let bulk = ranks.arrive(Urgency::BULK, 0, 1);
        queue.push(bulk, 7, 1);
        for n in 1..=9 {
            assert!(queue.take_turn(Urgency::INTERACTIVE).is_none(), "after {n}");
            queue.let_through(Urgency::INTERACTIVE, 1, true);
        }
        let (slot, rank) = queue.take_turn(Urgency::INTERACTIVE).expect("its turn");
        assert_eq!(slot, 7);
        assert!(rank < ranks.arrive(Urgency::new(0), 0, 1));
        assert_eq!(queue.head(), Some((rank, 7)));
        assert!(queue.take_turn(Urgency::INTERACTIVE).is_none());
    }

    #[test]
    fn who_costs_more_is_passed_over_longer() {
        let (mut ranks, mut queue) = (Ranks::default(), Queue::default());
        queue.push(ranks.arrive(Urgency::BULK, 0, 5), 1, 5);
        queue.let_through(Urgency::INTERACTIVE, 44, true);
        assert!(queue.take_turn(Urgency::INTERACTIVE).is_none());
        queue.let_through(Urgency::INTERACTIVE, 1, true);
        assert!(queue.take_turn(Urgency::INTERACTIVE).is_some());
    }

    #[test]
    fn each_urgency_has_a_share_of_its_own() {
        let (mut ranks, mut queue) = (Ranks::default(), Queue::default());
        queue.push(ranks.arrive(Urgency::NORMAL, 0, 1), 3, 1);
        queue.push(ranks.arrive(Urgency::BULK, 0, 1), 6, 1);
        queue.let_through(Urgency::INTERACTIVE, 8, true);
        queue.let_through(Urgency::NORMAL, 1, true);
        assert_eq!(queue.take_turn(Urgency::INTERACTIVE).map(|t| t.0), Some(6));
        queue.let_through(Urgency::INTERACTIVE, 9, true);
        assert_eq!(queue.take_turn(Urgency::INTERACTIVE).map(|t| t.0), Some(3));
    }

    #[test]
    fn what_was_kept_for_the_urgent_is_no_share_of_bulk() {
        let (mut ranks, mut queue) = (Ranks::default(), Queue::default());
        queue.push(ranks.arrive(Urgency::BULK, 0, 1), 1, 1);
        queue.let_through(Urgency::INTERACTIVE, 100, false);
        assert!(queue.take_turn(Urgency::INTERACTIVE).is_none());
    }
}
