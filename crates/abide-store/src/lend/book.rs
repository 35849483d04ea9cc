//! What a store does with what it is asked and told, as plain data.
//!
//! Holds come together as everywhere ([`Kept`]). The rung of a ladder belongs to the episode that
//! its holds made: who speaks of a hold that is no more the last one neither climbs it nor takes it
//! back, and of two who met one refusal the higher rung counts, which is one step. It ends with an
//! answer that came after the last hold.
//!
//! A probe is known by when it was lent, so that an old one which is given back late, or a refusal
//! of something that was sent before it, does not let out another beside it.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_core::WallTime;

use super::windows::{Kind, Window, instant, micros};
use super::{ASK_AGAIN, Answer, Ask, GateAsk, Grant, Lent, NotNow, Why};
use crate::kept::Kept;
use crate::{StoreKey, StoredGate, StoredHold};

/// How long a process that said nothing is still taken to be there: longer than three of its
/// greetings may be late, short enough that the share of one that died is soon the others'.
pub const PEER_LIFE: Duration = Duration::from_secs(10);

/// Everything that processes share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    gates: BTreeMap<StoreKey, Page>,
    /// When each process was last heard of.
    peers: BTreeMap<u64, f64>,
}

/// What is known of one gate.
#[derive(Clone, Debug, PartialEq)]
struct Page {
    kept: Kept,
    /// By their places in what is asked, and their kinds. Of whoever knows fewer limits than
    /// others, theirs stay as they are.
    windows: BTreeMap<(usize, Kind), Window>,
    probe: Option<Probe>,
}

/// Whose answer everybody waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probe {
    by: u64,
    at: f64,
    until: f64,
}

impl Book {
    /// Asks for leave at `now`, in the name of a process.
    pub fn ask(&mut self, now: WallTime, who: u64, ask: &Ask) -> Answer {
        let at = clock(now);
        let peers = self.heard(at, who);
        let mut grants = Vec::with_capacity(ask.gates.len());
        for (place, gate) in ask.gates.iter().enumerate() {
            match self.page(&ask.provider, gate).looks(at, who, gate) {
                Ok(grant) => grants.push(grant),
                Err((why, after)) => {
                    return Answer::NotNow(NotNow {
                        gate: place,
                        why,
                        after,
                        peers,
                    });
                }
            }
        }
        for (gate, grant) in ask.gates.iter().zip(&grants) {
            self.page(&ask.provider, gate).pays(at, who, gate, grant);
        }
        Answer::Lent(Lent {
            grants,
            at: at as i64,
            peers,
        })
    }

    /// Takes back at `now` what was lent and not used.
    pub fn take_back(&mut self, now: WallTime, who: u64, ask: &Ask, unused: &Lent) {
        let (now, lent) = (clock(now), unused.at as f64);
        for (gate, grant) in ask.gates.iter().zip(&unused.grants) {
            let page = self.page(&ask.provider, gate);
            if grant.probe && page.probe.is_some_and(|p| p.by == who && p.at == lent) {
                page.probe = None;
            }
            let until = lent + micros(grant.life);
            let units = f64::from(grant.permits);
            for (place, shape) in gate.windows.iter().enumerate() {
                let Some(window) = page.windows.get_mut(&(place, shape.kind())) else {
                    continue;
                };
                window.roll(shape, now);
                window.take_back(shape, now, lent, until, units);
            }
        }
    }

    /// Hears at `now` that a process is there. How many are.
    pub fn greet(&mut self, now: WallTime, who: u64) -> u32 {
        self.heard(clock(now), who)
    }

    /// Takes in, at `now`, a process's word about a gate.
    pub fn put(&mut self, now: WallTime, who: u64, gate: StoredGate) {
        let (key, word) = Kept::of(gate);
        self.hears(now, who, key, word);
    }

    pub(crate) fn hears(&mut self, now: WallTime, who: u64, key: StoreKey, word: Kept) {
        match self.gates.get_mut(&key) {
            Some(page) => page.hears(now, who, word),
            None => {
                self.gates.insert(key, Page::of(word));
            }
        }
    }

    #[cfg(all(test, feature = "redis"))]
    pub(crate) fn kept(&self, key: &StoreKey) -> Option<&Kept> {
        self.gates.get(key).map(|page| &page.kept)
    }

    /// Everything, as a process is told that begins at `now`.
    pub fn told_all(&self, now: WallTime) -> Vec<StoredGate> {
        let gates = self.gates.iter();
        gates.flat_map(|(key, p)| p.kept.told(key, now)).collect()
    }

    /// What is known of a gate, as a process is told that asks at `now`.
    pub fn told(&self, key: &StoreKey, now: WallTime) -> Vec<StoredGate> {
        let page = self.gates.get(key);
        page.map_or_else(Vec::new, |page| page.kept.told(key, now))
    }

    fn heard(&mut self, now: f64, who: u64) -> u32 {
        self.peers.retain(|_, at| *at + micros(PEER_LIFE) > now);
        self.peers.insert(who, now);
        u32::try_from(self.peers.len()).unwrap_or(u32::MAX)
    }

    fn page(&mut self, provider: &str, gate: &GateAsk) -> &mut Page {
        let key = StoreKey {
            provider: provider.to_owned(),
            gate: gate.gate,
        };
        let fresh = || Page::of(Kept::empty());
        self.gates.entry(key).or_insert_with(fresh)
    }
}

impl Page {
    const fn of(kept: Kept) -> Self {
        Self {
            kept,
            windows: BTreeMap::new(),
            probe: None,
        }
    }

    /// Whether it would lend, and how much; nothing is paid.
    fn looks(&mut self, now: f64, who: u64, ask: &GateAsk) -> Result<Grant, (Why, Duration)> {
        if let Some(hold) = self.held(now) {
            let why = Why::Held {
                id: hold.id,
                cause: hold.cause,
                until: hold.until,
                probes: hold.probes,
            };
            return Err((why, wait(instant(hold.until) - now)));
        }
        let probe = self.kept.rung.is_some();
        if probe
            && let Some(out) = self.probe
            && out.by != who
            && out.until > now
            // One lent in the future was lent under another clock.
            && out.at <= now
        {
            return Err((Why::Probing, wait(out.until - now).min(ASK_AGAIN)));
        }
        let cost = f64::from(ask.cost);
        // A probe is one request, whatever would be of use later.
        let mut permits = if probe {
            cost
        } else {
            cost + f64::from(ask.ahead)
        };
        let (mut longest, mut until) = (0.0_f64, now + micros(ask.life));
        for (place, shape) in ask.windows.iter().enumerate() {
            let at = (place, shape.kind());
            let known = self.windows.get(&at).cloned();
            let mut window = known.unwrap_or_else(|| shape.fresh());
            if window.roll(shape, now) {
                self.windows.insert(at, window.clone());
            }
            let left = window.left(shape, now);
            if left < cost {
                longest = longest.max(window.wait(shape, now, cost));
            }
            permits = permits.min(left);
            until = until.min(window.lapses(shape, now, micros(ask.life)));
        }
        if longest > 0.0 {
            return Err((Why::Spent, wait(longest)));
        }
        Ok(Grant {
            permits: permits as u32,
            // Rounded down: nothing is spent when it has lapsed.
            life: Duration::from_micros((until - now).max(0.0) as u64),
            probe,
        })
    }

    fn pays(&mut self, now: f64, who: u64, ask: &GateAsk, grant: &Grant) {
        let until = now + micros(grant.life);
        for (place, shape) in ask.windows.iter().enumerate() {
            let at = (place, shape.kind());
            let window = self.windows.entry(at).or_insert_with(|| shape.fresh());
            window.roll(shape, now);
            window.pay(shape, now, until, f64::from(grant.permits));
        }
        if grant.probe {
            self.probe = Some(Probe {
                by: who,
                at: now,
                until: now + micros(ask.probe),
            });
        }
    }

    /// The hold that ends last of those in force.
    fn held(&self, now: f64) -> Option<StoredHold> {
        let holds = self.kept.holds.iter();
        let holds = holds.filter(|h| !h.lifted && instant(h.until) > now);
        holds.max_by_key(|h| h.until).copied()
    }

    fn hears(&mut self, now: WallTime, who: u64, word: Kept) {
        let holds = self.kept.holds.iter();
        let newest = holds.max_by_key(|h| (h.since, h.id)).copied();
        let is_newest = |h: &StoredHold| newest.is_some_and(|n| n.id == h.id);
        let is_newer = |h: &StoredHold| newest.is_none_or(|n| h.id != n.id && h.since >= n.since);
        // An answer that came after a hold is not undone by who has not heard of it.
        let is_over = |h: &StoredHold| self.kept.last_success > Some(ended(h));
        let opens = |h: &StoredHold| !h.lifted && is_newer(h);
        let speaks = |h: &StoredHold| (opens(h) || is_newest(h)) && !is_over(h);
        let speaks = word.holds.iter().any(speaks);
        let (mine, failures) = (self.kept.rung, self.kept.failures);
        let (rung, failures) = match word.rung {
            // Who knows of no hold knows nothing better.
            Some(_) if speaks || newest.is_none() => {
                (mine.max(word.rung), failures.max(word.failures))
            }
            None if self.is_healed(now, newest, &word) => (None, 0),
            // Counted since a success that is not older than ours.
            None if word.last_success >= self.kept.last_success => {
                (mine, failures.max(word.failures))
            }
            _ => (mine, failures),
        };
        // Others, and what was sent before the probe, tell nothing of how it went.
        let mine = self.probe.filter(|p| p.by == who);
        let refused = |h: &StoredHold| !h.lifted && mine.is_some_and(|p| instant(h.since) >= p.at);
        let refused = word.rung.is_some() && word.holds.iter().any(refused);
        if refused || rung.is_none() {
            self.probe = None;
        }
        self.kept.absorb(word, true);
        (self.kept.rung, self.kept.failures) = (rung, failures);
    }

    /// Whether a word tells of an answer that ends the episode: one that came after the hold had
    /// ended, since what was sent before it began tells nothing.
    fn is_healed(&self, now: WallTime, newest: Option<StoredHold>, word: &Kept) -> bool {
        let ended = newest.map_or(self.kept.last_success, |n| Some(ended(&n)));
        word.failures == 0 && self.held(clock(now)).is_none() && word.last_success > ended
    }
}

/// After which instant an answer tells of what came after a hold.
const fn ended(hold: &StoredHold) -> WallTime {
    if hold.lifted { hold.since } else { hold.until }
}

/// The store's clock tells whole microseconds.
fn clock(now: WallTime) -> f64 {
    instant(now).floor()
}

/// Rounded up: nobody is told to come too early.
fn wait(micros: f64) -> Duration {
    Duration::from_micros(micros.ceil().max(0.0) as u64)
}

#[cfg(test)]
mod tests;
