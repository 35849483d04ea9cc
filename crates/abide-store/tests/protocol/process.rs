//! The least a process does that shares a store.

use std::collections::BTreeMap;

use abide_store::StoredGate;
use abide_store::lend::{Answer, Ask, Lent};

/// A hold as a process knows it: its end in milliseconds, and whether it was lifted.
pub(crate) type Known = BTreeMap<u64, (i64, bool)>;

#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// Its name in the store; another one after it was killed and began anew.
    pub(crate) who: u64,
    /// Whether it can reach the store.
    pub(crate) reach: bool,
    pub(crate) known: Known,
    pub(crate) rung: Option<u32>,
    pub(crate) ok: Option<i64>,
    /// An answer of the store that is on its way to it.
    pub(crate) coming: Option<(Ask, Answer)>,
    /// What it was lent.
    pub(crate) leave: Option<Leave>,
    /// Its request that has no answer yet.
    pub(crate) wire: Option<Sent>,
    /// What it has not told yet, in order.
    pub(crate) unsaid: Vec<StoredGate>,
    /// What was published, and has not come yet.
    pub(crate) inbox: Vec<Vec<StoredGate>>,
    /// What it gives back, on its way to the store.
    pub(crate) back: Vec<(Ask, Lent)>,
}

/// Leave to send, in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Leave {
    pub(crate) ask: Ask,
    pub(crate) lent: Lent,
    pub(crate) at: i64,
    /// How many requests it is still good for.
    pub(crate) left: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: i64,
    /// When its probe was lent, where it is one.
    pub(crate) probe: Option<i64>,
}

impl Process {
    pub(crate) fn new(who: u64) -> Self {
        Self {
            who,
            reach: true,
            known: Known::new(),
            rung: None,
            ok: None,
            coming: None,
            leave: None,
            wire: None,
            unsaid: Vec::new(),
            inbox: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Whether it knows of a hold at `now`.
    pub(crate) fn held(&self, now: i64) -> bool {
        self.known
            .values()
            .any(|(until, lifted)| !lifted && *until > now)
    }

    /// Whether it is idle enough to ask.
    pub(crate) const fn asks(&self) -> bool {
        self.coming.is_none() && self.leave.is_none() && self.wire.is_none()
    }

    /// When its probe was lent, wherever that is now.
    pub(crate) fn probe(&self) -> Option<i64> {
        let lent = |lent: &Lent| lent.grants[0].probe.then_some(lent.at / 1000);
        let coming = match &self.coming {
            Some((_, Answer::Lent(l))) => lent(l),
            _ => None,
        };
        let leave = self.leave.as_ref().filter(|l| l.left > 0);
        coming
            .or_else(|| leave.and_then(|l| lent(&l.lent)))
            .or_else(|| self.wire.as_ref().and_then(|w| w.probe))
    }
}
