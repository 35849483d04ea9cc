//! One request that counts differently at the gates it passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::time::Duration;

use abide_core::finding::BucketId;
use abide_core::gate::{GateKey, GateSpec};
use abide_core::pace::{Sliding, Window};
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::provider::{Action, Admit, Outcome, Pass, Provider, Request, Start};
use abide_core::{Finding, GateClass, Instant, Reading, Scope};

/// Ten points in ten seconds, beside an account without a limit.
fn provider() -> Provider {
    let mut policy = ProviderPolicy::default();
    let mut points = GatePolicy::default();
    points.gentle = false;
    points.windows = vec![Window::from(Sliding::new(10, Duration::from_secs(10)))];
    policy.classes = vec![points];
    Provider::new(policy, 1)
}

fn specs(weight: u32) -> [GateSpec; 2] {
    let mut points = GateSpec::new(GateKey(2), Scope::Account);
    points.class = GateClass::nth(0);
    points.weight = weight;
    [GateSpec::new(GateKey(1), Scope::Provider), points]
}

fn send(p: &mut Provider, now: Instant, weight: u32) -> Option<Pass> {
    let request = Request::new(p.gates(now, &specs(weight)));
    match p.admit(now, &request) {
        Admit::Go(pass) => match p.start(now, pass) {
            Start::Go(pass) => Some(pass),
            Start::Back(_) => None,
        },
        _ => None,
    }
}

fn answered(p: &mut Provider, now: Instant, pass: Pass, cost: Option<u32>) {
    let mut finding = Finding::success();
    if let Some(cost) = cost {
        let reading = Reading {
            class: GateClass::nth(0),
            cost: Some(cost),
            ..Reading::default()
        };
        finding.readings.push(reading);
    }
    p.settle(now, pass, &Outcome::Answered(finding));
}

#[test]
fn a_write_counts_five_where_a_read_counts_one() {
    let mut p = provider();
    let now = Instant::from_secs(100);
    for weight in [5, 1, 1, 1, 1, 1] {
        let pass = send(&mut p, now, weight).unwrap();
        answered(&mut p, now, pass, None);
    }
    assert!(send(&mut p, now, 1).is_none(), "ten points are spent");
    let later = Instant::from_secs(110);
    p.wake(later);
    assert!(matches!(p.poll(), Some(Action::Grant(..))));
}

#[test]
fn one_that_never_fits_is_refused_at_once() {
    let mut p = provider();
    let request = Request::new(p.gates(Instant::from_secs(1), &specs(11)));
    assert!(matches!(
        p.admit(Instant::from_secs(1), &request),
        Admit::Refuse(_)
    ));
}

#[test]
fn an_unsent_one_gets_back_what_it_paid() {
    let mut p = provider();
    let now = Instant::from_secs(100);
    let request = Request::new(p.gates(now, &specs(10)));
    let Admit::Go(pass) = p.admit(now, &request) else {
        panic!("there is room");
    };
    p.settle(now, pass, &Outcome::NotSent);
    assert!(send(&mut p, now, 10).is_some());
}

#[test]
fn sc_p18_a_cost_told_afterwards_is_settled_at_its_gate() {
    let mut p = provider();
    let now = Instant::from_secs(100);
    let pass = send(&mut p, now, 5).unwrap();
    answered(&mut p, now, pass, Some(9));
    assert!(send(&mut p, now, 2).is_none(), "nine of ten are spent");
    let mut p = provider();
    let pass = send(&mut p, now, 5).unwrap();
    answered(&mut p, now, pass, Some(2));
    assert!(send(&mut p, now, 8).is_some(), "two of ten are spent");
}

/// Sends one request through a gate, whose answer names bucket 1.
fn name(p: &mut Provider, now: Instant, spec: GateSpec) {
    let request = Request::new(p.gates(now, &[spec]));
    let Admit::Go(pass) = p.admit(now, &request) else {
        panic!("there is room");
    };
    let Start::Go(pass) = p.start(now, pass) else {
        panic!("nothing closed it");
    };
    let mut finding = Finding::success();
    finding.readings.push(Reading {
        class: GateClass::nth(0),
        bucket: Some(BucketId(1)),
        ..Reading::default()
    });
    p.settle(now, pass, &Outcome::Answered(finding));
}

/// Two names of one bucket pay each for itself while nobody knows, and get back what they paid.
#[test]
fn what_was_paid_under_two_names_comes_back_when_they_are_one() {
    let mut p = provider();
    let now = Instant::from_secs(100);
    let mut a = GateSpec::new(GateKey(2), Scope::Account);
    let mut b = GateSpec::new(GateKey(3), Scope::Account);
    for (spec, weight) in [(&mut a, 2), (&mut b, 5)] {
        spec.class = GateClass::nth(0);
        spec.weight = weight;
        spec.family = 7;
    }
    let request = Request::new(p.gates(now, &[a, b]));
    let Admit::Go(both) = p.admit(now, &request) else {
        panic!("there is room");
    };
    (a.weight, b.weight) = (1, 1);
    name(&mut p, now, a);
    name(&mut p, now, b);
    // Paid: 2 and 5 for both, 1 and 1 for the names, in one window of ten by now.
    p.settle(now, both, &Outcome::NotSent);
    a.weight = 8;
    let request = Request::new(p.gates(now, &[a]));
    assert!(
        matches!(p.admit(now, &request), Admit::Go(_)),
        "two of ten are spent"
    );
    let request = Request::new(p.gates(now, &[b]));
    assert!(
        matches!(p.admit(now, &request), Admit::Waiting(_)),
        "ten of ten are"
    );
}

#[test]
fn one_buckets_name_under_two_credentials_is_two_buckets() {
    let mut p = provider();
    let now = Instant::from_secs(100);
    for (key, family) in [(2, 7), (3, 8)] {
        let mut spec = GateSpec::new(GateKey(key), Scope::Account);
        spec.class = GateClass::nth(0);
        (spec.family, spec.weight) = (family, 10);
        // There is room: the other credential spent nothing of it.
        name(&mut p, now, spec);
    }
}
