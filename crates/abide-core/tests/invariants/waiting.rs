//! Who waits, for how long, and what the others are told.

use std::time::Duration;

use super::storm::{Storm, Where, for_seeds, ms, policy};
use abide_core::budget::{Budget, BudgetPolicy, RepeatCause};
use abide_core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide_core::pace::{Gcra, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Event, Outcome, Request};
use abide_core::refusal::RefusalKind;
use abide_core::{Ask, AskSource, Finding, Instant, Scope, Verdict};
use fastrand::Rng;

use super::{GUSTS, SEEDS, at};

#[test]
fn inv05_waiting_is_bounded_by_its_sum() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..GUSTS {
            storm.blow();
            let now = storm.now;
            for c in storm
                .callers
                .iter()
                .filter(|c| matches!(c.place, Where::Waiting))
            {
                assert!(
                    now < c.request.expires,
                    "it waits beyond {:?}",
                    c.request.expires
                );
                let set = storm.machine.closed_until(now, &c.request.gates);
                let limit = c.request.hold_limit.min(c.request.expires);
                assert!(
                    set.is_none_or(|t| t <= limit),
                    "it waits for a hold it cannot outlast"
                );
            }
        }
    });
}

#[test]
fn inv05_all_waits_of_a_call_together_stay_within_patience() {
    for_seeds(4 * SEEDS, |seed| {
        let rng = &mut Rng::with_seed(seed);
        let mut policy = CallPolicy::default();
        policy.attempts = rng.u32(1..9);
        policy.patience = ms(rng.u64(..40_000));
        policy.deadline = rng.bool().then(|| ms(rng.u64(..60_000)));
        let (patience, deadline) = (policy.patience, policy.deadline);
        let began = at(10);
        let mut now = began;
        let mut call = Call::new(policy, Safety::Read, now);
        let mut budget = Budget::new(BudgetPolicy::default());
        loop {
            let limits = call.asks(now);
            let most = limits.expires.since(now);
            assert!(call.total_waited() + most <= patience);
            if let Some(d) = deadline {
                assert!(limits.expires <= began.after(d));
            }
            // It is let through at any instant it agreed to.
            let until = now.after(most.mul_f64(rng.f64())).max(limits.not_before);
            assert!(until <= limits.expires || limits.not_before <= now);
            now = until.max(now);
            call.sent(now);
            assert!(call.total_waited() <= patience, "{:?}", call.total_waited());
            now = now.after(ms(rng.u64(..100)));
            let mut f = Finding::of(Verdict::Unavailable);
            if rng.bool() {
                f.asks.push(Ask {
                    until: now.after(ms(rng.u64(..20_000))),
                    source: AskSource::RetryAfter,
                    scope: Scope::Request,
                    class: abide_core::GateClass::PLAIN,
                });
            }
            let attempt = Attempt {
                finding: &f,
                retry_on: true,
                cause: RepeatCause::Failure,
                unsent: false,
                kept: true,
            };
            match call.plan(now, &attempt, &mut budget, rng.f64()) {
                Plan::Again => {}
                Plan::Return => panic!("an outage is not an answer"),
                Plan::Fail(_) => break,
            }
        }
    });
}

#[test]
fn inv07_every_refusal_says_when() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..GUSTS {
            let before = storm.refused.len();
            storm.blow();
            for r in &storm.refused[before..] {
                match r.kind {
                    RefusalKind::Held | RefusalKind::BreakerOpen => {
                        let when = r.retry_at.expect("a closing has an end");
                        assert!(r.cause.is_some());
                        assert!(r.ask.is_none_or(|a| when >= a.until));
                    }
                    RefusalKind::QueueTooLong | RefusalKind::QueueFull => {}
                    other => panic!("{other:?} has no place here"),
                }
            }
        }
    });
}

#[test]
fn inv07_the_true_ask_travels_beyond_every_cap() {
    let mut p = ProviderPolicy::default();
    p.account.hold_max = Duration::from_secs(60);
    let mut storm = Storm::new(p, 1);
    let gates = storm.specs[0].clone();
    let request = Request::new(storm.machine.gates(storm.now, &gates));
    storm.admit(gates.clone(), request.clone());
    storm.start(0);
    let year = Duration::from_secs(365 * 86_400);
    let refusal = storm.refusal(0, Scope::Account, year);
    storm.settle(0, &Outcome::Answered(refusal));
    let mut hurried = request;
    hurried.hold_limit = storm.now.after(ms(1_000));
    let told = storm.now.after(year);
    storm.admit(gates, hurried);
    let r = storm.refused.last().unwrap();
    assert_eq!((r.kind, r.retry_at), (RefusalKind::Held, Some(told)));
    let set = storm.machine.gates(storm.now, &storm.specs[0].clone());
    let held = storm.machine.held(storm.now, &set).unwrap();
    assert_eq!(
        held.until,
        storm.now.after(ms(60_000)),
        "but it is not believed"
    );
}

#[test]
fn inv08_rate_limits_are_not_failures() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..200 {
            let gates = storm.specs[0].clone();
            let request = Request::new(storm.machine.gates(storm.now, &gates));
            storm.admit(gates, request);
            while let Some(i) = storm.pick(|p| matches!(p, Where::Granted(_))) {
                storm.start(i);
            }
            if let Some(i) = storm.pick(|p| matches!(p, Where::OnWire(_))) {
                let scope = [Scope::Provider, Scope::Account][storm.rng.usize(..2)];
                let mut refusal = storm.refusal(i, scope, ms(500));
                refusal.verdict = [
                    Verdict::RateLimited,
                    Verdict::QuotaExhausted,
                    Verdict::Banned,
                ][storm.rng.usize(..3)];
                storm.settle(i, &Outcome::Answered(refusal));
            }
            let until = storm.now.after(ms(storm.rng.u64(..700)));
            storm.pass_time(until);
        }
        let opened = |(_, e): &(Instant, Event)| matches!(e, Event::BreakerOpened { .. });
        assert!(
            !storm.events.iter().any(opened),
            "a refusal tripped the breaker"
        );
    });
}

#[test]
fn everybody_ends_once_answers_come() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..GUSTS {
            storm.blow();
        }
        storm.calm(ms(20));
        for view in storm.machine.view(storm.now) {
            assert_eq!((view.in_flight, view.waiting), (0, 0));
        }
    });
}

/// 1,000 waiters at 200 a second, of three urgencies: nobody is woken in vain, nobody of one
/// urgency passes another, and the pace asked for is kept to a hundredth.
#[test]
fn a_thousand_waiters_keep_their_order_and_the_pace() {
    for late in [0, 1] {
        let mut p = ProviderPolicy::default();
        p.provider.gentle = false;
        p.provider.concurrency = u32::MAX;
        p.provider.windows = vec![Window::Gcra(Gcra::per(200, Duration::from_secs(1), 1))];
        let mut storm = Storm::new(p, 1);
        let gates = storm.specs[0].clone();
        for n in 0..1_000_u32 {
            let mut request = Request::new(storm.machine.gates(storm.now, &gates));
            request.urgency = abide_core::queue::Urgency::new([1, 3, 6][n as usize % 3]);
            storm.admit(gates.clone(), request);
        }
        let (began, mut wakes, mut order) = (storm.now, 0_u32, Vec::new());
        let mut served = vec![false; storm.callers.len()];
        loop {
            for (i, served) in served.iter_mut().enumerate() {
                if !*served && matches!(storm.callers[i].place, Where::Granted(_)) {
                    *served = true;
                    order.push(i);
                    storm.start(i);
                    storm.settle(i, &Outcome::Answered(Finding::success()));
                }
            }
            let Some(next) = storm.machine.next_wake() else {
                break;
            };
            // A timer that is late by up to a millisecond.
            let late = ms(late).mul_f64(storm.rng.f64());
            storm.now = storm.now.max(next).after(late);
            storm.machine.wake(storm.now);
            storm.drain();
            wakes += 1;
        }
        assert_eq!(order.len(), 1_000);
        let ideal = ms(999 * 5).as_secs_f64();
        let took = storm.now.since(began).as_secs_f64();
        assert!(
            took >= ideal - 1e-6 && took <= 1.01 * ideal,
            "{took} s for {ideal} s"
        );
        assert!(wakes <= 1_000, "{wakes} wakes");
        for urgency in [0, 1, 2] {
            let same: Vec<usize> = order.iter().copied().filter(|i| i % 3 == urgency).collect();
            assert!(same.is_sorted(), "somebody was passed");
        }
    }
}
