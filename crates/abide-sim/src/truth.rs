//! The ground truth: what a provider saw, as opposed to what a client says it did.

use std::collections::HashMap;
use std::time::Duration;

use abide_core::Instant;

use crate::reply::{Fate, Reply};
use crate::request::Request;

/// What became of one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemTruth {
    /// Requests for it that were accepted.
    pub accepted: u64,
    /// Requests for it that were refused.
    pub refused: u64,
    /// Requests for it that failed.
    pub failed: u64,
    /// How often a write for it took effect, seen or unseen by the client.
    pub effects: u64,
}

/// The ledger of one provider.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Truth {
    /// Requests that arrived.
    pub requests: u64,
    /// Those let in and answered in full.
    pub accepted: u64,
    /// Those turned away by a limit.
    pub refused: u64,
    /// Those that an outage or a broken answer swallowed.
    pub failed: u64,
    /// Requests started although their client had received an answer asking it to stay away.
    pub sent_inside_hold: u64,
    /// How often the provider lost its patience and banned.
    pub bans: u64,
    /// The most requests of one gate within 100 ms after a hold's end.
    pub peak_burst_after_hold: u64,
    /// Writes that took effect.
    pub effects: u64,
    /// The first request: its start in virtual time, its arrival over a socket.
    pub first: Option<Instant>,
    /// The last answer: its receipt in virtual time, its departure over a socket.
    pub last: Option<Instant>,
    items: HashMap<Box<str>, ItemTruth>,
}

impl Truth {
    /// What became of an item; all zero when no request for it ever arrived.
    pub fn item(&self, id: &str) -> ItemTruth {
        self.items.get(id).copied().unwrap_or_default()
    }

    /// All items that any request was for, in no order.
    pub fn items(&self) -> impl Iterator<Item = (&str, ItemTruth)> {
        self.items.iter().map(|(id, truth)| (&**id, *truth))
    }

    /// Of the items a client reports as done, those that were never accepted.
    pub fn never_accepted<'a>(&self, done: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        done.into_iter()
            .filter(|id| self.item(id).accepted == 0)
            .collect()
    }

    /// Items whose write took effect more than once.
    pub fn written_twice(&self) -> Vec<&str> {
        self.items()
            .filter(|(_, truth)| truth.effects > 1)
            .map(|(id, _)| id)
            .collect()
    }

    /// From the first request to the last answer.
    pub fn elapsed(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }

    pub(crate) fn begun(&mut self, at: Instant) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    pub(crate) fn ended(&mut self, at: Instant) {
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }

    pub(crate) fn record(&mut self, request: Request, reply: &Reply) {
        self.requests += 1;
        let effect = u64::from(reply.acted && !request.method.is_safe());
        let one = match reply.fate {
            Fate::Accepted => ItemTruth {
                accepted: 1,
                effects: effect,
                ..ItemTruth::default()
            },
            Fate::Failed => ItemTruth {
                failed: 1,
                effects: effect,
                ..ItemTruth::default()
            },
            Fate::Refused => ItemTruth {
                refused: 1,
                effects: effect,
                ..ItemTruth::default()
            },
        };
        self.accepted += one.accepted;
        self.refused += one.refused;
        self.failed += one.failed;
        self.effects += one.effects;
        self.bans += u64::from(reply.ban);
        if let Some(id) = request.item {
            let item = self.items.entry(id).or_default();
            item.accepted += one.accepted;
            item.refused += one.refused;
            item.failed += one.failed;
            item.effects += one.effects;
        }
    }
}
