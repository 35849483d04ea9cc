//! What was sent and what became of it: all the evidence a learner has.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Instant;

/// How many sends are remembered: 8 KiB, and more than any burst a provider grants at once to one
/// of these clients.
const SENDS: usize = 1_024;
/// How many refusals: older ones have been made use of.
const REFUSALS: usize = 24;

const OUT: u64 = 0;
const GOOD: u64 = 1;
const BAD: u64 = 2;

/// Sends in order, each with what became of it in its two low bits.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    sends: VecDeque<u64>,
    /// When those were sent that were the first of an event to be refused.
    refusals: VecDeque<Instant>,
    /// What was sent before is not known any more.
    forgotten: bool,
}

impl History {
    pub(super) fn sent(&mut self, at: Instant) {
        self.push(at, OUT);
    }

    /// One that was sent at `at` came back well. What was sent before anybody watched is put in
    /// its place.
    pub(super) fn good(&mut self, at: Instant) {
        match self.find(at) {
            Some(i) => self.sends[i] = pack(at, GOOD),
            None => self.push(at, GOOD),
        }
    }

    /// One that was sent at `at` was refused; `first` of its event, or a sibling.
    pub(super) fn refused(&mut self, at: Instant, first: bool) {
        match self.find(at) {
            Some(i) => self.sends[i] = pack(at, BAD),
            None => self.push(at, BAD),
        }
        if first {
            if self.refusals.len() >= REFUSALS {
                self.refusals.pop_front();
            }
            self.refusals.push_back(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sends.is_empty()
    }

    fn find(&self, at: Instant) -> Option<usize> {
        let wanted = at.as_nanos() >> 2;
        // Answers come soon: from the back.
        for (i, s) in self.sends.iter().enumerate().rev() {
            if s >> 2 == wanted && s & 3 == OUT {
                return Some(i);
            }
            if s >> 2 < wanted {
                return None;
            }
        }
        None
    }

    fn push(&mut self, at: Instant, what: u64) {
        if self.sends.len() >= SENDS {
            self.sends.pop_front();
        }
        let new = pack(at, what);
        let mut i = self.sends.len();
        while i > 0 && self.sends[i - 1] >> 2 > new >> 2 {
            i -= 1;
        }
        self.sends.insert(i, new);
    }

    /// What was sent before `at` proves nothing any more: the limit has changed.
    pub(super) fn forget_before(&mut self, at: Instant) {
        self.forgotten = true;
        let wanted = at.as_nanos() >> 2;
        while self.sends.front().is_some_and(|s| s >> 2 < wanted) {
            self.sends.pop_front();
        }
        while self.refusals.front().is_some_and(|r| *r < at) {
            self.refusals.pop_front();
        }
    }

    /// When those were sent that came back well, or may yet.
    pub(super) fn counted(&self) -> impl DoubleEndedIterator<Item = Instant> + '_ {
        let kept = self.sends.iter().filter(|s| *s & 3 != BAD);
        kept.map(|s| Instant::from_nanos(s & !3))
    }

    /// How many of those that came back well were sent since `at`.
    pub(super) fn good_since(&self, at: Instant) -> usize {
        let wanted = at.as_nanos() >> 2;
        let recent = self.sends.iter().rev().take_while(|s| *s >> 2 >= wanted);
        recent.filter(|s| *s & 3 == GOOD).count()
    }

    /// The evidence in seconds since an instant that is told with it. What has had no answer for
    /// longer than `under_way` will get none: its caller left, or the exchange failed.
    pub(super) fn evidence(&self, under_way: Duration) -> Evidence {
        let first = self.sends.front().map_or(0, |s| s & !3);
        let base = Instant::from_nanos(first);
        let seconds = |at: Instant| at.since(base).as_secs_f64();
        let good = self.sends.iter().filter(|s| *s & 3 == GOOD);
        let newest = Instant::from_nanos(self.sends.back().map_or(0, |s| s & !3));
        let lately = newest.before(under_way).as_nanos();
        let open = self.sends.iter();
        let open = open.filter(|s| *s & 3 == OUT && *s & !3 >= lately);
        let refused = self.refusals.iter().filter(|r| r.as_nanos() >= first);
        Evidence {
            base,
            good: good.map(|s| seconds(Instant::from_nanos(s & !3))).collect(),
            open: open.map(|s| seconds(Instant::from_nanos(s & !3))).collect(),
            refused: refused.map(|r| seconds(*r)).collect(),
            // Of what was sent before the oldest send that is remembered nothing is known.
            whole: self.sends.len() < SENDS && !self.forgotten,
        }
    }
}

/// Sends and refusals in seconds since `base`, both in order.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) base: Instant,
    pub(super) good: Vec<f64>,
    /// Sent and not answered yet: it may have been accepted before another was refused.
    pub(super) open: Vec<f64>,
    pub(super) refused: Vec<f64>,
    /// Nothing was sent before.
    pub(super) whole: bool,
}

impl Evidence {
    /// The refusals before which at least `span` seconds are known.
    pub(super) fn refused_after(&self, span: f64) -> impl Iterator<Item = f64> + '_ {
        let from = if self.whole { f64::MIN } else { span };
        self.refused.iter().copied().filter(move |r| *r >= from)
    }

    /// An instant `seconds` after the base.
    pub(super) fn at(&self, seconds: f64) -> Instant {
        self.base
            .after(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

const fn pack(at: Instant, what: u64) -> u64 {
    at.as_nanos() & !3 | what
}
