//! What the machine wants done, as data.

use std::time::Duration;

use crate::control::{Learned, Limit};
use crate::gate::GateKey;
use crate::hold::{Hold, HoldId, SetBy};
use crate::lease::LeaseId;
use crate::outage::OutageNews;
use crate::refusal::Refusal;
use crate::time::Instant;
use crate::verdict::{Scope, Verdict};

/// Names a waiting call (and, once it is let through, its pass).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Leave to send one attempt. It is given back exactly once: by settling it, or by a start that
/// sends it back to its place.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a pass that is not settled keeps its place on the wire for ever"]
pub struct Pass {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Pass {
    /// The ticket under which this pass can be cancelled before it starts.
    pub const fn ticket(&self) -> Ticket {
        Ticket {
            slot: self.slot,
            generation: self.generation,
        }
    }
}

/// The answer to an admission.
#[derive(Debug)]
#[must_use]
pub enum Admit {
    /// Send now.
    Go(Pass),
    /// Wait for a [`Action::Grant`] or a [`Action::Refuse`] of this ticket.
    Waiting(Ticket),
    /// Turned away, unsent.
    Refuse(Box<Refusal>),
}

/// The answer to a start.
#[derive(Debug)]
#[must_use]
pub enum Start {
    /// The send is stamped: put it on the wire.
    Go(Pass),
    /// A gate was held meanwhile: back in line at the old place, unsent.
    Back(Ticket),
}

/// What is remembered of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRecord {
    /// The gate.
    pub key: GateKey,
    /// What it stands for.
    pub scope: Scope,
    /// The hold in force, if any.
    pub hold: Option<Hold>,
    /// The rung its ladder stands on; `None` outside an episode.
    pub rung: Option<u32>,
    /// The adaptive interval learned.
    pub interval: Option<Duration>,
    /// The limit learned.
    pub learned: Option<Learned>,
    /// Failures since the last success.
    pub failures: u32,
    /// When an answer last proved the provider well.
    pub last_success: Option<Instant>,
    /// Counts of long fixed windows: which window, units used, when it ends.
    pub counts: Vec<(u8, u64, Instant)>,
}

/// Something to tell a person or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The breaker opened.
    BreakerOpened {
        /// The gate it guards.
        key: GateKey,
        /// Open until then.
        until: Instant,
    },
    /// An answer to a request sent after the hold: the episode is over.
    EpisodeEnded {
        /// The gate.
        key: GateKey,
    },
    /// A failure that closed a gate, or was met where one was closed; of several on the wire
    /// together the first.
    Failed {
        /// The gate.
        key: GateKey,
        /// What it stands for.
        scope: Scope,
        /// Failures in a row, this one included.
        failures: u32,
        /// Until when it is held.
        until: Option<Instant>,
    },
    /// A gate was closed.
    HoldOpened {
        /// The gate.
        key: GateKey,
        /// What it stands for.
        scope: Scope,
        /// The closing.
        hold: Hold,
    },
    /// A hold got longer.
    HoldLengthened {
        /// The gate.
        key: GateKey,
        /// What it stands for.
        scope: Scope,
        /// The closing.
        hold: Hold,
    },
    /// A person lifted a hold.
    HoldLifted {
        /// The gate.
        key: GateKey,
        /// The hold.
        id: HoldId,
    },
    /// What was thought to be the limit of a gate is not, and no other is known.
    LimitForgotten {
        /// The gate.
        key: GateKey,
        /// What it stands for.
        scope: Scope,
        /// What was thought to be the limit.
        was: Limit,
    },
    /// The limit of a gate was found, or turned out to be another.
    LimitLearned {
        /// The gate.
        key: GateKey,
        /// What it stands for.
        scope: Scope,
        /// The limit.
        learned: Learned,
        /// What was thought before.
        was: Option<Limit>,
    },
    /// In [`Mode::Shadow`](crate::policy::Mode::Shadow): a request went at once that would have
    /// waited.
    LetBy {
        /// The gate at which it would have waited longest.
        key: GateKey,
        /// Until when, where that is known.
        until: Option<Instant>,
    },
    /// Our own network is down: nothing but probes is sent.
    WentOffline {
        /// The first probe goes then.
        until: Instant,
    },
    /// Our own network is back.
    CameOnline,
    /// A probe was let out.
    ProbeSent {
        /// The gate.
        key: GateKey,
    },
}

/// What the machine wants done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Ask the shared store for permits. Several gates of one request are asked for under one id, one
    /// after the other: all of them or none.
    Acquire {
        /// The gate.
        key: GateKey,
        /// At least this many; 0 where nobody waits yet.
        cost: u32,
        /// So many more would be of use soon.
        ahead: u32,
        /// To be named in the answer.
        id: LeaseId,
    },
    /// Tell the other processes that share the store of a hold.
    Announce {
        /// The gate.
        key: GateKey,
        /// Its hold; `None` when it was lifted.
        hold: Option<Hold>,
        /// Older revisions are to be ignored.
        revision: u64,
    },
    /// Tell people.
    Emit(Event),
    /// This ticket may send.
    Grant(Ticket, Pass),
    /// Write what is to be remembered of a gate.
    Persist {
        /// The state.
        record: Box<GateRecord>,
        /// Older revisions are to be ignored.
        revision: u64,
    },
    /// This ticket is turned away, unsent.
    Refuse(Ticket, Box<Refusal>),
}

/// News from outside the machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum News {
    /// A hold placed or seen elsewhere: by another process, or by a person.
    Held {
        /// Its name; `None` to have one made (a person placed it here).
        id: Option<HoldId>,
        /// Closed until then.
        until: Instant,
        /// Why.
        cause: Verdict,
        /// What the provider asked for.
        ask: Option<crate::finding::Ask>,
        /// Who says so.
        set_by: SetBy,
        /// Whether a probe goes first when it ends.
        probes: bool,
    },
    /// The shared store lent permits.
    Leased {
        /// The request answered.
        id: LeaseId,
        /// How many may be spent.
        permits: u32,
        /// Until when.
        until: Instant,
        /// An episode is under way, and the probe is this process's to let out by then.
        probes: Option<Instant>,
    },
    /// The shared store refused permits or took them back.
    LeaseLost {
        /// The request or lease.
        id: LeaseId,
        /// There is no point in asking before.
        not_before: Instant,
    },
    /// How another process that shares the store found a gate.
    Health {
        /// The rung of an episode under way there.
        rung: Option<u32>,
        /// Failures since the last success.
        failures: u32,
        /// When an answer last proved the provider well.
        last_success: Option<Instant>,
    },
    /// How our own network is; holds for all gates, whichever is named.
    Outage(OutageNews),
    /// A person lifted this hold (`None`: whatever hold is in force).
    Lifted {
        /// The hold.
        id: Option<HoldId>,
    },
    /// What was remembered before a restart.
    Restored {
        /// The rung of an episode that was under way.
        rung: Option<u32>,
        /// The interval learned.
        interval: Option<Duration>,
        /// The limit learned.
        learned: Option<Learned>,
        /// Failures since the last success.
        failures: u32,
        /// When an answer last proved the provider well.
        last_success: Option<Instant>,
        /// Counts of long fixed windows.
        counts: Vec<(u8, u64, Instant)>,
    },
}
