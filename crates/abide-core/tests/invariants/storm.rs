//! Callers at random, and a witness that keeps its own account of what they were told.

#![allow(dead_code, reason = "each test uses its own part")]

use std::collections::HashMap;
use std::time::Duration;

use abide_core::control::{Adaptive, IntervalPolicy};
use abide_core::gate::{GateKey, GateSpec};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Action, Admit, Event, Outcome, Pass, Provider, Request, Start, Ticket};
use abide_core::queue::Urgency;
use abide_core::refusal::Refusal;
use abide_core::{Ask, AskSource, Finding, Instant, Scope, Verdict};
use fastrand::Rng;

/// Runs `test` for many seeds, or for `ABIDE_SEED` alone; says which one failed.
pub(crate) fn for_seeds(count: u64, test: impl Fn(u64) + std::panic::RefUnwindSafe) {
    if let Some(seed) = std::env::var("ABIDE_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
    {
        return test(seed);
    }
    for seed in 0..count {
        if let Err(panic) = std::panic::catch_unwind(|| test(seed)) {
            println!("replay with ABIDE_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Where a caller is.
#[derive(Debug)]
pub(crate) enum Where {
    Waiting,
    Granted(Pass),
    OnWire(Pass),
    Over,
}

/// One caller.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) ticket: Ticket,
    pub(crate) place: Where,
    pub(crate) gates: Vec<GateSpec>,
    pub(crate) request: Request,
    pub(crate) asked: Instant,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) ended: Option<Instant>,
}

/// Callers, the machine, and the witness's own account.
#[derive(Debug)]
pub(crate) struct Storm {
    pub(crate) machine: Provider,
    pub(crate) rng: Rng,
    pub(crate) now: Instant,
    pub(crate) callers: Vec<Caller>,
    /// Until when each gate asked for silence, by what was fed to the machine.
    pub(crate) silence: HashMap<GateKey, Instant>,
    pub(crate) starts: Vec<(Instant, Vec<GateKey>)>,
    pub(crate) events: Vec<(Instant, Event)>,
    pub(crate) refused: Vec<Refusal>,
    pub(crate) specs: Vec<Vec<GateSpec>>,
}

impl Storm {
    pub(crate) fn new(policy: ProviderPolicy, seed: u64) -> Self {
        let spec = |scope: Scope, n: u64| GateSpec::new(GateKey(scope as u64 * 100 + n), scope);
        let mut specs = Vec::new();
        for account in 0..2 {
            for route in 0..2 {
                specs.push(vec![
                    spec(Scope::Provider, 0),
                    spec(Scope::Account, account),
                    spec(Scope::Route, route),
                ]);
            }
        }
        Self {
            machine: Provider::new(policy, seed),
            rng: Rng::with_seed(seed),
            now: Instant::from_secs(1),
            callers: Vec::new(),
            silence: HashMap::new(),
            starts: Vec::new(),
            events: Vec::new(),
            refused: Vec::new(),
            specs,
        }
    }

    pub(crate) fn request(&mut self) -> (Vec<GateSpec>, Request) {
        let gates = self.specs[self.rng.usize(..self.specs.len())].clone();
        let mut request = Request::new(self.machine.gates(self.now, &gates));
        request.urgency = Urgency::new(self.rng.u8(..8));
        request.fair = self.rng.u64(..3);
        let soon = |rng: &mut Rng, now: Instant| now.after(ms(rng.u64(..20_000)));
        if self.rng.u8(..4) == 0 {
            request.not_before = soon(&mut self.rng, self.now);
        }
        if self.rng.bool() {
            request.expires = soon(&mut self.rng, self.now);
        }
        if self.rng.bool() {
            request.hold_limit = soon(&mut self.rng, self.now);
        }
        (gates, request)
    }

    pub(crate) fn admit(&mut self, gates: Vec<GateSpec>, request: Request) {
        let (ticket, place) = match self.machine.admit(self.now, &request) {
            Admit::Go(pass) => (pass.ticket(), Where::Granted(pass)),
            Admit::Waiting(ticket) => (ticket, Where::Waiting),
            Admit::Refuse(refusal) => {
                self.refused.push(*refusal);
                self.drain();
                return;
            }
        };
        self.callers.push(Caller {
            ticket,
            place,
            gates,
            request,
            asked: self.now,
            refusal: None,
            ended: None,
        });
        self.drain();
    }

    /// Takes in what the machine wants done.
    pub(crate) fn drain(&mut self) {
        while let Some(action) = self.machine.poll() {
            match action {
                Action::Grant(ticket, pass) => {
                    let c = self.waiting(ticket);
                    c.place = Where::Granted(pass);
                }
                Action::Refuse(ticket, refusal) => {
                    let now = self.now;
                    let c = self.waiting(ticket);
                    c.place = Where::Over;
                    c.refusal = Some((*refusal).clone());
                    c.ended = Some(now);
                    self.refused.push(*refusal);
                }
                Action::Emit(event) => self.events.push((self.now, event)),
                _ => {}
            }
        }
    }

    fn waiting(&mut self, ticket: Ticket) -> &mut Caller {
        let waits = |c: &&mut Caller| c.ticket == ticket && matches!(c.place, Where::Waiting);
        self.callers
            .iter_mut()
            .rev()
            .find(waits)
            .expect("only waiters are called")
    }

    pub(crate) fn start(&mut self, i: usize) {
        let place = std::mem::replace(&mut self.callers[i].place, Where::Waiting);
        let Where::Granted(pass) = place else {
            self.callers[i].place = place;
            return;
        };
        match self.machine.start(self.now, pass) {
            Start::Go(pass) => {
                self.callers[i].place = Where::OnWire(pass);
                let keys = self.callers[i].gates.iter().map(|g| g.key).collect();
                self.starts.push((self.now, keys));
            }
            Start::Back(_) => {}
        }
        self.drain();
    }

    pub(crate) fn settle(&mut self, i: usize, outcome: &Outcome) {
        let place = std::mem::replace(&mut self.callers[i].place, Where::Over);
        match place {
            Where::Granted(pass) | Where::OnWire(pass) => {
                self.callers[i].ended = Some(self.now);
                self.machine.settle(self.now, pass, outcome);
                self.drain();
            }
            other => self.callers[i].place = other,
        }
    }

    /// A refusal for one of the caller's gates, noted by the witness too.
    pub(crate) fn refusal(&mut self, i: usize, scope: Scope, wait: Duration) -> Finding {
        let until = self.now.after(wait);
        let gate = self.callers[i].gates.iter().find(|g| g.scope == scope);
        if let (Some(gate), Where::OnWire(_)) = (gate, &self.callers[i].place) {
            let silence = self.silence.entry(gate.key).or_default();
            *silence = until.max(*silence);
        }
        let mut f = Finding::of(Verdict::RateLimited);
        f.scope = scope;
        f.holds = true;
        f.asks.push(Ask {
            until,
            source: AskSource::RetryAfter,
            scope,
            class: abide_core::GateClass::PLAIN,
        });
        f
    }

    pub(crate) fn cancel(&mut self, i: usize) {
        if matches!(self.callers[i].place, Where::Waiting | Where::Granted(_)) {
            self.callers[i].place = Where::Over;
            self.callers[i].ended = Some(self.now);
            self.machine.cancel(self.now, self.callers[i].ticket);
            self.drain();
        }
    }

    /// Moves time on, waking the machine at every instant it asked for.
    pub(crate) fn pass_time(&mut self, until: Instant) {
        let mut still = 0;
        while let Some(at) = self.machine.next_wake().filter(|at| *at <= until) {
            still = if at > self.now { 0 } else { still + 1 };
            assert!(still < 2, "it wants to be woken again at {at:?}");
            self.now = self.now.max(at);
            self.machine.wake(self.now);
            self.drain();
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn pick(&mut self, which: impl Fn(&Where) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.callers.len())
            .filter(|i| which(&self.callers[*i].place))
            .collect();
        (!all.is_empty()).then(|| all[self.rng.usize(..all.len())])
    }

    /// One random thing happens.
    pub(crate) fn blow(&mut self) {
        let wait = self.rng.u64(..400);
        let until = self.now.after(ms(if self.rng.bool() { 0 } else { wait }));
        self.pass_time(until);
        match self.rng.u8(..12) {
            0..=4 => {
                let (gates, request) = self.request();
                self.admit(gates, request);
            }
            5..=7 => {
                if let Some(i) = self.pick(|p| matches!(p, Where::Granted(_))) {
                    self.start(i);
                }
            }
            8..=10 => {
                if let Some(i) = self.pick(|p| matches!(p, Where::OnWire(_))) {
                    let outcome = self.outcome(i);
                    self.settle(i, &outcome);
                }
            }
            _ => {
                if let Some(i) = self.pick(|p| !matches!(p, Where::Over)) {
                    self.cancel(i);
                }
            }
        }
    }

    fn outcome(&mut self, i: usize) -> Outcome {
        let scopes = [Scope::Provider, Scope::Account, Scope::Route];
        match self.rng.u8(..10) {
            0 | 1 => {
                let scope = scopes[self.rng.usize(..3)];
                let wait = ms(self.rng.u64(1..15_000));
                Outcome::Answered(self.refusal(i, scope, wait))
            }
            2 => Outcome::Cancelled { sent: true },
            3 => Outcome::NotSent,
            4 => Outcome::Answered(Finding::of(Verdict::Unavailable)),
            _ => Outcome::Answered(Finding::success()),
        }
    }

    /// Everybody starts as soon as granted, and is answered well after `trip`, until nobody is
    /// left.
    pub(crate) fn calm(&mut self, trip: Duration) {
        for _ in 0..100_000 {
            while let Some(i) = self.pick(|p| matches!(p, Where::Granted(_))) {
                self.start(i);
            }
            if let Some(i) = self.pick(|p| matches!(p, Where::OnWire(_))) {
                let until = self.now.after(trip);
                self.pass_time(until);
                self.settle(i, &Outcome::Answered(Finding::success()));
            } else if let Some(at) = self.machine.next_wake() {
                self.pass_time(at);
            } else {
                break;
            }
        }
        let left = self
            .callers
            .iter()
            .filter(|c| !matches!(c.place, Where::Over))
            .count();
        assert_eq!(left, 0, "somebody waits for ever");
        assert_eq!(self.machine.waiting(), 0);
    }
}

fn adaptive(rng: &mut Rng) -> Adaptive {
    match rng.u8(..5) {
        0 | 1 => Adaptive::Off,
        2 => Adaptive::Learn,
        3 => Adaptive::Aimd,
        _ => Adaptive::Interval(IntervalPolicy::default()),
    }
}

/// A policy with a little of everything.
pub(crate) fn policy(seed: u64) -> ProviderPolicy {
    let rng = &mut Rng::with_seed(seed ^ 0x5eed);
    let mut p = ProviderPolicy::default();
    p.provider.concurrency = rng.u32(1..6);
    p.provider.adaptive = adaptive(rng);
    p.account.adaptive = adaptive(rng);
    p.route.adaptive = adaptive(rng);
    p.account.concurrency = rng.u32(1..6);
    if rng.bool() {
        let interval = ms(rng.u64(1..200));
        let gcra = abide_core::pace::Gcra::new(interval, rng.u32(1..4));
        p.account.windows.push(abide_core::pace::Window::Gcra(gcra));
    }
    if rng.bool() {
        let sliding = abide_core::pace::Sliding::new(rng.u32(1..8), ms(rng.u64(10..3_000)));
        p.route.windows.push(sliding.into());
    }
    p
}
