//! Our own outage is not theirs: several providers behind one network that goes down and comes
//! back, with the machines told as the shell tells them.

use abide_core::classify::{Phase, Transport, TransportKind, of_transport};
use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::outage::{Leave, Outage, OutagePolicy, OutageProbe};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Action, Admit, Event, News, Outcome, Pass, Provider, Request, Start};
use abide_core::refusal::RefusalKind;
use abide_core::{Finding, Instant, Scope, Verdict};
use fastrand::Rng;

use super::storm::{for_seeds, ms};
use super::{SEEDS, at};

const KINDS: [TransportKind; 4] = [
    TransportKind::Dns,
    TransportKind::NoNetwork,
    TransportKind::Timeout,
    TransportKind::Unreachable,
];

struct Flight {
    provider: usize,
    pass: Pass,
    probe: Option<OutageProbe>,
    ends: Instant,
}

struct World {
    rng: Rng,
    now: Instant,
    machines: Vec<(Provider, GateSet)>,
    outage: Outage,
    flights: Vec<Flight>,
    /// When the network is down.
    down: (Instant, Instant),
    /// Providers that are dead whatever the network does.
    dead: Vec<usize>,
    /// Sent by each provider since we came back and before it answered.
    herd: Vec<Option<u32>>,
    opened: Vec<(Instant, usize)>,
    was_offline: Vec<Instant>,
}

fn spec() -> GateSpec {
    GateSpec::new(GateKey(1), Scope::Provider)
}

impl World {
    fn new(seed: u64, providers: usize, down: (Instant, Instant)) -> Self {
        let machines = (0..providers).map(|n| {
            let mut machine = Provider::new(ProviderPolicy::default(), seed ^ n as u64);
            let gates = machine.gates(at(1), [&spec()]);
            (machine, gates)
        });
        Self {
            rng: Rng::with_seed(seed),
            now: at(1),
            machines: machines.collect(),
            outage: Outage::new(OutagePolicy::default()),
            flights: Vec::new(),
            down,
            dead: Vec::new(),
            herd: vec![None; providers],
            opened: Vec::new(),
            was_offline: Vec::new(),
        }
    }

    fn is_down(&self) -> bool {
        self.down.0 <= self.now && self.now < self.down.1
    }

    fn tell(&mut self) {
        let news = self.outage.news(self.now);
        for n in 0..self.machines.len() {
            self.machines[n]
                .0
                .learn(self.now, spec(), News::Outage(news));
            self.drain(n);
        }
    }

    fn drain(&mut self, n: usize) {
        while let Some(action) = self.machines[n].0.poll() {
            match action {
                Action::Grant(_, pass) => self.start(n, pass),
                Action::Refuse(_, refusal) => self.turned_away(&refusal),
                Action::Emit(Event::BreakerOpened { .. }) => self.opened.push((self.now, n)),
                Action::Emit(Event::CameOnline) => self.herd[n] = Some(0),
                _ => {}
            }
        }
    }

    fn turned_away(&self, refusal: &abide_core::refusal::Refusal) {
        if refusal.kind == RefusalKind::Offline {
            assert_eq!(refusal.cause, Some(Verdict::Offline));
            assert!(
                refusal.retry_at.is_some(),
                "when the next probe goes is known"
            );
        }
    }

    fn start(&mut self, n: usize, pass: Pass) {
        let mut probe = None;
        if self.machines[n].0.is_offline() {
            match self.outage.lease(self.now) {
                Leave::Probe(p) => probe = Some(p),
                Leave::Online => panic!("every machine was told"),
                Leave::Wait => {
                    let news = News::Outage(self.outage.news(self.now));
                    self.machines[n].0.learn(self.now, spec(), news);
                }
            }
        }
        match self.machines[n].0.start(self.now, pass) {
            Start::Go(pass) => {
                if self.outage.is_offline() {
                    assert!(probe.is_some(), "offline, only a probe is sent");
                    assert!(self.flights.iter().all(|f| f.probe.is_none()), "one probe");
                }
                if let Some(sent) = &mut self.herd[n] {
                    *sent += 1;
                    assert!(*sent <= 2, "nobody comes back as a herd");
                }
                let ends = self.now.after(ms(self.rng.u64(10..2_000)));
                self.flights.push(Flight {
                    provider: n,
                    pass,
                    probe,
                    ends,
                });
            }
            Start::Back(_) => {
                if let Some(p) = probe {
                    self.outage.give_back(self.now, p, false);
                }
            }
        }
    }

    fn land(&mut self, flight: Flight) {
        let n = flight.provider;
        let host = format!("{n}.example");
        let failed = self.is_down() || self.dead.contains(&n);
        let outcome = if failed {
            let transport = Transport {
                phase: *self.rng.choice(&[Phase::Connect, Phase::Head]).unwrap(),
                kind: match self.is_down() {
                    true => *self.rng.choice(&KINDS).unwrap(),
                    false => TransportKind::Timeout,
                },
            };
            if self
                .outage
                .failed(self.now, &host, &transport, flight.probe)
            {
                self.tell();
            }
            let mut finding = of_transport(&transport);
            if self.outage.is_offline() {
                self.was_offline.push(self.now);
                finding.be_offline();
            }
            match transport.phase {
                Phase::Connect => Outcome::Unreached(finding),
                _ => Outcome::Answered(finding),
            }
        } else {
            if self.outage.answered(self.now, &host) {
                self.tell();
                for (machine, _) in &self.machines {
                    let open = machine
                        .view(self.now)
                        .iter()
                        .any(|g| g.closed_until.is_some());
                    assert!(
                        !open || !self.dead.is_empty(),
                        "nothing is held against anyone"
                    );
                }
            }
            self.herd[n] = None;
            Outcome::Answered(Finding::success())
        };
        self.machines[n].0.settle(self.now, flight.pass, &outcome);
        self.drain(n);
    }

    /// Lives until an instant, a tenth of a second at a time.
    fn live(&mut self, until: Instant, busy: bool) {
        while self.now < until {
            self.now = self.now.after(ms(100));
            while let Some(i) = self.flights.iter().position(|f| f.ends <= self.now) {
                let flight = self.flights.swap_remove(i);
                self.land(flight);
            }
            for n in 0..self.machines.len() {
                self.machines[n].0.wake(self.now);
                self.drain(n);
                // The first is busy: its breaker may open before another host is heard of.
                let seldom = if n == 0 { 2 } else { 20 };
                if busy && self.rng.u8(..seldom) == 0 {
                    let mut request = Request::new(self.machines[n].1);
                    if self.rng.bool() {
                        request.expires = self.now.after(ms(self.rng.u64(..10_000)));
                        request.hold_limit = request.expires;
                    }
                    match self.machines[n].0.admit(self.now, &request) {
                        Admit::Go(pass) => self.start(n, pass),
                        Admit::Waiting(_) => {}
                        Admit::Refuse(refusal) => self.turned_away(&refusal),
                    }
                    self.drain(n);
                }
            }
        }
    }
}

#[test]
fn inv09_our_own_outage_is_not_theirs() {
    for_seeds(SEEDS / 8, |seed| {
        let rng = &mut Rng::with_seed(seed);
        // Down from the very first request on, or after a while.
        let from = at(1).after(ms(rng.u64(..2) * rng.u64(..20_000)));
        let until = from.after(ms(rng.u64(8_000..90_000)));
        let mut world = World::new(seed, rng.usize(2..5), (from, until));
        world.live(until.after(ms(60_000)), true);
        world.live(world.now.after(ms(60_000)), false);
        let first = world.was_offline.first().copied();
        let short = until.since(from) < ms(30_000);
        assert!(
            short || first.is_some(),
            "two hosts failed within the window"
        );
        let first = first.unwrap_or(Instant::FAR);
        assert!(!world.outage.is_offline(), "it is over");
        for (at, n) in &world.opened {
            assert!(
                *at <= first,
                "the breaker of {n} opened while we were offline"
            );
        }
        for (machine, _) in &world.machines {
            assert_eq!(machine.waiting(), 0, "nobody waits for ever");
            let view = &machine.view(world.now)[0];
            assert_eq!((view.in_flight, view.closed_until), (0, None));
        }
    });
}

#[test]
fn inv09_one_dead_provider_among_others_is_its_own_affair() {
    for_seeds(SEEDS / 8, |seed| {
        let mut world = World::new(seed, 1 + Rng::with_seed(seed).usize(..3), (at(0), at(0)));
        world.dead = vec![0];
        world.live(at(60), true);
        assert!(world.was_offline.is_empty() && !world.outage.is_offline());
        assert!(world.opened.iter().all(|(_, n)| *n == 0));
        assert!(!world.opened.is_empty(), "its breaker does what it is for");
    });
}
