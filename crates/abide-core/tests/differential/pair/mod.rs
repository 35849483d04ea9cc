//! Drives the machine and the model side by side and compares everything that can be seen.

mod compare;

use abide_core::gate::GateSet;
use abide_core::hold::{HoldId, SetBy};
use abide_core::lease::LeaseId;
use abide_core::provider::{Admit, News, Outcome, Pass, Provider, Request, Start, Ticket};
use abide_core::queue::Urgency;
use abide_core::refusal::Refusal;
use abide_core::{Instant, Verdict};

use std::time::Duration;

use crate::model::script::{self, Step, Universe, Words};
use crate::model::settle::Ended;
use crate::model::{Model, Place, Said, Told};

const MS: u64 = 1_000_000;

/// The machine and the model.
#[derive(Debug)]
pub(crate) struct Pair {
    universe: Universe,
    machine: Provider,
    model: Model,
    now: u64,
    tickets: Vec<Ticket>,
    passes: Vec<Option<Pass>>,
    leases: u64,
    trace: bool,
}

pub(crate) fn told(r: &Refusal) -> Told {
    Told {
        kind: format!("{:?}", r.kind),
        retry_at: r.retry_at.map(Instant::as_nanos),
        scope: r.scope,
        cause: format!("{:?}", r.cause),
        by: format!("{:?}", r.decided_by),
    }
}

const fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

impl Pair {
    pub(crate) fn new(universe: &Universe) -> Self {
        let mut machine = Provider::new(universe.policy.clone(), 7);
        // Every gate is made now, so that both number them alike.
        for spec in &universe.specs {
            let _ = machine.gates(Instant::ORIGIN, &[*spec]);
        }
        Self {
            universe: universe.clone(),
            machine,
            model: universe.model(),
            now: 0,
            tickets: Vec::new(),
            passes: Vec::new(),
            leases: 1 << 40,
            trace: std::env::var_os("ABIDE_TRACE").is_some(),
        }
    }

    fn note(&self, what: std::fmt::Arguments<'_>) {
        if self.trace {
            println!("{:>12.6} {what}", self.now as f64 / 1e9);
        }
    }

    pub(crate) fn step(&mut self, step: &Step) {
        let w = &mut Words::new(step);
        let wake = self.machine.next_wake().map(Instant::as_nanos);
        self.now = script::advance(w, self.now, wake);
        match w.below(16) {
            0..=4 => self.admit(w),
            5..=7 => self.start(w),
            8 => self.observe(w),
            9..=11 => self.settle(w),
            12 => self.cancel(w),
            13 => self.wake(),
            _ => self.learn(w),
        }
        self.compare();
    }

    fn admit(&mut self, w: &mut Words<'_>) {
        let asked = script::asked(w, &self.universe.specs, self.now);
        let specs: Vec<_> = asked.set.iter().map(|g| self.universe.specs[*g]).collect();
        let gates: GateSet = self.machine.gates(at(self.now), &specs);
        let mut request = Request::new(gates);
        request.cost = asked.cost as u32;
        request.urgency = Urgency::new(asked.urgency);
        request.fair = asked.fair;
        request.paced = asked.paced;
        request.not_before = at(asked.not_before);
        request.expires = at(asked.expires);
        request.hold_limit = at(asked.hold_limit);
        let said = self.model.admit(self.now, &asked);
        let answer = self.machine.admit(at(self.now), &request);
        self.note(format_args!("admit {asked:?} -> {answer:?}"));
        match answer {
            Admit::Go(pass) => {
                assert_eq!(said, Said::Go);
                self.tickets.push(pass.ticket());
                self.passes.push(Some(pass));
            }
            Admit::Waiting(ticket) => {
                assert_eq!(said, Said::Waiting);
                self.tickets.push(ticket);
                self.passes.push(None);
            }
            Admit::Refuse(r) => assert_eq!(said, Said::Refuse(told(&r))),
        }
    }

    fn wake(&mut self) {
        self.note(format_args!("wake"));
        self.machine.wake(at(self.now));
        self.model.wake(self.now);
    }

    fn pick(&self, w: &mut Words<'_>, which: impl Fn(Place) -> bool) -> Option<usize> {
        let calls: Vec<usize> = (0..self.model.calls.len())
            .filter(|c| which(self.model.calls[*c].place))
            .collect();
        (!calls.is_empty()).then(|| calls[w.below(calls.len())])
    }

    fn start(&mut self, w: &mut Words<'_>) {
        let Some(c) = self.pick(w, |p| p == Place::Granted) else {
            return self.wake();
        };
        let pass = self.passes[c].take().expect("a granted call has its pass");
        let said = self.model.start(self.now, c);
        let answer = self.machine.start(at(self.now), pass);
        self.note(format_args!("start {c} -> {answer:?}"));
        match answer {
            Start::Go(pass) => {
                assert!(said, "the model sends {c} back");
                self.passes[c] = Some(pass);
            }
            Start::Back(ticket) => {
                assert!(!said, "the model starts {c}");
                assert_eq!(ticket, self.tickets[c]);
            }
        }
    }

    fn observe(&mut self, w: &mut Words<'_>) {
        let Some(c) = self.pick(w, |p| p == Place::Started) else {
            return self.wake();
        };
        let f = script::finding(w, self.now);
        self.note(format_args!("observe {c} {f:?}"));
        let pass = self.passes[c].as_ref().expect("it is on the wire");
        self.machine.observe(at(self.now), pass, &f);
        self.model.observe(self.now, c, &f);
    }

    fn settle(&mut self, w: &mut Words<'_>) {
        let Some(c) = self.pick(w, |p| matches!(p, Place::Granted | Place::Started)) else {
            return self.wake();
        };
        let ended = script::ended(w, self.now);
        self.settle_as(c, &ended);
    }

    fn settle_as(&mut self, c: usize, ended: &Ended) {
        self.note(format_args!("settle {c} {ended:?}"));
        let outcome = match ended {
            Ended::Answered(f) => Outcome::Answered(f.clone()),
            Ended::Cancelled { sent } => Outcome::Cancelled { sent: *sent },
            Ended::NotSent => Outcome::NotSent,
        };
        let pass = self.passes[c]
            .take()
            .expect("a call on its way has its pass");
        self.machine.settle(at(self.now), pass, &outcome);
        self.model.settle(self.now, c, ended);
    }

    fn cancel(&mut self, w: &mut Words<'_>) {
        let Some(c) = self.pick(w, |p| !matches!(p, Place::Over | Place::Started)) else {
            return self.wake();
        };
        self.note(format_args!("cancel {c}"));
        self.machine.cancel(at(self.now), self.tickets[c]);
        self.model.cancel(self.now, c);
        if self.model.calls[c].place == Place::Over {
            self.passes[c] = None;
        }
    }

    fn learn(&mut self, w: &mut Words<'_>) {
        let g = w.below(self.universe.specs.len());
        let spec = self.universe.specs[g];
        let now = self.now;
        let known = self.model.gates[self.model.gate(g)].hold.and_then(|h| h.id);
        let id = match w.below(4) {
            0 => None,
            1 => Some(HoldId(w.below(4) as u64)),
            _ => known,
        };
        let news = match w.below(7) {
            0 | 1 => {
                let until = now + w.of(&[1, 400, 2_000, 7_000]) * MS;
                let cause = w.of(&[Verdict::RateLimited, Verdict::Unavailable]);
                let probes = w.one_in(2);
                self.model.held(now, g, id, until, cause, probes);
                News::Held {
                    id,
                    until: at(until),
                    cause,
                    ask: None,
                    set_by: w.of(&[SetBy::Shared, SetBy::Restored, SetBy::Operator]),
                    probes,
                }
            }
            2 => {
                self.model.lift(now, g, id);
                News::Lifted { id }
            }
            3 | 4 => {
                let asked = self.model.gates[self.model.gate(g)]
                    .lease
                    .and_then(|l| l.asked);
                self.leases += 1;
                let id = match asked {
                    Some(Some(id)) if !w.one_in(6) => id,
                    _ => self.leases,
                };
                let permits = w.below(6) as u32;
                let until = now + w.of(&[0, 300, 2_000, 20_000]) * MS;
                let probes = w.one_in(3).then(|| now + w.of(&[1, 900, 4_000]) * MS);
                let lent = (u64::from(permits), until);
                self.model.leased(now, g, id, lent, probes);
                News::Leased {
                    id: LeaseId(id),
                    permits,
                    until: at(until),
                    probes: probes.map(at),
                }
            }
            5 => {
                let lease = self.model.gates[self.model.gate(g)].lease;
                let id = lease.and_then(|l| l.asked.flatten().filter(|_| w.one_in(2)).or(l.id));
                let id = id.unwrap_or(self.leases);
                let not_before = now + w.of(&[0, 0, 150, 1_200]) * MS;
                self.model.lease_lost(now, g, id, not_before);
                News::LeaseLost {
                    id: LeaseId(id),
                    not_before: at(not_before),
                }
            }
            _ => {
                let rung = w.one_in(2).then(|| w.below(4) as u32);
                let interval = w
                    .one_in(3)
                    .then(|| Duration::from_millis(w.below(400) as u64 + 1));
                let mut counts = Vec::new();
                if w.one_in(2) {
                    let end = now + w.below(9_000) as u64 * MS;
                    counts.push((w.below(3) as u8, w.below(7) as u64, end));
                }
                self.model.restored(now, g, rung, interval, &counts);
                let counts = counts.into_iter().map(|(i, used, end)| (i, used, at(end)));
                News::Restored {
                    failures: 0,
                    last_success: None,
                    rung,
                    interval,
                    learned: None,
                    counts: counts.collect(),
                }
            }
        };
        self.note(format_args!("learn {g} {news:?}"));
        self.machine.learn(at(now), spec, news);
    }

    /// Lets everything on its way end, and everybody who waits leave: nothing may be left over.
    pub(crate) fn finish(&mut self) {
        for c in 0..self.model.calls.len() {
            match self.model.calls[c].place {
                Place::Granted | Place::Started => self.settle_as(c, &Ended::NotSent),
                Place::Waiting { .. } | Place::Parked => {
                    self.machine.cancel(at(self.now), self.tickets[c]);
                    self.model.cancel(self.now, c);
                }
                Place::Over => {}
            }
            self.compare();
        }
        // Whoever was granted while others left.
        for c in 0..self.model.calls.len() {
            if self.model.calls[c].place != Place::Over {
                self.settle_as(c, &Ended::NotSent);
                self.compare();
            }
        }
        assert_eq!(self.machine.waiting(), 0);
        assert_eq!(
            self.machine.next_wake(),
            None,
            "nobody waits, so nothing is due"
        );
        for view in self.machine.view(at(self.now)) {
            assert_eq!((view.in_flight, view.waiting), (0, 0));
        }
    }
}
