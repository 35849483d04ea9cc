//! One provider at run time: its machine behind one lock, its waiters, its one timer.
//!
//! Every call on the machine goes through [`Shard::with`]: lock, call, drain the actions, unlock,
//! carry them out. Nothing awaits under the lock and no two locks are held together. `deeds`
//! carries out, `timer` wakes, `memory` has what the store knows.

mod deeds;
mod memory;
mod timer;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_core::call::Safety;
use abide_core::gate::{GateKey, GateSpec};
use abide_core::hold::Hold;
use abide_core::outage::Witness;
use abide_core::provider::{GateView, Pass, Provider, Ticket};
use abide_core::refusal::Refusal;
use abide_core::{Instant, Scope, Skew};
use abide_profile::Profile;
use abide_store::StoredGate;
use arc_swap::ArcSwap;
use http::Method;
use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, oneshot};

use self::deeds::Deeds;
pub(crate) use self::timer::NAP;
use crate::judging::{Calls, Classify, Judging};
use crate::names::{Credential, GateName};
use crate::shared::Shared;
use crate::target::{Target, TargetGate};
use crate::turn::Turn;

/// What a waiter is told.
pub(crate) type Grant = Result<Pass, Box<Refusal>>;

/// A shared handle to one provider.
pub type Handle = Arc<Shard>;

/// One provider at run time.
#[derive(Debug)]
pub struct Shard {
    name: Arc<str>,
    shared: Arc<Shared>,
    /// What its answers bear witness of: that this host could be reached.
    witness: Witness,
    judging: ArcSwap<Judging>,
    profile: Arc<Profile>,
    /// On this machine: an outage of our network is none of its.
    local: AtomicBool,
    turn: Turn,
    state: Mutex<State>,
    /// Apart from the machine: answers are read outside its lock.
    skew: Mutex<Skew>,
    timer: Notify,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) machine: Provider,
    waiters: HashMap<Ticket, oneshot::Sender<Grant>>,
    pub(crate) names: HashMap<GateKey, GateName>,
    /// What the store knew of gates that are not met yet, by their names there.
    pub(crate) stored: HashMap<[u8; 16], StoredGate>,
    /// When the machine was called last.
    now: Instant,
    timer_at: Instant,
    timing: bool,
    runtime: Option<Runtime>,
}

impl Shard {
    pub(crate) fn new(
        name: &str,
        shared: Arc<Shared>,
        machine: Provider,
        judging: Judging,
        profile: Arc<Profile>,
    ) -> Handle {
        Arc::new(Self {
            local: AtomicBool::new(machine.policy().local),
            turn: Turn::default(),
            name: name.into(),
            witness: Witness::of(name),
            shared,
            judging: ArcSwap::from_pointee(judging),
            profile,
            state: Mutex::new(State {
                machine,
                waiters: HashMap::new(),
                names: HashMap::new(),
                stored: HashMap::new(),
                now: Instant::ORIGIN,
                timer_at: Instant::FAR,
                timing: false,
                runtime: None,
            }),
            skew: Mutex::new(Skew::new()),
            timer: Notify::new(),
        })
    }

    /// The provider's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What its answers bear witness of.
    pub(crate) const fn witness(&self) -> Witness {
        self.witness
    }

    /// How its answers are read.
    pub(crate) fn classify(&self) -> Classify {
        Classify(self.judging.load())
    }

    /// Answers are read so from now on.
    pub(crate) fn judge_by(&self, judging: Judging) {
        self.judging.store(Arc::new(judging));
    }

    /// The knobs of its calls that bring none of their own.
    pub(crate) fn call(&self) -> Calls {
        Calls(self.judging.load())
    }

    /// Whether requests to a path keep to the pace of their gates.
    pub(crate) fn paces(&self, path: &str) -> bool {
        !self.judging.load().unpaced.matches(path)
    }

    /// Whether a request may be repeated: by its method, unless the profile knows that it only
    /// reads.
    pub(crate) fn safety(&self, method: &Method, path: &str, body: Option<&[u8]>) -> Safety {
        let by_method = Safety::of(method);
        if by_method == Safety::Read {
            return by_method;
        }
        match self.profile.only_reads(method, path, body) {
            true => Safety::Read,
            false => by_method,
        }
    }

    /// What is known of it.
    pub const fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        self.local.load(Ordering::Relaxed)
    }

    /// It turns out to be on this machine.
    pub(crate) fn be_local(self: &Arc<Self>) {
        if !self.is_local() {
            self.change(|policy| policy.local = true);
        }
    }

    /// Whether it is on this machine is what its policy says from now on; returns whether that
    /// changed.
    pub(crate) fn is_local_from_now(&self, local: bool) -> bool {
        self.local.swap(local, Ordering::Relaxed) != local
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The gates as they stand.
    pub fn view(&self) -> Vec<GateView> {
        let now = self.shared.clock.now();
        self.state.lock().machine.view(now)
    }

    /// Reads an answer against what is known of the provider's clock.
    pub(crate) fn skewed<R>(&self, f: impl FnOnce(&mut Skew) -> R) -> R {
        f(&mut self.skew.lock())
    }

    /// The hold that closes a target longest, if any is in force.
    pub fn held(self: &Arc<Self>, target: &Target) -> Option<Hold> {
        self.with(|s, now| {
            let set = self.gates(s, now, target);
            s.machine.held(now, &set)
        })
    }

    /// The hold that closes a target longest, and until when it is closed at all (an open breaker
    /// closes too).
    pub(crate) fn closing(self: &Arc<Self>, target: &Target) -> (Option<Hold>, Option<Instant>) {
        self.with(|s, now| {
            let set = self.gates(s, now, target);
            (s.machine.held(now, &set), s.machine.closed_until(now, &set))
        })
    }

    /// Whether nobody would miss this provider.
    pub(crate) fn is_idle(&self) -> bool {
        let now = self.shared.clock.now();
        let state = self.state.lock();
        state.waiters.is_empty() && state.machine.is_idle(now)
    }

    /// Whether nobody waits, is on the wire or is held here, though something may be known of it.
    pub(crate) fn is_spent(&self) -> bool {
        let now = self.shared.clock.now();
        let state = self.state.lock();
        state.waiters.is_empty() && state.machine.is_spent(now)
    }

    pub(crate) const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// The keys of the gates a target passes.
    pub(crate) fn keys(&self, target: &Target) -> Vec<GateKey> {
        target
            .gates
            .iter()
            .map(|g| self.spec(target, g).key)
            .collect()
    }

    pub(crate) fn spec(&self, target: &Target, gate: &TargetGate) -> GateSpec {
        let mut spec = match target.provider == self.name {
            true => GateSpec::new(gate.key, gate.scope),
            // A caller may ask for another provider's gates by the names of this one.
            false => {
                let names = &self.shared.names;
                names.spec(gate.scope, &self.name, gate.part.bytes())
            }
        };
        spec.class = gate.class;
        spec.provisional = gate.family.is_some();
        spec.family = gate.family.unwrap_or_default();
        spec.weight = gate.cost;
        spec
    }

    /// The gate that every request to it passes.
    pub(crate) fn own(&self) -> GateKey {
        let part = Credential::default();
        let names = &self.shared.names;
        names.spec(Scope::Provider, &self.name, part.bytes()).key
    }

    /// Waits for a ticket: the receiver gets the grant or the refusal.
    pub(crate) fn wait_for(s: &mut State, ticket: Ticket) -> oneshot::Receiver<Grant> {
        let (tx, rx) = oneshot::channel();
        // The latest runtime: an earlier one may be gone.
        if let Ok(runtime) = Runtime::try_current() {
            s.runtime = Some(runtime);
        }
        s.waiters.insert(ticket, tx);
        rx
    }

    pub(crate) fn abandon(self: &Arc<Self>, ticket: Ticket) {
        self.with(|s, now| {
            s.waiters.remove(&ticket);
            s.machine.cancel(now, ticket);
        });
    }

    /// Calls the machine, and carries out what it wants done.
    #[inline]
    pub(crate) fn with<R>(self: &Arc<Self>, f: impl FnOnce(&mut State, Instant) -> R) -> R {
        self.with_at(None, f)
    }

    /// The same, where the time was read a moment ago. It is the machine's time that goes on: what
    /// another call read since then counts.
    #[inline]
    pub(crate) fn with_at<R>(
        self: &Arc<Self>,
        at: Option<Instant>,
        f: impl FnOnce(&mut State, Instant) -> R,
    ) -> R {
        let mut state = self.state.lock();
        let now = match at {
            Some(at) => at.max(state.now),
            None => self.shared.clock.now(),
        };
        state.now = now;
        let result = f(&mut state, now);
        let mut deeds = None;
        while let Some(action) = state.machine.poll() {
            self.note(&mut state, deeds.get_or_insert_with(Deeds::default), action);
        }
        let next = state.machine.next_wake().unwrap_or(Instant::FAR);
        if next < state.timer_at {
            let deeds = deeds.get_or_insert_with(Deeds::default);
            state.timer_at = next;
            if state.timing {
                deeds.wake_timer = true;
            } else if let Some(runtime) = state.runtime.clone() {
                state.timing = true;
                deeds.start_timer = Some(runtime);
            }
        }
        drop(state);
        if let Some(deeds) = deeds {
            self.carry_out(deeds);
        }
        result
    }
}
