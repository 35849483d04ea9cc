//! The state machine of one provider: all its gates, behind one lock of the shell.
//!
//! Everything that happens is a call with `now`; everything it wants done comes out of
//! [`Provider::poll`] as data. One machine serves a library, a gateway, a worker and a
//! simulation.
//!
//! The rules, in short:
//!
//! * A request passes all the gates of its set or none. It waits at the first gate that blocks
//!   it, in rank order, and stays there until that gate no longer blocks it.
//! * At a gate, nobody passes a waiter of a better rank that stands there.
//! * Among all waiters that could move on, the best rank moves first.
//! * A gate closed beyond what a waiter is willing to wait turns it away at once, also when the
//!   closing grows while it waits; being queued past its patience turns it away when that is
//!   known.
//! * Waking early or for nothing is harmless; waking late catches up.

mod action;
mod admit;
mod away;
mod beside;
mod close;
mod entry;
mod learn;
mod merge;
mod offline;
mod pay;
mod recent;
mod serve;
mod settle;
mod table;
mod view;

use std::collections::{BTreeSet, HashMap, VecDeque};

pub use action::{Action, Admit, Event, GateRecord, News, Pass, Start, Ticket};
pub use settle::Outcome;
pub use view::GateView;

use entry::{Entries, Entry};
use offline::{Lost, Offline};

use self::recent::Recent;
use crate::allowance::Allowance;
use crate::budget::Budget;
use crate::finding::BucketId;
use crate::gate::{Gate, GateKey, GateSet, HashedMap, MAX_GATES};
use crate::policy::{GatePolicy, ProviderPolicy};
use crate::queue::{Rank, Ranks, Urgency};
use crate::time::{Instant, Moment};
use crate::trip::Trip;

/// One request, as the machine sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The gates it passes, from [`Provider::gates`].
    pub gates: GateSet,
    /// How many units it costs; 1 for a plain request.
    pub cost: u32,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to: requests of one key share one place. 0 for everybody else.
    pub fair: u64,
    /// Not before this instant (its own backoff).
    pub not_before: Instant,
    /// The end of its patience: later than this it is turned away.
    pub expires: Instant,
    /// The latest end of a closing (hold, open breaker) it is willing to wait for.
    pub hold_limit: Instant,
    /// Whether it keeps to the pace of its gates and is counted there. One that is exempt skips
    /// windows, adaptive intervals and leases, and nobody who waits for those stands before it;
    /// holds, breakers and places on the wire are for all.
    pub paced: bool,
}

impl Request {
    /// A plain request that waits as long as it takes.
    pub const fn new(gates: GateSet) -> Self {
        Self {
            gates,
            cost: 1,
            urgency: Urgency::NORMAL,
            fair: 0,
            not_before: Instant::ORIGIN,
            expires: Instant::FAR,
            hold_limit: Instant::FAR,
            paced: true,
        }
    }
}

/// The gates of one provider and everything that waits at them.
#[derive(Debug)]
pub struct Provider {
    policy: ProviderPolicy,
    gates: Vec<Gate>,
    free_gates: Vec<u32>,
    index: HashedMap<GateKey, u32>,
    buckets: HashMap<(u64, BucketId), u32>,
    overflow: [Option<u32>; 4],
    hand: usize,
    entries: Entries,
    ranks: Ranks,
    /// Gates whose head has an instant.
    due: BTreeSet<(Instant, u32)>,
    /// Waiters in their own backoff, by its end and then by arrival.
    parked: BTreeSet<(Instant, u64, u32)>,
    /// Waiters by the end of their patience.
    expiries: BTreeSet<(Instant, u32)>,
    /// Gates whose head may be able to move, by the head's rank.
    /// Gates whose first waits for a shared store.
    asking: Vec<u32>,
    ready: BTreeSet<(Rank, u32)>,
    waiting: usize,
    actions: VecDeque<Action>,
    /// Orders starts and holds among each other, finer than any clock.
    order: u64,
    ids: u64,
    instance: u64,
    lifted: Vec<(crate::hold::HoldId, Instant)>,
    budget: Budget,
    allowance: Option<Allowance>,
    offline: Option<Offline>,
    /// The revision of the last news of an outage.
    outage: u64,
    lost: Lost,
    /// Some instant with its time on the wall, once somebody told it.
    clock: Option<Moment>,
    trip: Trip,
    recent: Recent,
}

impl Provider {
    /// A provider without state. `instance` is random: it keeps the ids of holds and leases of
    /// different processes apart.
    pub fn new(policy: ProviderPolicy, instance: u64) -> Self {
        let budget = Budget::new(policy.budget.clone());
        let allowance = policy.allowance.map(Allowance::new);
        Self {
            policy,
            gates: Vec::new(),
            free_gates: Vec::new(),
            index: HashedMap::default(),
            buckets: HashMap::new(),
            overflow: [None; 4],
            hand: 0,
            entries: Entries::default(),
            ranks: Ranks::default(),
            due: BTreeSet::new(),
            parked: BTreeSet::new(),
            expiries: BTreeSet::new(),
            asking: Vec::new(),
            ready: BTreeSet::new(),
            waiting: 0,
            actions: VecDeque::new(),
            order: 0,
            ids: 0,
            instance,
            lifted: Vec::new(),
            budget,
            allowance,
            offline: None,
            outage: 0,
            lost: Lost::new(),
            clock: None,
            trip: Trip::default(),
            recent: Recent::default(),
        }
    }

    /// Tells the time on the wall: the windows of many providers begin at round times. Without it
    /// they are learned all the same, a little later.
    pub const fn tell_time(&mut self, at: Moment) {
        self.clock = Some(at);
    }

    /// The policy in force.
    pub const fn policy(&self) -> &ProviderPolicy {
        &self.policy
    }

    /// The bound on re-sends that all calls to this provider share.
    pub const fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Does what is due. Harmless when early or for nothing.
    pub fn wake(&mut self, now: Instant) {
        self.catch_up(now);
        self.serve(now);
    }

    /// When [`wake`](Self::wake) has something to do; `None` while nobody waits.
    pub fn next_wake(&self) -> Option<Instant> {
        let due = self.due.first().map(|(at, _)| *at);
        let parked = self.parked.first().map(|(at, ..)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        let at = [due, parked, expiry].into_iter().flatten().min();
        at.filter(|at| *at != Instant::FAR)
    }

    /// The next thing to be done in the world.
    #[must_use]
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn emit(&mut self, event: Event) {
        self.actions.push_back(Action::Emit(event));
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        crate::dice::mix(self.instance ^ self.ids)
    }

    /// What a request costs at a gate; where two names of its set turned out to be one gate, the
    /// higher cost.
    fn cost_of(&self, e: &Entry, g: u32) -> u32 {
        if e.is_even() {
            return e.cost;
        }
        let places = 0..e.len();
        let here = places.filter(|i| self.canonical(e.set[*i]) == g);
        here.map(|i| e.cost_at(i)).max().unwrap_or(e.cost)
    }

    /// What a request paid at the `i`-th place of its set, where it paid for all names of one
    /// gate: names that became one only afterwards paid each for itself.
    fn paid_at(&self, e: &Entry, i: usize) -> u32 {
        if e.is_even() {
            return e.cost;
        }
        let c = self.canonical(e.set[i]);
        let unpaid = (0..e.len()).filter(|j| !e.paid_at(*j) && self.canonical(e.set[*j]) == c);
        unpaid.map(|j| e.cost_at(j)).fold(e.cost_at(i), u32::max)
    }

    fn policy_of(&self, g: u32) -> &GatePolicy {
        let gate = &self.gates[g as usize];
        self.policy.of(gate.scope, gate.class)
    }

    /// The gate a slot turned out to be.
    #[inline]
    fn canonical(&self, mut g: u32) -> u32 {
        while let Some(next) = self.gates[g as usize].alias.get() {
            g = next;
        }
        g
    }

    #[inline]
    fn resolve_set(&mut self, set: &GateSet) -> ([u32; MAX_GATES], usize) {
        let mut out = [0; MAX_GATES];
        let ids = set.ids();
        for (o, id) in out.iter_mut().zip(ids) {
            let known = self
                .gates
                .get(id.index as usize)
                .is_some_and(|g| g.generation == id.generation);
            *o = if known {
                self.canonical(id.index)
            } else {
                self.overflow_gate(id.scope)
            };
        }
        (out, ids.len())
    }
}
