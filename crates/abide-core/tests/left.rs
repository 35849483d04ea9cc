//! What an answer says is left of a quota: what bulk leaves of it, and how it is spread.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use abide_core::gate::{GateKey, GateSet, GateSpec};
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::provider::{Admit, Outcome, Pass, Provider, Request, Start};
use abide_core::queue::Urgency;
use abide_core::reserve::Reserve;
use abide_core::spread::Spread;
use abide_core::{Finding, Instant, Reading, Scope};

const fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn machine(change: impl FnOnce(&mut GatePolicy)) -> (Provider, Request) {
    let mut policy = ProviderPolicy::default();
    (policy.provider.gentle, policy.provider.concurrency) = (false, 1_000);
    change(&mut policy.account);
    let mut machine = Provider::new(policy, 1);
    let specs = [Scope::Provider, Scope::Account];
    let specs = specs.map(|scope| GateSpec::new(GateKey(scope as u64 + 1), scope));
    let gates: GateSet = machine.gates(Instant::ORIGIN, &specs);
    (machine, Request::new(gates))
}

fn of(urgency: Urgency, request: &Request) -> Request {
    Request {
        urgency,
        ..request.clone()
    }
}

fn send(machine: &mut Provider, now: Instant, request: &Request) -> Pass {
    let Admit::Go(pass) = machine.admit(now, request) else {
        panic!("it may go at {now:?}");
    };
    let Start::Go(pass) = machine.start(now, pass) else {
        panic!("nothing is held");
    };
    pass
}

/// An answer that says how many of a hundred are left until `until`.
fn left(units: u64, until: Instant) -> Outcome {
    let mut finding = Finding::success();
    finding.readings.push(Reading {
        limit: Some(100),
        remaining: Some(units),
        reset: Some(until),
        ..Reading::default()
    });
    Outcome::Answered(finding)
}

/// When a request that does not go at once will.
fn waits(machine: &mut Provider, now: Instant, request: &Request) -> Instant {
    let Admit::Waiting(ticket) = machine.admit(now, request) else {
        panic!("it waits at {now:?}");
    };
    let at = machine.next_wake().expect("it knows when");
    machine.cancel(now, ticket);
    at
}

#[test]
fn bulk_leaves_a_part_of_what_is_announced_until_its_window_ends() {
    let (mut m, any) = machine(|p| p.reserve = Reserve::Share(20));
    let (bulk, urgent) = (of(Urgency::BULK, &any), of(Urgency::INTERACTIVE, &any));
    let first = send(&mut m, ms(0), &bulk);
    m.settle(ms(10), first, &left(25, ms(5_000)));
    let out: Vec<Pass> = (0..5).map(|_| send(&mut m, ms(20), &bulk)).collect();
    assert_eq!(waits(&mut m, ms(20), &bulk), ms(5_000));
    // They come back, and the window has as little left as before.
    for (n, pass) in (0..).zip(out) {
        m.settle(ms(40), pass, &left(24 - n, ms(5_000)));
    }
    assert_eq!(waits(&mut m, ms(50), &bulk), ms(5_000));
    // All of the rest is for those more urgent, and no more than that.
    let out: Vec<Pass> = (0..20).map(|_| send(&mut m, ms(60), &urgent)).collect();
    assert!(matches!(m.admit(ms(60), &urgent), Admit::Waiting(_)));
    drop(out);
    // With the window the reserve ends.
    assert!(matches!(m.admit(ms(5_000), &bulk), Admit::Waiting(_)));
    m.wake(ms(5_000));
    assert_eq!(m.waiting(), 0);
}

#[test]
fn a_count_is_kept_of_windows_and_not_of_places() {
    let (mut m, any) = machine(|p| {
        p.reserve = Reserve::Units(30);
        p.concurrency = 4;
    });
    let bulk = of(Urgency::BULK, &any);
    let out: Vec<Pass> = (0..4).map(|_| send(&mut m, ms(0), &bulk)).collect();
    for pass in out {
        m.settle(ms(10), pass, &left(31, ms(5_000)));
    }
    let _out = send(&mut m, ms(20), &bulk);
    assert_eq!(waits(&mut m, ms(20), &bulk), ms(5_000));
}

#[test]
fn bulk_leaves_a_part_of_the_places_on_the_wire() {
    let (mut m, any) = machine(|p| {
        p.reserve = Reserve::Share(20);
        p.concurrency = 5;
    });
    let (bulk, urgent) = (of(Urgency::BULK, &any), of(Urgency::INTERACTIVE, &any));
    let mut out: Vec<Pass> = (0..4).map(|_| send(&mut m, ms(0), &bulk)).collect();
    assert!(matches!(m.admit(ms(0), &bulk), Admit::Waiting(_)));
    let _urgent = send(&mut m, ms(1), &urgent);
    // One of five comes back: the one that is kept.
    m.settle(
        ms(10),
        out.remove(0),
        &Outcome::Answered(Finding::success()),
    );
    assert_eq!(m.waiting(), 1);
    m.settle(
        ms(11),
        out.remove(0),
        &Outcome::Answered(Finding::success()),
    );
    assert_eq!(m.waiting(), 0);
}

/// Runs a window of ten seconds of which ten are left, one after the other; returns when each
/// went. `others` spend so many beside each of ours.
fn spread(spread: Spread, others: u64) -> Vec<u64> {
    let (mut m, any) = machine(|p| p.spread = spread);
    let first = send(&mut m, ms(0), &any);
    let mut units = 10;
    m.settle(ms(0), first, &left(units, ms(10_000)));
    let (mut went, mut now) = (Vec::new(), ms(0));
    while units > 0 {
        let pass = match m.admit(now, &any) {
            Admit::Go(pass) => pass,
            Admit::Waiting(ticket) => {
                now = m.next_wake().expect("it knows when");
                m.cancel(now, ticket);
                if now >= ms(10_000) {
                    break;
                }
                let Admit::Go(pass) = m.admit(now, &any) else {
                    panic!("its time has come at {now:?}");
                };
                pass
            }
            Admit::Refuse(r) => panic!("{r:?}"),
        };
        let Start::Go(pass) = m.start(now, pass) else {
            panic!("nothing is held");
        };
        went.push(now.as_nanos() / 1_000_000);
        units = units.saturating_sub(1 + others);
        m.settle(now, pass, &left(units, ms(10_000)));
    }
    went
}

#[test]
fn what_is_left_goes_at_once_unless_it_is_to_be_spread() {
    assert_eq!(spread(Spread::NONE, 0), [0; 10]);
}

#[test]
fn spread_evenly_each_has_its_part_of_the_time_that_is_left() {
    let went = spread(Spread::EVEN, 0);
    let wanted: Vec<u64> = (1..=10).map(|n| 10_000 * n / 11).collect();
    assert_eq!(went.len(), 10);
    for (at, wanted) in went.iter().zip(wanted) {
        assert!(at.abs_diff(wanted) <= 1, "{went:?}");
    }
}

#[test]
fn a_part_may_go_at_once_and_the_rest_is_spread() {
    let went = spread(Spread::at_once(40), 0);
    assert_eq!(went[..4], [0; 4]);
    let gaps: Vec<u64> = went[3..].windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(went.len(), 10);
    for gap in gaps {
        assert!(gap.abs_diff(10_000 / 7) <= 1, "{went:?}");
    }
}

#[test]
fn what_others_spend_widens_the_gaps() {
    let (alone, beside) = (spread(Spread::EVEN, 0), spread(Spread::EVEN, 1));
    assert_eq!(beside.len(), 5, "half of it is theirs: {beside:?}");
    let gaps: Vec<u64> = beside.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.is_sorted(), "{beside:?}");
    assert!(gaps[3] > 2 * (alone[4] - alone[3]), "{beside:?}");
    assert!(beside[4] < 10_000);
}

#[test]
fn a_spread_is_no_limit_that_was_learned() {
    let (mut m, any) = machine(|p| p.spread = Spread::EVEN);
    let first = send(&mut m, ms(0), &any);
    m.settle(ms(10), first, &left(10, ms(10_000)));
    assert!(
        m.records(ms(20))
            .iter()
            .all(|r| r.learned.is_none() && r.interval.is_none())
    );
}

#[test]
fn with_a_reserve_only_bulk_is_spread() {
    let (mut m, any) = machine(|p| {
        p.spread = Spread::EVEN;
        p.reserve = Reserve::Share(20);
    });
    let (bulk, urgent) = (of(Urgency::BULK, &any), of(Urgency::INTERACTIVE, &any));
    let first = send(&mut m, ms(0), &bulk);
    m.settle(ms(0), first, &left(30, ms(10_000)));
    let _out: Vec<Pass> = (0..3).map(|_| send(&mut m, ms(0), &urgent)).collect();
    // Of thirty, twenty are kept and three are out: seven until the end.
    let at = waits(&mut m, ms(0), &bulk).as_nanos() / 1_000_000;
    assert!(at.abs_diff(10_000 / 8) <= 1, "{at}");
}

/// An end told anew with each answer is no new window, of which a part could go at once again.
#[test]
fn an_end_that_moves_grants_nothing_anew() {
    let (mut m, any) = machine(|p| p.spread = Spread::at_once(50));
    let first = send(&mut m, ms(0), &any);
    m.settle(ms(0), first, &left(10, ms(10_000)));
    for n in 1..=5 {
        let pass = send(&mut m, ms(n), &any);
        m.settle(ms(n), pass, &left(10 - n, ms(10_000 + 2_000 * n)));
    }
    assert!(waits(&mut m, ms(6), &any) > ms(2_000));
}
