//! The invariants of the design, each under the name it has there.
//!
//! A failing seed is printed; `ABIDE_SEED=n cargo test --test invariants` replays it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod storm;

use std::time::Duration;

use abide_core::budget::{Budget, BudgetPolicy, RepeatCause};
use abide_core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide_core::gate::{GateKey, GateSpec, KeyHasher};
use abide_core::hold::{HoldId, SetBy};
use abide_core::pace::{Gcra, Sliding, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Admit, Event, News, Outcome, Provider, Request};
use abide_core::refusal::RefusalKind;
use abide_core::run::{End, Run, RunPolicy};
use abide_core::{Ask, AskSource, Finding, Instant, Scope, Verdict};
use fastrand::Rng;
use storm::{Storm, Where, for_seeds, ms, policy};

const SEEDS: u64 = 800;
const GUSTS: usize = 120;

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

#[test]
fn inv01_no_send_inside_a_hold() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..GUSTS {
            let before = storm.starts.len();
            let silence = storm.silence.clone();
            storm.blow();
            for (when, keys) in &storm.starts[before..] {
                for key in keys {
                    let until = silence.get(key).copied().unwrap_or_default();
                    assert!(
                        *when >= until,
                        "sent at {when:?} through {key:?}, held to {until:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn inv02_never_early() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        for _ in 0..GUSTS {
            storm.blow();
            let now = storm.now;
            for c in &storm.callers {
                if matches!(c.place, Where::Granted(_)) {
                    assert!(
                        now >= c.request.not_before,
                        "let go before its backoff was over"
                    );
                }
            }
        }
    });
}

/// What really goes out obeys every window, whoever comes back unsent.
#[test]
fn inv02_the_pace_is_never_exceeded() {
    for_seeds(SEEDS, |seed| {
        let rng = &mut Rng::with_seed(seed);
        let (interval, burst) = (rng.u64(1..200), rng.u32(1..5));
        let (limit, period) = (rng.u32(1..9), rng.u64(50..2_000));
        let mut p = ProviderPolicy::default();
        p.provider.gentle = false;
        p.provider.concurrency = u32::MAX;
        p.provider.windows = vec![
            Window::Gcra(Gcra::new(ms(interval), burst)),
            Window::Sliding(Sliding::new(limit, ms(period))),
        ];
        let mut storm = Storm::new(p, seed);
        for _ in 0..GUSTS {
            let (gates, mut request) = storm.request();
            request.not_before = Instant::ORIGIN;
            storm.admit(gates, request);
            let until = storm.now.after(ms(rng.u64(..2 * interval)));
            loop {
                while let Some(i) = storm.pick(|p| matches!(p, Where::Granted(_))) {
                    if rng.u8(..4) == 0 {
                        storm.settle(i, &Outcome::NotSent);
                    } else {
                        storm.start(i);
                    }
                }
                match storm.machine.next_wake().filter(|at| *at <= until) {
                    Some(next) => storm.pass_time(next),
                    None => break,
                }
            }
            storm.pass_time(until);
        }
        let sends: Vec<u64> = storm.starts.iter().map(|(t, _)| t.as_nanos()).collect();
        for (i, from) in sends.iter().enumerate() {
            let within = |span: u64| sends[i..].iter().filter(|t| **t < from + span).count() as u64;
            assert!(
                within(period * 1_000_000) <= u64::from(limit),
                "the sliding window"
            );
            for n in 1..10 {
                // `burst` at once and one more each interval.
                let span = n * interval * 1_000_000;
                assert!(within(span) < u64::from(burst) + n, "the bucket");
            }
        }
    });
}

#[test]
fn inv03_a_hold_only_lengthens() {
    for_seeds(SEEDS, |seed| {
        let mut storm = Storm::new(policy(seed), seed);
        let mut held: std::collections::HashMap<GateKey, Instant> = Default::default();
        for _ in 0..GUSTS {
            storm.blow();
            let now = storm.now;
            let views = storm.machine.view(now);
            for view in &views {
                let until = view.hold.map(|h| h.until).unwrap_or_default();
                let before = held.insert(view.key, until.max(now)).unwrap_or_default();
                assert!(
                    until >= before || before <= now,
                    "{before:?} became {until:?}"
                );
            }
        }
    });
}

#[test]
fn inv03_an_answer_to_an_older_request_clears_nothing() {
    let mut storm = Storm::new(ProviderPolicy::default(), 1);
    for _ in 0..2 {
        let (gates, _) = storm.request();
        let request = Request::new(storm.machine.gates(storm.now, &gates));
        storm.admit(gates, request);
    }
    storm.start(0);
    storm.start(1);
    let refusal = storm.refusal(0, Scope::Provider, ms(5_000));
    storm.settle(0, &Outcome::Answered(refusal));
    storm.settle(1, &Outcome::Answered(Finding::success()));
    let view = storm.machine.view(storm.now);
    let provider = view.iter().find(|v| v.scope == Scope::Provider).unwrap();
    assert!(provider.hold.is_some() && provider.in_episode);
}

#[test]
fn inv04_no_herd() {
    for_seeds(SEEDS, |seed| {
        let mut p = ProviderPolicy::default();
        p.provider.concurrency = 32;
        p.provider.gentle = false;
        // A slow pace would hide a herd.
        (p.provider.adaptive, p.account.adaptive) = (false, false);
        let mut storm = Storm::new(p, seed);
        let gates = storm.specs[0].clone();
        for _ in 0..40 {
            let request = Request::new(storm.machine.gates(storm.now, &gates));
            storm.admit(gates.clone(), request);
        }
        while let Some(i) = storm.pick(|p| matches!(p, Where::Granted(_))) {
            storm.start(i);
        }
        let rounds = storm.rng.usize(1..5);
        for _ in 0..rounds {
            // All on the wire are refused, one after the other.
            while let Some(i) = storm.pick(|p| matches!(p, Where::OnWire(_))) {
                let wait = ms(storm.rng.u64(1..3_000));
                let refusal = storm.refusal(i, Scope::Account, wait);
                storm.settle(i, &Outcome::Answered(refusal));
            }
            let end = *storm.silence.values().max().unwrap();
            let before = storm.starts.len();
            storm.pass_time(end.after(ms(500)));
            while let Some(i) = storm.pick(|p| matches!(p, Where::Granted(_))) {
                storm.start(i);
            }
            assert_eq!(storm.starts.len() - before, 1, "one probe and nobody else");
        }
    });
}

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
                });
            }
            let attempt = Attempt {
                finding: &f,
                retry_on: true,
                cause: RepeatCause::Failure,
                unsent: false,
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
fn inv06_writes_are_sent_once() {
    let verdicts = [
        Verdict::Success,
        Verdict::NotFound,
        Verdict::ClientError,
        Verdict::AuthError,
        Verdict::Offline,
        Verdict::Unavailable,
        Verdict::RateLimited,
        Verdict::QuotaExhausted,
        Verdict::Banned,
    ];
    for_seeds(4 * SEEDS, |seed| {
        let rng = &mut Rng::with_seed(seed);
        let mut call = Call::new(CallPolicy::default(), Safety::Write, at(1));
        let mut budget = Budget::new(BudgetPolicy::default());
        call.asks(at(1));
        call.sent(at(1));
        let mut f = Finding::of(verdicts[rng.usize(..verdicts.len())]);
        f.holds = rng.bool();
        f.scope = [Scope::Request, Scope::Provider][rng.usize(..2)];
        if rng.bool() {
            f.asks.push(Ask {
                until: at(rng.u64(..40)),
                source: AskSource::Body,
                scope: f.scope,
            });
        }
        let attempt = Attempt {
            finding: &f,
            retry_on: rng.bool(),
            cause: RepeatCause::Failure,
            unsent: false,
        };
        let plan = call.plan(at(2), &attempt, &mut budget, rng.f64());
        assert_ne!(plan, Plan::Again, "{f:?}");
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
fn inv10_every_item_ends_exactly_once() {
    for_seeds(SEEDS, |seed| {
        let rng = &mut Rng::with_seed(seed);
        let mut policy = RunPolicy::default();
        policy.concurrency = rng.u32(1..6);
        policy.streak = rng.u32(1..5);
        let mut run = Run::new(policy);
        let lanes: Vec<_> = (0..rng.usize(1..4)).map(|_| run.lane()).collect();
        let items = rng.u32(1..80);
        for item in 0..items {
            run.add(lanes[rng.usize(..lanes.len())], item, rng.u8(..3));
        }
        let mut ends = vec![0_u32; items as usize];
        let mut hand = Vec::new();
        let mut now = at(1);
        for _ in 0..100_000 {
            if run.pending() == 0 && run.in_hand() == 0 {
                break;
            }
            assert_eq!(hand.len(), run.in_hand());
            if rng.bool()
                && let Some(taken) = run.take(now)
            {
                hand.push(taken);
            }
            if let Some((_, item, _)) = run.take_stopped() {
                ends[item as usize] += 1;
            }
            if !hand.is_empty() && rng.bool() {
                let (lane, item) = hand.swap_remove(rng.usize(..hand.len()));
                match rng.u8(..8) {
                    0 => {
                        run.put_back(lane, item, 3);
                        continue;
                    }
                    1 => {
                        let until = now.after(ms(rng.u64(..60_000)));
                        let _ = run.closed(now, lane, until, ms(300_000));
                        let _ = run.refused(now, lane, item, until);
                        hand.push((lane, item));
                        continue;
                    }
                    2 => run.end(now, lane, item, &End::Failed),
                    3 => {
                        use abide_core::refusal::{DecidedBy, Refusal};
                        let mut r = Refusal::new(RefusalKind::Held, DecidedBy::Provider);
                        r.cause = Some(Verdict::RateLimited);
                        run.end(now, lane, item, &End::Refused(Box::new(r)));
                    }
                    4 => {
                        let end = End::Unavailable {
                            open: rng.bool(),
                            retry_at: None,
                        };
                        run.end(now, lane, item, &end);
                    }
                    _ => run.end(now, lane, item, &End::Answered),
                }
                ends[item as usize] += 1;
            }
            now = match run.next_opening(now) {
                Some(t) if hand.is_empty() => t,
                _ => now.after(ms(rng.u64(..500))),
            };
        }
        assert!(ends.iter().all(|n| *n == 1), "{ends:?}");
    });
}

#[test]
fn inv11_secrets_stay_inside() {
    let secret = b"Bearer sk-live-0123456789";
    let (a, b) = (KeyHasher::new((1, 2)), KeyHasher::new((3, 4)));
    let key = a.key(Scope::Account, &[b"example.com", secret]);
    assert_ne!(
        key,
        b.key(Scope::Account, &[b"example.com", secret]),
        "the seed counts"
    );
    let mut machine = Provider::new(ProviderPolicy::default(), 1);
    let set = machine.gates(at(1), &[GateSpec::new(key, Scope::Account)]);
    let _ = machine.admit(at(1), &Request::new(set));
    let shown = format!(
        "{machine:?} {:?} {:?}",
        machine.view(at(1)),
        machine.records(at(1))
    );
    assert!(!shown.contains("sk-live"));
}

#[test]
fn inv12_bounded() {
    let mut p = ProviderPolicy::default();
    p.remembered_gates = 50;
    p.waiting_calls = 20;
    p.provider.concurrency = 1;
    let mut machine = Provider::new(p, 1);
    let mut passes = Vec::new();
    let (mut full, mut waiting) = (0, 0);
    for n in 0..1_000 {
        let specs = [
            GateSpec::new(GateKey(1), Scope::Provider),
            GateSpec::new(GateKey(100 + n), Scope::Account),
        ];
        let set = machine.gates(at(1), &specs);
        match machine.admit(at(1), &Request::new(set)) {
            Admit::Go(pass) => passes.push(pass),
            Admit::Waiting(_) => waiting += 1,
            Admit::Refuse(r) => {
                assert_eq!(r.kind, RefusalKind::QueueFull);
                full += 1;
            }
        }
    }
    assert_eq!((passes.len(), waiting, full), (1, 20, 979));
    assert!(
        machine.view(at(1)).len() <= 50 + 4,
        "{} gates",
        machine.view(at(1)).len()
    );
    assert_eq!(machine.waiting(), 20);
}

#[test]
fn inv12_lifts_are_remembered_within_bounds() {
    let mut machine = Provider::new(ProviderPolicy::default(), 1);
    let spec = GateSpec::new(GateKey(1), Scope::Provider);
    for n in 0..100_000 {
        machine.learn(
            at(1),
            spec,
            News::Lifted {
                id: Some(HoldId(n)),
            },
        );
    }
    let small = format!("{machine:?}").len();
    assert!(small < 200_000, "{small} bytes of lifts");
    // The newest is still known: its echo brings nothing back.
    machine.learn(
        at(2),
        spec,
        News::Held {
            id: Some(HoldId(99_999)),
            until: at(60),
            cause: Verdict::RateLimited,
            ask: None,
            set_by: SetBy::Shared,
            probes: true,
        },
    );
    let set = machine.gates(at(2), &[spec]);
    assert!(machine.held(at(2), &set).is_none());
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

#[test]
fn nothing_leaks_and_idle_gates_are_forgotten() {
    for_seeds(SEEDS, |seed| {
        let mut p = policy(seed);
        p.remembered_gates = 5;
        // What was learned is kept; here nothing may be.
        (p.provider.adaptive, p.account.adaptive, p.route.adaptive) = (false, false, false);
        let mut storm = Storm::new(p, seed);
        for _ in 0..GUSTS {
            storm.blow();
        }
        while let Some(i) = storm.pick(|p| !matches!(p, Where::Over)) {
            match storm.rng.u8(..3) {
                0 => storm.cancel(i),
                1 => storm.start(i),
                _ => storm.settle(i, &Outcome::Cancelled { sent: true }),
            }
            if matches!(storm.callers[i].place, Where::OnWire(_)) {
                storm.settle(i, &Outcome::Answered(Finding::success()));
            }
        }
        storm.now = storm.now.after(Duration::from_secs(86_400));
        // One answer ends whatever episodes are left.
        let gates = storm.specs.clone();
        for g in gates {
            let request = Request::new(storm.machine.gates(storm.now, &g));
            storm.admit(g, request);
            storm.calm(ms(1));
        }
        storm.now = storm.now.after(Duration::from_secs(86_400));
        for n in 0..20 {
            let key = GateKey(9_000 + n);
            let _ = storm
                .machine
                .gates(storm.now, &[GateSpec::new(key, Scope::Account)]);
            assert!(storm.machine.knows(key), "no room for the {n}th newcomer");
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
