//! What a learner must keep whatever it meets; how well it learns is held in simulations.

use super::*;

const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Accepts one request every `every` ms from `from` on, `count` times; returns when the last came
/// back.
fn accepted(l: &mut Learner, from: u64, every: u64, count: u64) -> u64 {
    for n in 0..count {
        let sent = from + n * every;
        l.sent(at(sent), 1);
        l.answered(at(sent + 20), at(sent), false);
    }
    from + (count - 1) * every + 20
}

fn refused(l: &mut Learner, ms: u64) {
    l.sent(at(ms), 1);
    l.refused(at(ms + 20), at(ms), true);
    l.resumed(at(ms + 1_040));
}

#[test]
fn a_request_an_hour_for_weeks_is_looked_through_at_once() {
    let mut l = Learner::default();
    let mut now = 0;
    for _ in 0..6 {
        now = accepted(&mut l, now, 3_600_000, 150);
        refused(&mut l, now + 100);
        now += 3_600_000;
    }
    assert!(l.interval().is_some());
}

#[test]
fn what_the_wire_limits_is_not_climbed_for_ever() {
    let mut l = Learner::default();
    accepted(&mut l, 0, 20, 10);
    refused(&mut l, 300);
    // Ten minutes at fifty a second, always with somebody waiting: the pace is not what holds them.
    accepted(&mut l, 2_000, 20, 30_000);
    let interval = l.interval().unwrap();
    assert!(interval >= Duration::from_millis(4), "{interval:?}");
}

#[test]
fn sc_j09_refusals_without_end_keep_a_floor() {
    let mut l = Learner::default();
    for n in 0..1_000 {
        refused(&mut l, n * 10_000);
    }
    assert!(l.interval().unwrap() <= Duration::from_secs(60));
}

#[test]
fn inert_until_the_first_refusal() {
    let mut l = Learner::default();
    accepted(&mut l, 0, 1, 1_000);
    assert_eq!((l.interval(), l.places() > 1_000), (None, true));
}

#[test]
fn callers_that_left_are_under_way_for_a_while_only() {
    let mut l = Learner::default();
    for n in 0..100 {
        l.sent(at(n * 10), 1);
    }
    accepted(&mut l, 10_000, 20, 10);
    let seen = l.history.evidence(Duration::from_secs(2));
    assert_eq!((seen.open.len(), seen.good.len()), (0, 10));
}
