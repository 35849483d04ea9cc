//! A naive model of the provider machine.
//!
//! Everything is a plain list and everything is added up anew whenever it is asked for. It shares
//! words and small public machines with the core (breaker, ladder, controller), and none of its
//! queues, indices or windows.
#![allow(dead_code, reason = "each test binary uses its own part")]

mod admit;
mod close;
pub(crate) mod gate;
mod learn;
pub(crate) mod ranks;
pub(crate) mod script;
mod serve;
pub(crate) mod settle;
pub(crate) mod window;

use abide_core::breaker::ProbeLease;
use abide_core::policy::ProviderPolicy;
use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::{Scope, Verdict};

use gate::{NaiveGate, Wait};
use ranks::{NaiveRank, NaiveRanks};

/// What a caller is told, without what only a caller knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    pub(crate) kind: String,
    pub(crate) retry_at: Option<u64>,
    pub(crate) scope: Scope,
    pub(crate) cause: String,
    pub(crate) by: String,
}

impl Told {
    fn new(kind: RefusalKind, by: DecidedBy, scope: Scope) -> Self {
        Self {
            kind: format!("{kind:?}"),
            retry_at: None,
            scope,
            cause: "None".to_owned(),
            by: format!("{by:?}"),
        }
    }
}

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Parked,
    Waiting { gate: usize, since: u64 },
    Granted,
    Started,
    Over,
}

/// One call, kept for ever.
#[derive(Clone, Debug)]
pub(crate) struct NaiveCall {
    pub(crate) place: Place,
    pub(crate) set: Vec<usize>,
    pub(crate) cost: u64,
    pub(crate) paced: bool,
    pub(crate) urgency: u8,
    pub(crate) fair: u64,
    pub(crate) not_before: u64,
    pub(crate) expires: u64,
    pub(crate) limit: u64,
    pub(crate) rank: NaiveRank,
    /// When it was parked, in the order of arrivals.
    pub(crate) parked: u64,
    pub(crate) grant: u64,
    /// The gates it was charged at (as they were called then), with the number out.
    pub(crate) paid: Vec<(usize, u32)>,
    pub(crate) charged: u64,
    pub(crate) sent: u64,
    pub(crate) order: u64,
    pub(crate) probes: Vec<usize>,
    pub(crate) trials: Vec<(usize, ProbeLease)>,
    pub(crate) lent: Vec<(usize, u64)>,
    pub(crate) worst: Option<Verdict>,
}

/// What the model says it did, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Out {
    Grant(usize),
    Refuse(usize, Told),
    Acquire(usize),
}

/// The answer to an admission.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Go,
    Waiting,
    Refuse(Told),
}

/// Round trips, and how many there were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trips {
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) seen: u64,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) set: Vec<usize>,
    pub(crate) cost: u64,
    pub(crate) paced: bool,
    pub(crate) urgency: u8,
    pub(crate) fair: u64,
    pub(crate) not_before: u64,
    pub(crate) expires: u64,
    pub(crate) hold_limit: u64,
}

/// The model.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) policy: ProviderPolicy,
    pub(crate) gates: Vec<NaiveGate>,
    pub(crate) calls: Vec<NaiveCall>,
    pub(crate) out: Vec<Out>,
    pub(crate) ranks: NaiveRanks,
    pub(crate) buckets: Vec<(u64, usize)>,
    pub(crate) order: u64,
    pub(crate) grants: u64,
    /// The shortest round trip seen and the longest, as far as they are remembered.
    pub(crate) trip: Trips,
    pub(crate) lifted: Vec<(u64, u64)>,
}

/// What a request costs, and whether it leaves something to those more urgent.
pub(crate) type Price = (u64, bool);

/// Bulk does, until its turn has come.
pub(crate) fn price(cost: u64, rank: NaiveRank) -> Price {
    (cost, rank.urgency >= 6 && rank.in_line)
}

impl NaiveCall {
    pub(crate) fn price(&self) -> Price {
        price(self.cost, self.rank)
    }
}

impl Model {
    pub(crate) fn gate(&self, mut g: usize) -> usize {
        while let Some(next) = self.gates[g].alias {
            g = next;
        }
        g
    }

    /// Requests on the wire through `g`.
    pub(crate) fn out_at(&self, g: usize) -> u32 {
        let on_wire = |c: &&NaiveCall| matches!(c.place, Place::Granted | Place::Started);
        let calls = self.calls.iter().filter(on_wire);
        let paid = calls.flat_map(|c| c.paid.iter().map(|(p, _)| self.gate(*p)));
        paid.filter(|p| *p == g).count() as u32
    }

    pub(crate) fn wait(&self, now: u64, g: usize, price: Price, paced: bool) -> Wait {
        self.gates[g].wait(now, price, self.out_at(g), paced)
    }

    pub(crate) fn waits(&self, c: &NaiveCall) -> Option<usize> {
        match c.place {
            Place::Waiting { gate, .. } => Some(self.gate(gate)),
            _ => None,
        }
    }

    pub(crate) fn line(&self, g: usize) -> Vec<usize> {
        let mut line: Vec<usize> = (0..self.calls.len())
            .filter(|i| self.waits(&self.calls[*i]) == Some(g))
            .collect();
        line.sort_by_key(|i| self.calls[*i].rank);
        line
    }

    pub(crate) fn is_behind(&self, g: usize, rank: NaiveRank) -> bool {
        self.line(g).iter().any(|i| self.calls[*i].rank < rank)
    }

    pub(crate) fn waiting(&self) -> usize {
        let waits = |c: &&NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        self.calls.iter().filter(waits).count()
    }

    /// The first gate of a set that keeps a call of this rank.
    pub(crate) fn kept_at(
        &self,
        now: u64,
        set: &[usize],
        cost: u64,
        rank: NaiveRank,
        from: Option<usize>,
    ) -> Option<usize> {
        set.iter().map(|g| self.gate(*g)).find(|g| {
            Some(*g) != from
                && (self.is_behind(*g, rank)
                    || self.wait(now, *g, price(cost, rank), rank.paced) != Wait::Nothing)
        })
    }

    /// The next instant at which anything can happen by itself.
    pub(crate) fn next_wake(&self, now: u64) -> Option<u64> {
        let heads = (0..self.gates.len()).filter_map(|g| {
            let head = *self.line(g).first()?;
            let head = &self.calls[head];
            let (price, paced) = (head.price(), head.paced);
            self.gates[g].opens(now, price, self.out_at(g), paced)
        });
        let calls = self.calls.iter().flat_map(|c| match c.place {
            Place::Parked => vec![c.not_before, c.expires],
            Place::Waiting { .. } => vec![c.expires],
            _ => Vec::new(),
        });
        heads.chain(calls).filter(|t| *t != u64::MAX).min()
    }

    /// When a call may expect its turn at `g`.
    pub(crate) fn expected(&self, now: u64, g: usize, call: &NaiveCall) -> Option<u64> {
        let base = match self.wait(now, g, call.price(), call.paced) {
            Wait::Nothing => now,
            Wait::Until(t) => t,
            _ => return None,
        };
        if !call.paced || !call.rank.in_line {
            return Some(base);
        }
        let others = self.line(g).into_iter().map(|i| &self.calls[i]);
        let others = others.filter(|o| o.rank != call.rank && o.paced);
        let (mut above, mut same) = (0, 0);
        for o in others {
            above += if o.urgency < call.urgency { o.cost } else { 0 };
            same += if o.urgency == call.urgency { o.cost } else { 0 };
        }
        let waits = |c: &&NaiveCall| matches!(c.place, Place::Parked | Place::Waiting { .. });
        let mut keys: Vec<u64> = self
            .calls
            .iter()
            .filter(waits)
            .filter(|c| c.urgency == call.urgency)
            .map(|c| c.fair)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let fair = keys.len() as u64 * self.ranks.backlog(call.rank);
        let same = same.min(fair);
        // Nine units go before each unit of a less urgent request.
        let above = above.min(9 * (same + call.cost).max(1));
        Some(base + self.gates[g].time_for(above + same))
    }

    pub(crate) fn turned_away(&self, now: u64, g: usize) -> Told {
        let gate = &self.gates[g];
        let until = gate.closed_until(now);
        match gate.held(now) {
            Some(h) if Some(h.until) == until => {
                let mut told = Told::new(RefusalKind::Held, DecidedBy::Provider, gate.scope);
                told.cause = format!("{:?}", Some(h.cause));
                told.retry_at = Some(h.retry_at().as_nanos());
                told
            }
            _ => {
                let mut told = Told::new(RefusalKind::BreakerOpen, DecidedBy::Breaker, gate.scope);
                told.cause = format!("{:?}", Some(Verdict::Unavailable));
                told.retry_at = until;
                told
            }
        }
    }

    pub(crate) fn too_long(&self, g: usize, at: Option<u64>) -> Told {
        let mut told = Told::new(
            RefusalKind::QueueTooLong,
            DecidedBy::Queue,
            self.gates[g].scope,
        );
        told.retry_at = at;
        told
    }
}
