//! Requests that are exempt from the pace of their gates, and from nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::time::Duration;

use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::pace::{Gcra, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Action, Admit, Outcome, Pass, Provider, Request, Start, Ticket};
use abide_core::queue::Urgency;
use abide_core::{Finding, Instant, Scope, Verdict};

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

/// One request in ten seconds, at most three on the wire.
fn machine() -> (Provider, GateSet) {
    let mut policy = ProviderPolicy::default();
    policy.provider.gentle = false;
    policy.provider.concurrency = 3;
    policy.provider.windows = vec![Window::Gcra(Gcra::new(Duration::from_secs(10), 1))];
    let mut machine = Provider::new(policy, 1);
    let gates = machine.gates(at(0), [&GateSpec::new(GateKey(1), Scope::Provider)]);
    (machine, gates)
}

fn exempt(gates: GateSet) -> Request {
    let mut request = Request::new(gates);
    request.paced = false;
    request
}

fn go(machine: &mut Provider, now: Instant, request: &Request) -> Pass {
    let Admit::Go(pass) = machine.admit(now, request) else {
        panic!("it may go");
    };
    let Start::Go(pass) = machine.start(now, pass) else {
        panic!("nothing is held");
    };
    pass
}

fn waits(machine: &mut Provider, now: Instant, request: &Request) -> Ticket {
    let Admit::Waiting(ticket) = machine.admit(now, request) else {
        panic!("it must wait");
    };
    ticket
}

fn granted(machine: &mut Provider, now: Instant) -> Vec<Ticket> {
    let mut tickets = Vec::new();
    while let Some(action) = machine.poll() {
        if let Action::Grant(ticket, pass) = action {
            assert!(matches!(machine.start(now, pass), Start::Go(_)));
            tickets.push(ticket);
        }
    }
    tickets
}

fn answered() -> Outcome {
    Outcome::Answered(Finding::success())
}

fn refused() -> Outcome {
    let mut finding = Finding::of(Verdict::RateLimited);
    finding.scope = Scope::Provider;
    finding.holds = true;
    Outcome::Answered(finding)
}

#[test]
fn it_passes_those_who_wait_for_the_pace_and_takes_nobodys_slot() {
    let (mut m, gates) = machine();
    let first = go(&mut m, at(0), &Request::new(gates));
    m.settle(at(0), first, &answered());
    let _paced = waits(&mut m, at(1), &Request::new(gates));
    for s in 1..9 {
        let pass = go(&mut m, at(s), &exempt(gates));
        m.settle(at(s), pass, &answered());
    }
    assert_eq!(m.next_wake(), Some(at(10)), "the slot is where it was");
}

#[test]
fn a_cost_beyond_the_window_is_no_hindrance() {
    let (mut m, gates) = machine();
    let mut dear = exempt(gates);
    dear.cost = 100;
    let pass = go(&mut m, at(0), &dear);
    m.settle(at(0), pass, &answered());
    let _paced = go(&mut m, at(0), &Request::new(gates));
}

#[test]
fn it_waits_for_a_place_on_the_wire() {
    let (mut m, gates) = machine();
    let mut passes: Vec<Pass> = (0..3).map(|_| go(&mut m, at(0), &exempt(gates))).collect();
    let fourth = waits(&mut m, at(0), &exempt(gates));
    m.settle(at(1), passes.remove(0), &answered());
    assert_eq!(granted(&mut m, at(1)), [fourth]);
}

#[test]
fn it_waits_at_a_hold_and_its_own_refusal_holds_all() {
    let (mut m, gates) = machine();
    let pass = go(&mut m, at(0), &exempt(gates));
    m.settle(at(0), pass, &refused());
    let plain = waits(&mut m, at(0), &Request::new(gates));
    let other = waits(&mut m, at(0), &exempt(gates));
    assert!(granted(&mut m, at(0)).is_empty());
    m.wake(at(1));
    let probe = granted(&mut m, at(1));
    assert_eq!(
        probe,
        [other],
        "one probe, and nobody waits for the pace before it"
    );
    assert_ne!(probe, [plain]);
}

#[test]
fn an_open_breaker_is_for_all() {
    let (mut m, gates) = machine();
    for _ in 0..5 {
        let pass = go(&mut m, at(0), &exempt(gates));
        let failed = Finding::of(Verdict::Unavailable);
        m.settle(at(0), pass, &Outcome::Answered(failed));
    }
    let mut request = exempt(gates);
    request.hold_limit = at(10);
    let Admit::Refuse(refusal) = m.admit(at(1), &request) else {
        panic!("the breaker is open");
    };
    assert_eq!(refusal.retry_at, Some(at(30)));
}

#[test]
fn bulk_leaves_a_unit_of_a_bucket_to_whoever_is_more_urgent() {
    let mut policy = ProviderPolicy::default();
    policy.provider.gentle = false;
    policy.provider.windows = vec![Window::Gcra(Gcra::new(Duration::from_secs(10), 3))];
    let mut m = Provider::new(policy, 1);
    let gates = m.gates(at(100), [&GateSpec::new(GateKey(1), Scope::Provider)]);
    let mut bulk = Request::new(gates);
    bulk.urgency = Urgency::BULK;
    let mut urgent = Request::new(gates);
    urgent.urgency = Urgency::INTERACTIVE;
    for _ in 0..2 {
        let pass = go(&mut m, at(100), &bulk);
        m.settle(at(100), pass, &Outcome::Answered(Finding::success()));
    }
    let ticket = waits(&mut m, at(100), &bulk);
    let pass = go(&mut m, at(101), &urgent);
    m.settle(at(101), pass, &Outcome::Answered(Finding::success()));
    // What was taken meanwhile comes back first, and then bulk has every unit that comes.
    m.wake(at(119));
    assert_eq!(granted(&mut m, at(119)), []);
    m.wake(at(120));
    assert_eq!(granted(&mut m, at(120)), [ticket]);
    let ticket = waits(&mut m, at(120), &bulk);
    m.wake(at(130));
    assert_eq!(granted(&mut m, at(130)), [ticket]);
}
