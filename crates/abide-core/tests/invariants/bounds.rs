//! Nothing is lost, nothing leaks, nothing grows without bound.

use std::time::Duration;

use super::storm::{Storm, Where, for_seeds, ms, policy};
use abide_core::control::Adaptive;
use abide_core::gate::{GateKey, GateSpec, KeyHasher};
use abide_core::hold::{HoldId, SetBy};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Admit, News, Outcome, Provider, Request};
use abide_core::refusal::RefusalKind;
use abide_core::run::{End, Run, RunPolicy};
use abide_core::{Finding, Scope, Verdict};
use fastrand::Rng;

use super::{GUSTS, SEEDS, at};

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
fn nothing_leaks_and_idle_gates_are_forgotten() {
    for_seeds(SEEDS, |seed| {
        let mut p = policy(seed);
        p.remembered_gates = 5;
        // What was learned is kept; here nothing may be.
        for gate in [&mut p.provider, &mut p.account, &mut p.route] {
            gate.adaptive = Adaptive::Off;
        }
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
