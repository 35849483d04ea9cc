//! A bulk run: which item goes next, what is waited out, and when to stop asking.
//!
//! A run would rather wait than fail, and rather stop than hammer. Items stand in lanes, one a
//! provider (and account), so that a held provider never slows another. An item is put off only
//! after a refusal, never for queueing; what is waited for is bounded three ways: waits of one
//! item without any progress in its lane, the wall time a lane's holds block the run, and a
//! streak of items that were still refused after their waits. A lane whose streak is full, whose
//! quota is used up or that has shut us out is stopped: its other items end at once, unsent, with
//! the time to come back.
//!
//! The driver sends and waits; this machine only says what to do. Everything it keeps an item is
//! its place in line.

mod lane;
mod lookup;

use std::time::Duration;

use http::StatusCode;
use lane::Lane;
pub use lane::{Closing, LaneId, Stop};
pub use lookup::Step;

use crate::refusal::Refusal;
use crate::time::Instant;
use crate::verdict::Verdict;

/// The position of an item in its input, counted from 0.
pub type Item = u32;

/// The knobs of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunPolicy {
    /// Items of one lane in hand: on the wire, or waiting at its gates. Default 8.
    pub concurrency: u32,
    /// What one item waits at holds, all together. Default 300 s: a run has nobody at the
    /// screen, and five minutes cover every per-minute limit.
    pub patience: Duration,
    /// One wait. Default: the patience.
    pub wait_max: Option<Duration>,
    /// Waits of one item in a row without any answer in its lane. Default 3.
    pub max_waits: u32,
    /// Wall time a lane's holds may block the run. Default 10 min: without it, a thousand rows
    /// against a provider that refuses for ever take hours.
    pub wait_budget: Duration,
    /// Items in a row that were still refused (or failed behind an open breaker) before a lane
    /// is stopped. Default 3: two may be bad luck.
    pub streak: u32,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            concurrency: 8,
            patience: Duration::from_secs(300),
            wait_max: None,
            max_waits: 3,
            wait_budget: Duration::from_secs(600),
            streak: 3,
        }
    }
}

/// How an item ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The provider answered: done, not found, or a failure of this item alone.
    Answered,
    /// No answer, for a reason that is this item's alone.
    Failed,
    /// No answer: the provider failed this item to its last attempt. `open` tells whether its
    /// breaker is open, so that it fails everyone.
    Unavailable {
        /// Whether the breaker is open.
        open: bool,
        /// When to come back.
        retry_at: Option<Instant>,
    },
    /// Turned away, after its waits or because they are not affordable.
    Refused(Box<Refusal>),
}

/// What an answer makes of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It is done.
    Done,
    /// There is no such thing.
    NotFound,
    /// Neither.
    Failed,
}

impl Answered {
    /// Of an answer that was found to mean `verdict`; `listed` tells whether its status is among
    /// those that count as done.
    ///
    /// A success that hides something else is what it hides. Any other status was listed by
    /// somebody who knows what it means.
    pub fn of(status: StatusCode, listed: bool, verdict: Verdict) -> Self {
        let hides = status.is_success() && verdict != Verdict::Success;
        match verdict {
            _ if listed && !hides => Self::Done,
            Verdict::NotFound => Self::NotFound,
            _ => Self::Failed,
        }
    }
}

/// What an item does after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Turn {
    /// Wait for the hold and ask again.
    Wait,
    /// Give up: its waits are spent, or waiting is not affordable.
    GiveUp,
}

/// The bookkeeping of a run.
#[derive(Debug)]
pub struct Run {
    policy: RunPolicy,
    lanes: Vec<Lane>,
    cursor: usize,
    pending: usize,
    in_hand: usize,
}

impl Run {
    /// A run without items.
    pub const fn new(policy: RunPolicy) -> Self {
        Self {
            policy,
            lanes: Vec::new(),
            cursor: 0,
            pending: 0,
            in_hand: 0,
        }
    }

    /// The knobs.
    pub const fn policy(&self) -> &RunPolicy {
        &self.policy
    }

    /// The knobs of a lane.
    pub fn policy_of(&self, lane: LaneId) -> &RunPolicy {
        &self.lanes[lane.0 as usize].policy
    }

    /// A new lane: one a provider and account.
    pub fn lane(&mut self) -> LaneId {
        self.lane_with(self.policy.clone())
    }

    /// A new lane with knobs of its own.
    pub fn lane_with(&mut self, policy: RunPolicy) -> LaneId {
        self.lanes.push(Lane::new(policy));
        LaneId(u32::try_from(self.lanes.len() - 1).unwrap_or(u32::MAX))
    }

    /// A lane's items wait this long, if that is longer than they did so far.
    pub fn bear(&mut self, lane: LaneId, patience: Duration) {
        let own = &mut self.lanes[lane.0 as usize].policy.patience;
        *own = patience.max(*own);
    }

    /// Adds an item; a smaller `priority` goes first within its lane.
    pub fn add(&mut self, lane: LaneId, item: Item, priority: u8) {
        self.pending += 1;
        self.lanes[lane.0 as usize].push(item, priority);
    }

    /// The next item to take in hand, if any lane is open and has a hand free. Lanes take turns.
    pub fn take(&mut self, now: Instant) -> Option<(LaneId, Item)> {
        for _ in 0..self.lanes.len() {
            self.cursor = (self.cursor + 1) % self.lanes.len();
            let lane = &mut self.lanes[self.cursor];
            if lane.in_hand >= lane.policy.concurrency || lane.is_closed(now) {
                continue;
            }
            if let Some(item) = lane.pop() {
                lane.in_hand += 1;
                self.pending -= 1;
                self.in_hand += 1;
                return Some((LaneId(u32::try_from(self.cursor).unwrap_or(u32::MAX)), item));
            }
        }
        None
    }

    /// An item of a stopped lane: to be ended unsent.
    pub fn take_stopped(&mut self) -> Option<(LaneId, Item, Stop)> {
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(stop) = lane.stopped.clone()
                && let Some(item) = lane.pop()
            {
                self.pending -= 1;
                return Some((LaneId(u32::try_from(i).unwrap_or(u32::MAX)), item, stop));
            }
        }
        None
    }

    /// An item in hand was refused and could be sent again once the hold is over.
    pub fn refused(&mut self, now: Instant, lane: LaneId, item: Item, until: Instant) -> Turn {
        let patience = self.policy_of(lane).patience;
        self.refused_within(now, lane, item, until, patience)
    }

    /// As [`refused`](Self::refused), for an item with a patience of its own: it bounds all its
    /// waits together.
    pub fn refused_within(
        &mut self,
        now: Instant,
        lane: LaneId,
        item: Item,
        until: Instant,
        patience: Duration,
    ) -> Turn {
        let lane = &mut self.lanes[lane.0 as usize];
        let p = lane.policy.clone();
        if lane.stopped.is_some() {
            return Turn::GiveUp;
        }
        let answers = lane.answers;
        let w = lane.waits.entry(item).or_default();
        if w.answers != answers {
            // Others got through meanwhile: the provider serves, and waiting makes sense again.
            w.answers = answers;
            w.count = 0;
        }
        w.count += 1;
        w.waited += until.since(now);
        let within = w.count <= p.max_waits
            && w.waited <= patience
            && until.since(now) <= p.wait_max.unwrap_or(patience);
        if within && lane.affords(now, until, p.wait_budget) {
            Turn::Wait
        } else {
            Turn::GiveUp
        }
    }

    /// A lane was closed, or its closing got longer. What is in hand and waiting either waits it
    /// out or is to be turned away.
    pub fn closed(
        &mut self,
        now: Instant,
        lane: LaneId,
        until: Instant,
        patience: Duration,
    ) -> Turn {
        let lane = &mut self.lanes[lane.0 as usize];
        let p = &lane.policy;
        let wait = until.since(now);
        let affords = wait <= p.wait_max.unwrap_or(patience).min(patience)
            && lane.affords(now, until, p.wait_budget);
        lane.close(now, until, affords);
        if affords { Turn::Wait } else { Turn::GiveUp }
    }

    /// Whether the wait budget of a lane covers waiting until then.
    pub fn affords(&self, now: Instant, lane: LaneId, until: Instant) -> bool {
        let lane = &self.lanes[lane.0 as usize];
        lane.stopped.is_none() && lane.affords(now, until, lane.policy.wait_budget)
    }

    /// A lane is open again before its time (its hold was lifted).
    pub fn opened(&mut self, now: Instant, lane: LaneId) {
        self.lanes[lane.0 as usize].open(now);
    }

    /// An item in hand is over.
    pub fn end(&mut self, now: Instant, lane: LaneId, item: Item, end: &End) {
        let lane = &mut self.lanes[lane.0 as usize];
        let streak = lane.policy.streak;
        lane.in_hand = lane.in_hand.saturating_sub(1);
        self.in_hand = self.in_hand.saturating_sub(1);
        lane.waits.remove(&item);
        match end {
            End::Answered => {
                lane.answers += 1;
                lane.streak = 0;
            }
            End::Failed | End::Unavailable { open: false, .. } => {}
            End::Unavailable {
                open: true,
                retry_at,
            } => {
                lane.streak += 1;
                if lane.streak >= streak {
                    lane.stop(now, Verdict::Unavailable, *retry_at, streak);
                }
            }
            End::Refused(r) => {
                let cause = r.cause.unwrap_or(Verdict::RateLimited);
                lane.streak += 1;
                let ends = matches!(cause, Verdict::QuotaExhausted | Verdict::Banned);
                if ends || lane.streak >= streak {
                    lane.stop(now, cause, r.retry_at, if ends { 1 } else { streak });
                }
            }
        }
    }

    /// An item in hand goes back to its place untouched (it was only queueing).
    pub fn put_back(&mut self, lane: LaneId, item: Item, priority: u8) {
        let lane = &mut self.lanes[lane.0 as usize];
        lane.in_hand = lane.in_hand.saturating_sub(1);
        lane.push_front(item, priority);
        self.in_hand = self.in_hand.saturating_sub(1);
        self.pending += 1;
    }

    /// The lane's stop, if it was stopped.
    pub fn stop(&self, lane: LaneId) -> Option<&Stop> {
        self.lanes[lane.0 as usize].stopped.as_ref()
    }

    /// The lane's closing and what of the wait budget it has used.
    pub fn closing(&self, now: Instant, lane: LaneId) -> Closing {
        self.lanes[lane.0 as usize].closing(now)
    }

    /// Items not taken in hand yet.
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Items in hand.
    pub const fn in_hand(&self) -> usize {
        self.in_hand
    }

    /// When the next of the lanes that are closed and have items opens again.
    pub fn next_opening(&self, now: Instant) -> Option<Instant> {
        let waiting = self
            .lanes
            .iter()
            .filter(|l| !l.is_empty() && l.is_closed(now) && l.stopped.is_none());
        waiting.filter_map(|l| l.closed_until(now)).min()
    }
}

#[cfg(test)]
mod tests;
