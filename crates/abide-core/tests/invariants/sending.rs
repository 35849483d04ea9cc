//! What goes on the wire, and when.

use super::storm::{Storm, Where, for_seeds, ms, policy};
use abide_core::budget::{Budget, BudgetPolicy, RepeatCause};
use abide_core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide_core::control::Adaptive;
use abide_core::gate::GateKey;
use abide_core::pace::{Gcra, Sliding, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Outcome, Request};
use abide_core::{Ask, AskSource, Finding, Instant, Scope, Verdict};
use fastrand::Rng;

use super::{GUSTS, SEEDS, at};

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
            Window::from(Sliding::new(limit, ms(period))),
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
        (p.provider.adaptive, p.account.adaptive) = (Adaptive::Off, Adaptive::Off);
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
                class: abide_core::GateClass::PLAIN,
            });
        }
        let attempt = Attempt {
            finding: &f,
            retry_on: rng.bool(),
            cause: RepeatCause::Failure,
            unsent: false,
            kept: true,
        };
        let plan = call.plan(at(2), &attempt, &mut budget, rng.f64());
        assert_ne!(plan, Plan::Again, "{f:?}");
    });
}
