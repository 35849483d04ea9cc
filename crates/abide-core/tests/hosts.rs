//! Several hosts of one provider: a breaker each, and everything else together.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use abide_core::classify::{Phase, Transport, TransportKind, of_transport};
use abide_core::finding::{Ask, AskSource};
use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Admit, Outcome, Provider, Request, Start};
use abide_core::{Finding, GateClass, Instant, Scope, Verdict};

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

fn host(key: u64) -> GateSpec {
    let mut spec = GateSpec::new(GateKey(key), Scope::Provider);
    spec.class = GateClass::HOST;
    spec
}

/// A provider asked by two hosts, and by somebody who names none.
fn machine() -> (Provider, [GateSet; 3]) {
    let mut p = Provider::new(ProviderPolicy::default(), 1);
    let own = GateSpec::new(GateKey(1), Scope::Provider);
    let sets = [
        p.gates(at(0), [&own, &host(2)]),
        p.gates(at(0), [&own, &host(3)]),
        p.gates(at(0), [&own]),
    ];
    (p, sets)
}

fn ends(p: &mut Provider, s: u64, set: GateSet, outcome: &Outcome) {
    let Admit::Go(pass) = p.admit(at(s), &Request::new(set)) else {
        panic!("it may go");
    };
    let Start::Go(pass) = p.start(at(s), pass) else {
        panic!("nothing holds it");
    };
    p.settle(at(s), pass, outcome);
}

fn broken() -> Finding {
    of_transport(&Transport {
        phase: Phase::Connect,
        kind: TransportKind::Refused,
    })
}

#[test]
fn failures_of_a_host_close_that_host_alone() {
    for outcome in [Outcome::Unreached(broken()), Outcome::Answered(broken())] {
        let (mut p, [a, b, nameless]) = machine();
        for s in 1..=5 {
            ends(&mut p, s, a, &outcome);
        }
        let closed = |set| p.closed_until(at(6), set);
        assert_eq!(closed(&a), Some(at(35)));
        assert_eq!((closed(&b), closed(&nameless)), (None, None));
        // Its own probe opens it again.
        ends(&mut p, 40, a, &Outcome::Answered(Finding::success()));
        assert_eq!(p.closed_until(at(41), &a), None);
    }
}

#[test]
fn failures_of_who_names_no_host_close_them_all() {
    let (mut p, [a, b, nameless]) = machine();
    for s in 1..=5 {
        ends(&mut p, s, nameless, &Outcome::Answered(broken()));
    }
    for set in [a, b, nameless] {
        assert_eq!(p.closed_until(at(6), &set), Some(at(35)));
    }
    // Whoever is let out to try it speaks for it, by whatever host.
    ends(&mut p, 40, a, &Outcome::Answered(broken()));
    assert!(p.closed_until(at(41), &b) > Some(at(60)));
}

#[test]
fn a_refusal_by_any_host_is_the_providers_word() {
    for scope in [Scope::Provider, Scope::Account, Scope::Route] {
        let (mut p, [a, b, _]) = machine();
        let mut f = Finding::of(Verdict::RateLimited);
        (f.scope, f.holds) = (scope, true);
        f.asks.push(Ask {
            until: at(60),
            source: AskSource::RetryAfter,
            scope,
            class: GateClass::PLAIN,
        });
        ends(&mut p, 1, a, &Outcome::Answered(f));
        assert_eq!(p.closed_until(at(2), &b), Some(at(60)));
    }
}

#[test]
fn nothing_of_a_hosts_gate_is_stored() {
    let (mut p, [a, ..]) = machine();
    ends(&mut p, 1, a, &Outcome::Answered(Finding::success()));
    ends(&mut p, 2, a, &Outcome::Answered(broken()));
    let keys: Vec<_> = p.records(at(3)).iter().map(|r| r.key).collect();
    assert_eq!(keys, [GateKey(1)]);
}
