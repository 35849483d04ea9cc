//! One lane of a run: the items of one provider and account.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::{Item, RunPolicy};
use crate::time::Instant;
use crate::verdict::Verdict;

/// Names a lane of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub u32);

/// Why a lane is not asked any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What the provider kept saying.
    pub cause: Verdict,
    /// When to come back, if anyone knows.
    pub retry_at: Option<Instant>,
    /// How many items in a row it took.
    pub after: u32,
}

/// A lane's closing and what it cost so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// Closed until then.
    pub until: Option<Instant>,
    /// Wall time the lane's holds have blocked the run.
    pub waited: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    pub(super) count: u32,
    pub(super) answers: u64,
    pub(super) waited: Duration,
}

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) policy: RunPolicy,
    pending: BTreeMap<u8, VecDeque<Item>>,
    pub(super) in_hand: u32,
    pub(super) answers: u64,
    pub(super) streak: u32,
    pub(super) waits: HashMap<Item, Waits>,
    pub(super) stopped: Option<Stop>,
    waited: Duration,
    closed: Option<(Instant, Instant)>,
    /// Waiting for the opening is not affordable: items are taken in hand all the same, to be
    /// turned away and counted.
    unaffordable: bool,
}

impl Lane {
    pub(super) fn new(policy: RunPolicy) -> Self {
        Self {
            policy,
            pending: BTreeMap::new(),
            in_hand: 0,
            answers: 0,
            streak: 0,
            waits: HashMap::new(),
            stopped: None,
            waited: Duration::ZERO,
            closed: None,
            unaffordable: false,
        }
    }

    pub(super) fn push(&mut self, item: Item, priority: u8) {
        self.pending.entry(priority).or_default().push_back(item);
    }

    pub(super) fn push_front(&mut self, item: Item, priority: u8) {
        self.pending.entry(priority).or_default().push_front(item);
    }

    pub(super) fn pop(&mut self) -> Option<Item> {
        let mut first = self.pending.first_entry()?;
        let item = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        item
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.closed
            .map(|(_, until)| until)
            .filter(|until| *until > now)
    }

    pub(super) fn is_closed(&self, now: Instant) -> bool {
        self.stopped.is_some() || (self.closed_until(now).is_some() && !self.unaffordable)
    }

    /// Wall time the holds have blocked so far: the union, not a sum over items.
    fn waited(&self, now: Instant) -> Duration {
        let open = self
            .closed
            .map_or(Duration::ZERO, |(since, until)| now.min(until).since(since));
        self.waited + open
    }

    /// Whether the budget covers waiting until then.
    pub(super) fn affords(&self, now: Instant, until: Instant, budget: Duration) -> bool {
        self.waited(now) + until.since(now) <= budget
    }

    pub(super) fn close(&mut self, now: Instant, until: Instant, affordable: bool) {
        self.unaffordable = !affordable;
        let until = self.closed_until(now).map_or(until, |old| old.max(until));
        self.waited = self.waited(now);
        self.closed = Some((now, until));
    }

    pub(super) fn open(&mut self, now: Instant) {
        self.waited = self.waited(now);
        self.closed = None;
        self.unaffordable = false;
    }

    pub(super) fn closing(&self, now: Instant) -> Closing {
        Closing {
            until: self.closed_until(now),
            waited: self.waited(now),
        }
    }

    pub(super) fn stop(
        &mut self,
        now: Instant,
        cause: Verdict,
        retry_at: Option<Instant>,
        after: u32,
    ) {
        if self.stopped.is_none() {
            let retry_at = retry_at.max(self.closed_until(now));
            self.stopped = Some(Stop {
                cause,
                retry_at,
                after,
            });
        }
    }
}
