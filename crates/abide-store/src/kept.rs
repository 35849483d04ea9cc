//! How what several processes say about one gate comes together.
//!
//! Holds are kept by id: within an id the longest end counts and a lift sticks, whatever order
//! the words arrive in. Holds with different ids stand side by side, so that lifting one neither
//! opens another nor is forgotten when another comes: a lift that was forgotten would let the
//! next process that has not heard of it close the gate again. Only the rung, and what was
//! learned, belong to whoever spoke last.

use std::time::Duration;

use abide_core::control::Learned;
use abide_core::{Scope, WallTime};

use crate::{StoreKey, StoredGate, StoredHold};

/// The most holds and lifts kept of one gate; of more, those that end first are forgotten.
const HOLDS: usize = 16;
/// The most window counts kept of one gate.
const COUNTS: usize = 64;
/// A hold that seems to last longer was written under a clock that has jumped since.
const LONGEST_HOLD: Duration = Duration::from_secs(31 * 86_400);
/// The longest window whose count is believed.
const LONGEST_WINDOW: Duration = Duration::from_secs(366 * 86_400);

/// All that is kept of one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) scope: Scope,
    pub(crate) rung: Option<u32>,
    pub(crate) interval: Option<Duration>,
    pub(crate) learned: Option<Learned>,
    pub(crate) failures: u32,
    pub(crate) last_success: Option<WallTime>,
    pub(crate) counts: Vec<(u8, u64, WallTime)>,
    /// In the order of their ids.
    pub(crate) holds: Vec<StoredHold>,
    pub(crate) revision: u64,
}

impl Kept {
    /// Of a gate of which nobody has told anything.
    pub(crate) const fn empty() -> Self {
        Self {
            scope: Scope::Provider,
            rung: None,
            interval: None,
            learned: None,
            failures: 0,
            last_success: None,
            counts: Vec::new(),
            holds: Vec::new(),
            revision: 0,
        }
    }

    pub(crate) fn of(gate: StoredGate) -> (StoreKey, Self) {
        let mut kept = Self {
            scope: gate.scope,
            rung: gate.rung,
            interval: gate.interval,
            learned: gate.learned,
            failures: gate.failures,
            last_success: gate.last_success,
            counts: gate.counts,
            holds: gate.hold.into_iter().collect(),
            revision: gate.revision,
        };
        kept.counts.sort_unstable_by_key(|c| c.0);
        kept.counts.truncate(COUNTS);
        (gate.key, kept)
    }

    /// Takes in another word about the same gate. `latest` says that it was spoken last: a word
    /// that comes late still adds its holds and counts, since those only ever grow.
    pub(crate) fn absorb(&mut self, word: Self, latest: bool) {
        if latest {
            self.scope = word.scope;
            self.rung = word.rung;
            // Who has learned nothing does not make others forget.
            self.interval = word.interval.or(self.interval);
            self.learned = word.learned.or(self.learned);
            self.failures = word.failures;
            self.revision = word.revision;
        }
        self.last_success = self.last_success.max(word.last_success);
        for hold in word.holds {
            match self.holds.iter_mut().find(|h| h.id == hold.id) {
                Some(mine) => *mine = longer(*mine, hold),
                None => self.holds.push(hold),
            }
        }
        self.forget();
        for count in word.counts {
            let room = self.counts.len() < COUNTS;
            match self.counts.iter_mut().find(|c| c.0 == count.0) {
                Some(mine) if mine.2 == count.2 => mine.1 = mine.1.max(count.1),
                Some(mine) if mine.2 < count.2 => *mine = count,
                Some(_) => {}
                None if room => self.counts.push(count),
                None => {}
            }
        }
        self.counts.sort_unstable_by_key(|c| c.0);
    }

    /// Forgets holds that ended before another one was opened, and those beyond the bound.
    fn forget(&mut self) {
        let newest = self.holds.iter().map(|h| h.since).max();
        self.holds
            .retain(|h| newest.is_none_or(|since| h.since >= since || h.until > since));
        self.holds
            .sort_unstable_by_key(|h| (std::cmp::Reverse(h.until), h.id));
        self.holds.truncate(HOLDS);
        self.holds.sort_unstable_by_key(|h| h.id);
    }

    /// The holds and lifts that have not ended at `now`.
    fn in_force(&self, now: WallTime) -> impl Iterator<Item = StoredHold> + '_ {
        let holds = self.holds.iter().filter(move |h| h.until > now);
        holds.map(move |h| believable(*h, now))
    }

    /// What a process that asks at `now` is told: one entry for every lift, so that it opens
    /// what it may still hold, and last the gate with the hold in force. Nothing when there is
    /// nothing to tell.
    pub(crate) fn told(&self, key: &StoreKey, now: WallTime) -> Vec<StoredGate> {
        let mut counts = self.counts.clone();
        counts.retain(|c| c.2 > now);
        for count in &mut counts {
            count.2 = count.2.min(now.after(LONGEST_WINDOW));
        }
        let (lifted, closed): (Vec<_>, Vec<_>) = self.in_force(now).partition(|h| h.lifted);
        let longest = closed.into_iter().max_by_key(|h| h.until);
        let learned = self.rung.is_some()
            || self.interval.is_some()
            || self.learned.is_some()
            || self.failures > 0
            || self.last_success.is_some()
            || !counts.is_empty();
        let mut holds: Vec<Option<StoredHold>> = lifted.into_iter().map(Some).collect();
        if longest.is_some() || (learned && holds.is_empty()) {
            holds.push(longest);
        }
        holds
            .into_iter()
            .map(|hold| StoredGate {
                key: key.clone(),
                scope: self.scope,
                hold,
                rung: self.rung,
                interval: self.interval,
                learned: self.learned,
                failures: self.failures,
                last_success: self.last_success,
                counts: counts.clone(),
                revision: self.revision,
            })
            .collect()
    }
}

/// Two words about one hold: the later end counts, the longer ask is kept, a lift sticks.
fn longer(a: StoredHold, b: StoredHold) -> StoredHold {
    let mut hold = if b.until > a.until { b } else { a };
    hold.ask = match (a.ask, b.ask) {
        (Some(x), Some(y)) => Some(if y.0 > x.0 { y } else { x }),
        (x, y) => x.or(y),
    };
    hold.since = a.since.min(b.since);
    hold.lifted = a.lifted || b.lifted;
    hold
}

/// Takes back what a step of the wall clock made absurd. A hold that was opened in the future
/// was written under a clock that ran ahead: it lasts no longer from now than it ever did. The
/// ask stays as it was told: it is not believed, only passed on.
fn believable(mut hold: StoredHold, now: WallTime) -> StoredHold {
    if hold.since > now {
        let length = hold.until.since(hold.since);
        hold.until = hold.until.min(now.after(length));
        hold.since = now;
    }
    hold.until = hold.until.min(now.after(LONGEST_HOLD));
    hold
}
