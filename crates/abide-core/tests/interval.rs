//! The adaptive interval at the gates of a machine: who waits, who is turned away, and what that
//! costs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::time::Duration;

use abide_core::control::{Adaptive, IntervalPolicy};
use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Admit, Outcome, Pass, Provider, Request, Start};
use abide_core::{Ask, AskSource, Finding, GateClass, Health, Instant, Scope, Verdict};

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn machine() -> (Provider, GateSet) {
    let mut policy = ProviderPolicy::default();
    policy.provider.gentle = false;
    policy.provider.adaptive = Adaptive::Interval(IntervalPolicy::default());
    let mut machine = Provider::new(policy, 1);
    let spec = GateSpec::new(GateKey(1), Scope::Provider);
    let gates = machine.gates(Instant::ORIGIN, [&spec]);
    (machine, gates)
}

fn send(machine: &mut Provider, now: Instant, gates: &GateSet) -> Pass {
    let Admit::Go(pass) = machine.admit(now, &Request::new(*gates)) else {
        panic!("it may go");
    };
    let Start::Go(pass) = machine.start(now, pass) else {
        panic!("nothing is held");
    };
    pass
}

fn refusal() -> Outcome {
    let mut finding = Finding::of(Verdict::RateLimited);
    finding.scope = Scope::Provider;
    finding.holds = true;
    Outcome::Answered(finding)
}

/// A machine that was refused once and has answered since: one request a second.
fn paced() -> (Provider, GateSet) {
    let (mut machine, gates) = machine();
    let pass = send(&mut machine, ms(0), &gates);
    machine.settle(ms(100), pass, &refusal());
    let probe = send(&mut machine, ms(1_100), &gates);
    machine.settle(ms(1_200), probe, &Outcome::Answered(Finding::success()));
    let interval = machine.view(ms(1_200))[0].interval;
    assert_eq!(interval, Some(Duration::from_secs(1)));
    (machine, gates)
}

#[test]
fn seven_siblings_refused_together_are_one_step_and_one_rung() {
    let (mut machine, gates) = machine();
    let passes: Vec<Pass> = (0..7).map(|_| send(&mut machine, ms(0), &gates)).collect();
    for (n, pass) in (0..).zip(passes) {
        machine.settle(ms(100 + n), pass, &refusal());
    }
    let view = &machine.view(ms(200))[0];
    assert_eq!(view.interval, Some(Duration::from_secs(1)));
    // The ladder's first rung is a second, the second one would be two.
    let hold = view.hold.unwrap();
    assert!(hold.until < ms(1_200), "{hold:?}");
    let rung = machine.records(ms(200))[0].rung;
    assert_eq!(rung, Some(0));
}

#[test]
fn a_caller_that_cannot_meet_its_deadline_at_its_slot_uses_up_none() {
    let (mut machine, gates) = paced();
    let mut hasty = Request::new(gates);
    hasty.expires = ms(2_000);
    for _ in 0..5 {
        let Admit::Refuse(refusal) = machine.admit(ms(1_300), &hasty) else {
            panic!("its slot comes too late");
        };
        assert_eq!(refusal.retry_at, Some(ms(2_100)));
    }
    let mut patient = Request::new(gates);
    patient.expires = ms(2_100);
    let Admit::Waiting(_) = machine.admit(ms(1_300), &patient) else {
        panic!("its slot is still there");
    };
    assert_eq!(machine.next_wake(), Some(ms(2_100)));
}

/// What a provider asked for may be shorter than the interval: then the interval is kept, from the
/// refusal on.
#[test]
fn after_a_refusal_nothing_goes_before_a_whole_interval() {
    let (mut machine, gates) = machine();
    let mut short = Finding::of(Verdict::RateLimited);
    (short.scope, short.holds) = (Scope::Provider, true);
    short.asks = vec![Ask {
        until: ms(200),
        source: AskSource::RetryAfter,
        scope: Scope::Provider,
        class: GateClass::PLAIN,
    }];
    let pass = send(&mut machine, ms(0), &gates);
    machine.settle(ms(100), pass, &Outcome::Answered(short));
    let Admit::Waiting(_) = machine.admit(ms(150), &Request::new(gates)) else {
        panic!("it may wait");
    };
    machine.wake(ms(1_000));
    assert_eq!(machine.view(ms(1_000))[0].in_flight, 0);
    machine.wake(ms(1_100));
    assert_eq!(machine.waiting(), 0);
}

#[test]
fn a_neutral_answer_is_no_step_on_the_way_back() {
    let (mut machine, gates) = paced();
    let mut neutral = Finding::success();
    neutral.health = Health::Neutral;
    let mut now = ms(5_000);
    let mut answer = |machine: &mut Provider, finding: &Finding| {
        let pass = send(machine, now, &gates);
        now = now.after(Duration::from_millis(1_100));
        machine.settle(now, pass, &Outcome::Answered(finding.clone()));
        machine.view(now)[0].interval
    };
    // The probe was the first of the row.
    for _ in 0..18 {
        answer(&mut machine, &Finding::success());
    }
    for _ in 0..40 {
        let kept = answer(&mut machine, &neutral);
        assert_eq!(kept, Some(Duration::from_secs(1)));
    }
    let halved = answer(&mut machine, &Finding::success());
    assert_eq!(halved, Some(Duration::from_millis(500)));
}
