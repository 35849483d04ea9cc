//! What an outage of our own network does to one provider.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use abide_core::classify::{Phase, Transport, TransportKind, of_transport};
use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::outage::{Network, OutageNews};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Action, Admit, Event, News, Outcome, Pass, Provider, Request, Start};
use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::{Finding, Instant, Scope, Verdict};

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

fn spec() -> GateSpec {
    GateSpec::new(GateKey(1), Scope::Provider)
}

fn machine_of(policy: ProviderPolicy) -> (Provider, GateSet) {
    let mut machine = Provider::new(policy, 1);
    let gates = machine.gates(at(0), [&spec()]);
    (machine, gates)
}

fn machine() -> (Provider, GateSet) {
    let mut policy = ProviderPolicy::default();
    policy.provider.gentle = false;
    machine_of(policy)
}

fn go(machine: &mut Provider, now: Instant, gates: GateSet) -> Pass {
    let Admit::Go(pass) = machine.admit(now, &Request::new(gates)) else {
        panic!("it may go");
    };
    let Start::Go(pass) = machine.start(now, pass) else {
        panic!("nothing is held");
    };
    pass
}

#[test]
fn inv09_a_pass_without_leave_goes_back_whatever_was_heard_meanwhile() {
    let (mut machine, gates) = machine();
    machine.learn(at(10), spec(), offline(1, 11));
    let Admit::Go(pass) = machine.admit(at(11), &Request::new(gates)) else {
        panic!("it is let out to be the probe");
    };
    // Leave was refused, since another one was out; that one never went.
    machine.learn(at(11), spec(), offline(5, 11));
    let Start::Back(ticket) = machine.put_back(at(11), pass) else {
        panic!("it has no leave");
    };
    let Some(Action::Grant(again, pass)) =
        std::iter::from_fn(|| machine.poll()).find(|a| matches!(a, Action::Grant(..)))
    else {
        panic!("it may ask again");
    };
    assert_eq!(again, ticket);
    assert!(matches!(machine.start(at(11), pass), Start::Go(_)));
}

#[test]
fn a_probe_is_told_when_it_goes_and_not_before() {
    let (mut machine, gates) = machine();
    let pass = go(&mut machine, at(1), gates);
    let mut refused = Finding::of(Verdict::RateLimited);
    (refused.scope, refused.holds) = (Scope::Provider, true);
    machine.settle(at(1), pass, &Outcome::Answered(refused));
    let probes = |machine: &mut Provider| {
        let all = std::iter::from_fn(|| machine.poll());
        all.filter(|a| matches!(a, Action::Emit(Event::ProbeSent { .. })))
            .count()
    };
    for goes in [false, true] {
        let Admit::Go(pass) = machine.admit(at(5), &Request::new(gates)) else {
            panic!("the probe may go");
        };
        assert_eq!(probes(&mut machine), 0);
        if goes {
            assert!(matches!(machine.start(at(5), pass), Start::Go(_)));
            assert_eq!(probes(&mut machine), 1);
        } else {
            machine.settle(at(5), pass, &Outcome::NotSent);
        }
    }
}

fn news(revision: u64, network: Network) -> News {
    News::Outage(OutageNews { revision, network })
}

/// Offline since the beginning of the window; the next probe goes then.
fn offline(revision: u64, not_before: u64) -> News {
    let network = Network::Offline {
        since: at(5),
        not_before: at(not_before),
        probing: false,
    };
    news(revision, network)
}

fn lost() -> Finding {
    of_transport(&Transport {
        phase: Phase::Connect,
        kind: TransportKind::Timeout,
    })
}

fn fails(machine: &mut Provider, s: u64, gates: GateSet) {
    let pass = go(machine, at(s), gates);
    machine.settle(at(s), pass, &Outcome::Unreached(lost()));
}

fn events(machine: &mut Provider) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(action) = machine.poll() {
        if let Action::Emit(event) = action {
            events.push(event);
        }
    }
    events
}

fn grants(machine: &mut Provider) -> Vec<Pass> {
    let mut passes = Vec::new();
    while let Some(action) = machine.poll() {
        if let Action::Grant(_, pass) = action {
            passes.push(pass);
        }
    }
    passes
}

#[test]
fn inv09_failures_before_the_recognition_are_taken_back() {
    let (mut m, gates) = machine();
    for s in 6..11 {
        fails(&mut m, s, gates);
    }
    let open = m.view(at(11))[0].closed_until;
    assert_eq!(open, Some(at(40)), "five in a row");
    m.learn(at(11), spec(), offline(1, 12));
    m.learn(at(13), spec(), news(2, Network::Online));
    let view = &m.view(at(13))[0];
    assert_eq!((view.closed_until, view.healthy), (None, true));
    let told = events(&mut m);
    assert!(told.contains(&Event::WentOffline { until: at(12) }));
    assert!(told.contains(&Event::CameOnline));
}

#[test]
fn inv09_failures_before_the_window_stay() {
    let (mut m, gates) = machine();
    for s in 0..4 {
        fails(&mut m, s, gates);
    }
    fails(&mut m, 6, gates);
    m.learn(at(7), spec(), offline(1, 8));
    m.learn(at(9), spec(), news(2, Network::Online));
    assert_eq!(m.view(at(9))[0].closed_until, None);
    fails(&mut m, 10, gates);
    assert_eq!(
        m.view(at(10))[0].closed_until,
        Some(at(40)),
        "the fifth that counts"
    );
}

#[test]
fn inv09_while_offline_nothing_is_counted() {
    let (mut m, gates) = machine();
    let before: Vec<Pass> = (0..8).map(|_| go(&mut m, at(6), gates)).collect();
    m.learn(at(7), spec(), offline(1, 8));
    for pass in before {
        // Requests in flight are not cut; what becomes of them is held against nobody.
        m.settle(at(7), pass, &Outcome::Answered(lost()));
    }
    m.learn(at(9), spec(), news(2, Network::Online));
    let view = &m.view(at(9))[0];
    assert_eq!((view.closed_until, view.healthy), (None, true));
}

#[test]
fn seven_failures_together_climb_one_rung() {
    let (mut m, gates) = machine();
    let out: Vec<Pass> = (0..7).map(|_| go(&mut m, at(0), gates)).collect();
    for pass in out {
        m.settle(at(0), pass, &Outcome::Answered(lost()));
    }
    assert_eq!(m.view(at(0))[0].closed_until, Some(at(30)));
    let probe = go(&mut m, at(30), gates);
    m.settle(at(30), probe, &Outcome::Answered(lost()));
    assert_eq!(
        m.view(at(30))[0].closed_until,
        Some(at(90)),
        "the second one"
    );
    assert_eq!(m.records(at(30))[0].rung, None, "failures hold nobody");
}

#[test]
fn callers_wait_within_their_patience_or_hear_when_the_next_probe_goes() {
    let (mut m, gates) = machine();
    let mut patient = Request::new(gates);
    patient.hold_limit = at(100);
    m.learn(at(6), spec(), offline(1, 10));
    assert!(matches!(m.admit(at(6), &patient), Admit::Waiting(_)));
    let mut hasty = Request::new(gates);
    hasty.hold_limit = at(9);
    let Admit::Refuse(refusal) = m.admit(at(6), &hasty) else {
        panic!("it does not wait so long");
    };
    assert_eq!(
        (refusal.kind, refusal.decided_by, refusal.cause),
        (
            RefusalKind::Offline,
            DecidedBy::Outage,
            Some(Verdict::Offline)
        )
    );
    assert_eq!(refusal.retry_at, Some(at(10)));
    // The next probe failed too, and the wait grew beyond all patience.
    m.learn(at(10), spec(), offline(2, 200));
    assert_eq!(m.waiting(), 0);
}

#[test]
fn one_request_is_let_out_to_be_the_probe_and_the_others_follow_gently() {
    let (mut m, gates) = machine_of(ProviderPolicy::default());
    m.learn(at(6), spec(), offline(1, 7));
    for _ in 0..10 {
        assert!(matches!(
            m.admit(at(6), &Request::new(gates)),
            Admit::Waiting(_)
        ));
    }
    assert_eq!(m.next_wake(), Some(at(7)));
    m.wake(at(7));
    let mut out = grants(&mut m);
    assert_eq!(out.len(), 1);
    let Start::Go(probe) = m.start(at(7), out.remove(0)) else {
        panic!("it is the probe");
    };
    m.wake(at(8));
    assert!(grants(&mut m).is_empty(), "one at a time");
    m.learn(at(8), spec(), news(2, Network::Online));
    m.settle(at(8), probe, &Outcome::Answered(Finding::success()));
    assert!(grants(&mut m).len() <= 3, "no herd");
    assert!(m.waiting() >= 6);
}

#[test]
fn a_request_let_out_before_is_not_sent_any_more() {
    let (mut m, gates) = machine();
    let Admit::Go(pass) = m.admit(at(6), &Request::new(gates)) else {
        panic!("it may go");
    };
    m.learn(at(6), spec(), offline(1, 7));
    assert!(matches!(m.start(at(6), pass), Start::Back(_)));
    m.wake(at(7));
    assert_eq!(grants(&mut m).len(), 1, "it kept its place");
}

#[test]
fn old_news_are_ignored() {
    let (mut m, gates) = machine();
    m.learn(at(6), spec(), news(3, Network::Online));
    m.learn(at(6), spec(), offline(2, 7));
    assert!(!m.is_offline());
    let _pass = go(&mut m, at(6), gates);
}

#[test]
fn what_is_on_this_machine_is_not_affected() {
    let mut policy = ProviderPolicy::default();
    policy.local = true;
    let (mut m, gates) = machine_of(policy);
    m.learn(at(6), spec(), offline(1, 100));
    let _pass = go(&mut m, at(6), gates);
}

/// As [`lost`], where a policy lets it hold.
fn lost_and_held() -> Finding {
    let mut finding = lost();
    finding.holds = true;
    finding
}

/// One exchange that fails at an instant, and holds.
fn fails_holding(m: &mut Provider, now: Instant, gates: GateSet) {
    let pass = go(m, now, gates);
    m.observe(now, &pass, &lost_and_held());
    m.settle(now, pass, &Outcome::Unreached(lost_and_held()));
}

fn stepped() -> (Provider, GateSet) {
    let mut policy = ProviderPolicy::default();
    policy.provider.gentle = false;
    policy.breaker = None;
    let steps = [1, 2, 4, 8].map(std::time::Duration::from_secs);
    policy.provider.ladder = abide_core::ladder::Ladder::Steps(steps.to_vec());
    machine_of(policy)
}

#[test]
fn failures_that_a_hold_finds_on_the_wire_are_one() {
    let (mut m, gates) = stepped();
    let out: Vec<Pass> = (0..7).map(|_| go(&mut m, at(0), gates)).collect();
    for pass in out {
        m.observe(at(0), &pass, &lost_and_held());
        m.settle(at(0), pass, &Outcome::Answered(lost_and_held()));
    }
    let view = &m.view(at(0))[0];
    assert_eq!((view.failures, view.closed_until), (1, Some(at(1))));
    fails_holding(&mut m, at(1), gates);
    let view = &m.view(at(1))[0];
    assert_eq!((view.failures, view.closed_until), (2, Some(at(3))));
}

#[test]
fn inv09_holds_of_our_own_outage_are_taken_back_with_their_rungs() {
    let (mut m, gates) = stepped();
    fails_holding(&mut m, at(1), gates);
    fails_holding(&mut m, at(6), gates);
    fails_holding(&mut m, at(8), gates);
    assert_eq!(m.view(at(8))[0].closed_until, Some(at(12)));
    // The first one was before the window, and stays.
    m.learn(at(9), spec(), offline(1, 10));
    assert_eq!(m.view(at(9))[0].failures, 1);
    assert_eq!(m.records(at(9))[0].rung, Some(0));
    m.learn(at(10), spec(), news(2, Network::Online));
    assert_eq!(m.view(at(10))[0].closed_until, None);
    fails_holding(&mut m, at(10), gates);
    assert_eq!(
        m.view(at(10))[0].closed_until,
        Some(at(12)),
        "the second rung"
    );
}

#[test]
fn a_hold_that_a_provider_asked_for_is_not_taken_back() {
    let (mut m, gates) = stepped();
    let sibling = go(&mut m, at(6), gates);
    fails_holding(&mut m, at(6), gates);
    let mut asked = Finding::of(Verdict::RateLimited);
    asked.holds = true;
    asked.scope = Scope::Provider;
    asked.asks.push(abide_core::Ask {
        until: at(60),
        source: abide_core::AskSource::RetryAfter,
        scope: Scope::Provider,
        class: abide_core::GateClass::PLAIN,
    });
    m.observe(at(7), &sibling, &asked);
    m.settle(at(7), sibling, &Outcome::Answered(asked));
    m.learn(at(9), spec(), offline(1, 10));
    m.learn(at(10), spec(), news(2, Network::Online));
    assert_eq!(m.view(at(10))[0].closed_until, Some(at(60)));
}

#[test]
fn what_another_process_found_is_one_row_of_failures() {
    let (mut m, gates) = stepped();
    let health = |rung, failures, success: Option<u64>| News::Health {
        rung,
        failures,
        last_success: success.map(at),
    };
    let held = |until| News::Held {
        id: None,
        until: at(until),
        cause: Verdict::Unavailable,
        ask: None,
        set_by: abide_core::hold::SetBy::Shared,
        probes: true,
    };
    fails_holding(&mut m, at(1), gates);
    m.learn(at(3), spec(), held(5));
    m.learn(at(3), spec(), health(Some(1), 2, None));
    fails_holding(&mut m, at(5), gates);
    let view = &m.view(at(5))[0];
    assert_eq!((view.failures, view.closed_until), (3, Some(at(9))));
    // A success there from before this hold heals nothing here; a later one does.
    m.learn(at(10), spec(), health(None, 0, Some(4)));
    assert_eq!(m.view(at(10))[0].failures, 3);
    m.learn(at(10), spec(), health(None, 0, Some(10)));
    let view = &m.view(at(10))[0];
    assert_eq!((view.failures, view.in_episode), (0, false));
    fails_holding(&mut m, at(11), gates);
    assert_eq!(m.view(at(11))[0].closed_until, Some(at(12)), "anew");
}
