//! What a process makes of what it hears, and what it tells.

use abide_core::hold::HoldId;
use abide_core::{Scope, Verdict};
use abide_store::{StoredGate, StoredHold};

use crate::process::{Known, Process, Sent};
use crate::world::{HOLD, first, millis, wall};

impl Process {
    /// Takes in what the store tells.
    pub(crate) fn hears(&mut self, told: &[StoredGate]) {
        for gate in told {
            if let Some(h) = gate.hold {
                let known = self.known.entry(h.id.0).or_insert((0, false));
                known.0 = known.0.max(millis(h.until));
                known.1 |= h.lifted;
            }
            // Its own news come first: the store has not heard of them.
            if self.unsaid.is_empty() {
                self.rung = gate.rung;
            }
            self.ok = self.ok.max(gate.last_success.map(millis));
        }
    }

    /// What it tells of the gate.
    pub(crate) fn word(&self, hold: Option<StoredHold>) -> StoredGate {
        StoredGate {
            key: first(),
            scope: Scope::Provider,
            hold,
            rung: self.rung,
            interval: None,
            learned: None,
            failures: 0,
            last_success: self.ok.map(wall),
            counts: Vec::new(),
            revision: 0,
        }
    }

    /// Its request is refused at `at`: a hold begins, and the ladder is climbed by a probe only.
    pub(crate) fn refused(&mut self, id: u64, at: i64, probe: bool) {
        self.known.insert(id, (at + HOLD, false));
        let rung = self.rung.unwrap_or(0);
        self.rung = Some(if probe { rung + 1 } else { rung.max(1) });
        let hold = hold(id, at, &self.known);
        self.unsaid.push(self.word(hold));
    }

    /// Its request is answered well at `at`. Whoever was lent a probe tells of it, even where it
    /// has not heard of the episode: else the store would wait for that answer for ever.
    pub(crate) fn answered(&mut self, sent: &Sent, at: i64) {
        self.ok = Some(at);
        if (self.rung.is_some() || sent.probe.is_some()) && !self.held(sent.at) {
            self.rung = None;
            self.unsaid.push(self.word(None));
        }
    }

    /// A person lifts all it knows of.
    pub(crate) fn lifts(&mut self, now: i64) {
        let open = |(until, lifted): &(i64, bool)| !lifted && *until > now;
        let ids: Vec<u64> = self
            .known
            .iter()
            .filter(|(_, h)| open(h))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(h) = self.known.get_mut(&id) {
                h.1 = true;
            }
            let since = self.known[&id].0 - HOLD;
            let lifted = hold(id, since, &self.known);
            self.unsaid.push(self.word(lifted));
        }
    }
}

fn hold(id: u64, since: i64, known: &Known) -> Option<StoredHold> {
    let (until, lifted) = known.get(&id)?;
    Some(StoredHold {
        id: HoldId(id),
        cause: Verdict::RateLimited,
        until: wall(*until),
        ask: None,
        since: wall(since),
        probes: true,
        lifted: *lifted,
    })
}
