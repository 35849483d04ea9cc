//! One provider at run time: its machine behind one lock, its waiters, its one timer.
//!
//! Every call on the machine goes through [`Shard::with`]: lock, call, drain the actions, unlock,
//! carry them out. Nothing awaits under the lock and no two locks are held together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_core::call::{CallPolicy, Safety};
use abide_core::classify::ClassifyPolicy;
use abide_core::gate::{GateKey, GateSet, GateSpec, MAX_GATES};
use abide_core::hold::Hold;
use abide_core::outage::Witness;
use abide_core::provider::{Action, Event, GateView, News, Pass, Provider, Ticket};
use abide_core::refusal::Refusal;
use abide_core::{Instant, Scope, Skew};
use abide_profile::{Paths, Profile};
use abide_store::{StoreKey, StoredGate};
use http::Method;
use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, oneshot};

use crate::names::{Credential, GateName};
use crate::persist;
use crate::shared::Shared;
use crate::target::{Target, TargetGate};
use crate::turn::Turn;

/// What a waiter is told.
pub(crate) type Grant = Result<Pass, Box<Refusal>>;

/// A timer sleeps no longer than this at once: it counts time awake only, and must look again
/// after the machine was suspended.
pub(crate) const NAP: Duration = Duration::from_secs(10);

/// A shared handle to one provider.
pub type Handle = Arc<Shard>;

/// One provider at run time.
#[derive(Debug)]
pub struct Shard {
    name: Arc<str>,
    shared: Arc<Shared>,
    /// What its answers bear witness of: that this host could be reached.
    witness: Witness,
    classify: ClassifyPolicy,
    call: Option<CallPolicy>,
    unpaced: Paths,
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

/// What is to be carried out after the lock is released.
#[derive(Default)]
struct Deeds {
    grants: Vec<(oneshot::Sender<Grant>, Grant)>,
    puts: Vec<StoredGate>,
    events: Vec<Event>,
    wake_timer: bool,
    start_timer: Option<Runtime>,
}

impl Shard {
    pub(crate) fn new(
        name: &str,
        shared: Arc<Shared>,
        machine: Provider,
        (classify, call, unpaced): (ClassifyPolicy, Option<CallPolicy>, Paths),
        profile: Arc<Profile>,
    ) -> Handle {
        Arc::new(Self {
            local: AtomicBool::new(machine.policy().local),
            turn: Turn::default(),
            name: name.into(),
            witness: Witness::of(name),
            shared,
            classify,
            call,
            unpaced,
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
    pub(crate) const fn classify(&self) -> &ClassifyPolicy {
        &self.classify
    }

    /// The knobs of its calls that bring none of their own.
    pub(crate) const fn call(&self) -> Option<&CallPolicy> {
        self.call.as_ref()
    }

    /// Whether requests to a path keep to the pace of their gates.
    pub(crate) fn paces(&self, path: &str) -> bool {
        !self.unpaced.matches(path)
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

    /// What the store knew of gates that were never met.
    pub(crate) fn unmet(&self) -> Vec<StoredGate> {
        let stored = std::mem::take(&mut self.state.lock().stored);
        stored.into_values().collect()
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

    /// Resolves the gates of a target, restoring what the store remembers of new ones.
    pub(crate) fn gates(&self, s: &mut State, now: Instant, target: &Target) -> GateSet {
        let own = Arc::ptr_eq(&target.provider, &self.name) || target.provider == self.name;
        let gates = target.gates.iter().map(|g| (g.key, g.scope, g.cost));
        let (set, known) = s.machine.known_gates(gates);
        match known && own {
            true => set,
            false => self.new_gates(s, now, target),
        }
    }

    #[cold]
    fn new_gates(&self, s: &mut State, now: Instant, target: &Target) -> GateSet {
        let mut specs = [None; MAX_GATES];
        for (slot, gate) in specs.iter_mut().zip(&target.gates) {
            let spec = self.spec(target, gate);
            if !s.machine.knows(spec.key) {
                let stored = self.remember(s, spec, gate.part);
                self.restore(s, now, spec, &stored);
            }
            *slot = Some(spec);
        }
        s.machine.gates(now, specs.iter().flatten())
    }

    /// The gate that every request to it passes.
    pub(crate) fn own(&self) -> GateKey {
        let part = Credential::default();
        let names = &self.shared.names;
        names.spec(Scope::Provider, &self.name, part.bytes()).key
    }

    /// Takes in what the store remembers of the provider as a whole, so that its state is known
    /// before anything is sent, and keeps the rest until its gates are met.
    pub(crate) fn recall(self: &Arc<Self>, stored: Vec<StoredGate>) {
        self.with(|s, now| {
            s.stored.extend(stored.into_iter().map(|g| (g.key.gate, g)));
            let part = Credential::default();
            let names = &self.shared.names;
            let spec = names.spec(Scope::Provider, &self.name, part.bytes());
            let stored = self.remember(s, spec, part);
            self.restore(s, now, spec, &stored);
        });
    }

    /// Keeps a gate's name for the store, and drops those of gates that were forgotten.
    fn remember(&self, s: &mut State, spec: GateSpec, part: Credential) -> StoreKey {
        let stored = self
            .shared
            .names
            .stored(spec.scope, &self.name, part.bytes());
        if s.names.len() > 2 * s.machine.remembered() + 64 {
            let machine = &s.machine;
            s.names.retain(|key, _| machine.knows(*key));
        }
        let name = GateName {
            spec,
            stored: stored.clone(),
        };
        s.names.insert(spec.key, name);
        stored
    }

    fn restore(&self, s: &mut State, now: Instant, spec: GateSpec, key: &StoreKey) {
        let Some(stored) = s.stored.remove(&key.gate) else {
            return;
        };
        for news in persist::news(&stored, self.shared.clock.moment(), true) {
            s.machine.learn(now, spec, news);
        }
    }

    /// Takes in what another process wrote.
    pub(crate) fn learn(self: &Arc<Self>, stored: &StoredGate) {
        let moment = self.shared.clock.moment();
        self.with(|s, now| {
            let found = s.names.values().find(|n| n.stored.gate == stored.key.gate);
            let Some(spec) = found.map(|n| n.spec) else {
                s.stored.insert(stored.key.gate, stored.clone());
                return;
            };
            for news in persist::news(stored, moment, false) {
                s.machine.learn(now, spec, news);
            }
        });
    }

    /// Tells news of the whole provider: a hold that a person places or lifts, an outage.
    pub(crate) fn tell(self: &Arc<Self>, news: News) {
        self.with(|s, now| self.learn_all(s, now, news));
    }

    pub(crate) fn learn_all(&self, s: &mut State, now: Instant, news: News) {
        let provider = Credential::default();
        let names = &self.shared.names;
        let spec = names.spec(Scope::Provider, &self.name, provider.bytes());
        if !s.machine.knows(spec.key) {
            self.remember(s, spec, provider);
        }
        s.machine.learn(now, spec, news);
    }

    /// Everything to remember, for the store on the way out.
    pub(crate) fn records(&self) -> Vec<StoredGate> {
        let moment = self.shared.clock.moment();
        let state = self.state.lock();
        let records = state.machine.records(moment.now);
        records
            .iter()
            .filter_map(|r| {
                let n = state.names.get(&r.key)?;
                let key = n.stored.clone();
                Some(persist::record(key, r, u64::MAX, moment))
            })
            .collect()
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

    fn note(&self, state: &mut State, deeds: &mut Deeds, action: Action) {
        match action {
            Action::Grant(ticket, pass) => {
                if let Some(tx) = state.waiters.remove(&ticket) {
                    deeds.grants.push((tx, Ok(pass)));
                }
            }
            Action::Refuse(ticket, refusal) => {
                if let Some(tx) = state.waiters.remove(&ticket) {
                    deeds.grants.push((tx, Err(refusal)));
                }
            }
            Action::Emit(event) => deeds.events.push(event),
            Action::Persist { record, revision } => {
                if let Some(n) = state.names.get(&record.key) {
                    let key = n.stored.clone();
                    let moment = self.shared.clock.moment();
                    deeds
                        .puts
                        .push(persist::record(key, &record, revision, moment));
                }
            }
            // The store makes holds known to the processes that share it; leases need one that
            // lends permits.
            _ => {}
        }
    }

    fn carry_out(self: &Arc<Self>, deeds: Deeds) {
        for put in deeds.puts {
            self.shared.store.put(put);
        }
        for event in deeds.events {
            self.shared.tell(&self.name, event);
        }
        for (tx, grant) in deeds.grants {
            // A waiter that left meanwhile has cancelled its ticket; the pass is stale.
            let _ = tx.send(grant);
        }
        if deeds.wake_timer {
            self.timer.notify_one();
        }
        if let Some(runtime) = deeds.start_timer {
            runtime.spawn(Self::time(Arc::clone(self)));
        }
    }

    /// The one timer of a provider: sleeps until the machine has something to do.
    async fn time(self: Arc<Self>) {
        let mut alive = Alive {
            shard: &self,
            ended: false,
        };
        loop {
            let now = self.shared.clock.now();
            let at = {
                let mut state = self.state.lock();
                match state.machine.next_wake() {
                    Some(at) => {
                        state.timer_at = at;
                        at
                    }
                    None => {
                        state.timer_at = Instant::FAR;
                        state.timing = false;
                        alive.ended = true;
                        return;
                    }
                }
            };
            let nap = at.since(now).min(NAP);
            if !nap.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(nap) => {}
                    () = self.timer.notified() => continue,
                }
            }
            self.with(|s, now| {
                // Due again from scratch: whatever is next may be earlier than what was slept
                // for.
                s.timer_at = Instant::FAR;
                s.machine.wake(now);
                s.timer_at = s.machine.next_wake().unwrap_or(Instant::FAR);
            });
        }
    }
}

/// Notes that a timer died with its runtime, so that the next waiter starts another.
struct Alive<'a> {
    shard: &'a Shard,
    ended: bool,
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let mut state = self.shard.state.lock();
            state.timing = false;
            state.timer_at = Instant::FAR;
        }
    }
}
