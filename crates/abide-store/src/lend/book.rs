//! What a store does with what it is asked and told, as plain data.
//!
//! Holds come together as everywhere ([`Kept`]). The rung of a ladder belongs to the episode that
//! its hold opened: who speaks of another episode, or of none, neither climbs it nor takes it
//! back, so two processes that met one refusal climb one rung.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_core::WallTime;

use super::windows::{Window, micros};
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
    windows: Vec<Window>,
    /// Whose answer everybody waits for, and until when.
    probe: Option<(u64, f64)>,
}

impl Book {
    /// Asks for leave at `now`, in the name of a process.
    pub fn ask(&mut self, now: WallTime, who: u64, ask: &Ask) -> Answer {
        let at = instant(now);
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
        let (now, lent) = (instant(now), unused.at as f64);
        for (gate, grant) in ask.gates.iter().zip(&unused.grants) {
            let page = self.page(&ask.provider, gate);
            if grant.probe && page.probe.is_some_and(|(by, _)| by == who) {
                page.probe = None;
            }
            let until = lent + micros(grant.life);
            let units = f64::from(grant.permits);
            for (window, shape) in page.windows.iter_mut().zip(&gate.windows) {
                window.roll(shape, now);
                window.take_back(shape, now, lent, until, units);
            }
        }
    }

    /// Takes in, at `now`, a word about a gate.
    pub fn put(&mut self, now: WallTime, gate: StoredGate) {
        let (key, word) = Kept::of(gate);
        match self.gates.get_mut(&key) {
            Some(page) => page.hears(now, word),
            None => {
                self.gates.insert(key, Page::of(word));
            }
        }
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
            windows: Vec::new(),
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
            && let Some((by, until)) = self.probe
            && by != who
            && until > now
        {
            return Err((Why::Probing, wait(until - now).min(ASK_AGAIN)));
        }
        self.windows.truncate(ask.windows.len());
        for shape in &ask.windows[self.windows.len()..] {
            self.windows.push(shape.fresh());
        }
        let cost = f64::from(ask.cost);
        // A probe is one request, whatever would be of use later.
        let mut permits = if probe {
            cost
        } else {
            cost + f64::from(ask.ahead)
        };
        let (mut longest, mut until) = (0.0_f64, now + micros(ask.life));
        for (window, shape) in self.windows.iter_mut().zip(&ask.windows) {
            window.roll(shape, now);
            let left = window.left(shape, now);
            if left < cost {
                longest = longest.max(window.wait(shape, now, cost));
            }
            permits = permits.min(left);
            until = until.min(window.lapses(now, micros(ask.life)));
        }
        if longest > 0.0 {
            return Err((Why::Spent, wait(longest)));
        }
        Ok(Grant {
            permits: permits as u32,
            life: wait(until - now),
            probe,
        })
    }

    fn pays(&mut self, now: f64, who: u64, ask: &GateAsk, grant: &Grant) {
        let until = now + micros(grant.life);
        for (window, shape) in self.windows.iter_mut().zip(&ask.windows) {
            window.pay(shape, now, until, f64::from(grant.permits));
        }
        if grant.probe {
            self.probe = Some((who, now + micros(ask.probe)));
        }
    }

    /// The hold that ends last of those in force.
    fn held(&self, now: f64) -> Option<StoredHold> {
        let holds = self.kept.holds.iter();
        let holds = holds.filter(|h| !h.lifted && instant(h.until) > now);
        holds.max_by_key(|h| h.until).copied()
    }

    fn hears(&mut self, now: WallTime, word: Kept) {
        let holds = self.kept.holds.iter();
        let newest = holds.max_by_key(|h| (h.since, h.id)).copied();
        let is_newest = |h: &StoredHold| newest.is_some_and(|n| n.id == h.id);
        let is_newer = |h: &StoredHold| newest.is_none_or(|n| h.id != n.id && h.since >= n.since);
        let opens = word.holds.iter().any(|h| !h.lifted && is_newer(h));
        let same = word.holds.iter().any(is_newest);
        let (rung, failures) = match word.rung {
            Some(_) if opens => (word.rung, word.failures.max(self.kept.failures)),
            Some(_) if same => (
                self.kept.rung.max(word.rung),
                self.kept.failures.max(word.failures),
            ),
            None if self.is_healed(now, newest, &word) => (None, 0),
            _ => (self.kept.rung, self.kept.failures),
        };
        if opens || rung.is_none() {
            // The probe was refused, or is not needed any more.
            self.probe = None;
        }
        self.kept.absorb(word, true);
        (self.kept.rung, self.kept.failures) = (rung, failures);
    }

    /// Whether a word tells of an answer that ends the episode: one that came after the hold had
    /// ended, since what was sent before it began tells nothing.
    fn is_healed(&self, now: WallTime, newest: Option<StoredHold>, word: &Kept) -> bool {
        word.failures == 0
            && self.held(instant(now)).is_none()
            && newest.is_none_or(|n| {
                let ended = if n.lifted { n.since } else { n.until };
                word.last_success.is_some_and(|t| t > ended)
            })
    }
}

/// On the store's clock, in microseconds.
fn instant(wall: WallTime) -> f64 {
    wall.as_unix_nanos() as f64 / 1000.0
}

/// Rounded up: nobody is told to come too early.
fn wait(micros: f64) -> Duration {
    Duration::from_micros(micros.ceil().max(0.0) as u64)
}
