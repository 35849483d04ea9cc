//! What the exploration of the protocol found, and what it rests on, one by one.

use abide_core::hold::HoldId;
use abide_core::{Scope, Verdict};

use super::*;
use crate::lend::Shape;

const S: Duration = Duration::from_secs(1);

/// `s` seconds after the tests' beginning of time.
fn at(s: f64) -> WallTime {
    WallTime::from_unix_nanos(1_800_000_000_000_000_000 + (s * 1e9) as i64)
}

fn key() -> StoreKey {
    StoreKey {
        provider: "p".to_owned(),
        gate: [1; 16],
    }
}

fn gate() -> StoredGate {
    StoredGate {
        key: key(),
        scope: Scope::Provider,
        hold: None,
        rung: None,
        interval: None,
        learned: None,
        failures: 0,
        last_success: None,
        counts: Vec::new(),
        revision: 1,
    }
}

/// A refusal met at `since`.
fn refused(id: u64, since: f64, until: f64, rung: u32) -> StoredGate {
    let hold = StoredHold {
        id: HoldId(id),
        cause: Verdict::RateLimited,
        until: at(until),
        ask: None,
        since: at(since),
        probes: true,
        lifted: false,
    };
    StoredGate {
        hold: Some(hold),
        rung: Some(rung),
        ..gate()
    }
}

/// An answer that came at `ok`.
fn healed(ok: f64) -> StoredGate {
    StoredGate {
        last_success: Some(at(ok)),
        ..gate()
    }
}

fn lifted(mut gate: StoredGate) -> StoredGate {
    if let Some(hold) = &mut gate.hold {
        hold.lifted = true;
    }
    gate
}

fn ask_of(windows: &[Shape], ahead: u32) -> Ask {
    Ask {
        provider: "p".to_owned(),
        gates: vec![GateAsk {
            gate: [1; 16],
            windows: windows.to_vec(),
            cost: 1,
            ahead,
            life: S,
            probe: S * 30,
        }],
    }
}

fn ask(book: &mut Book, now: f64, who: u64) -> Answer {
    book.ask(at(now), who, &ask_of(&[], 0))
}

/// What was lent, of a gate that must lend.
fn lent(answer: Answer) -> Lent {
    match answer {
        Answer::Lent(lent) => lent,
        Answer::NotNow(no) => panic!("{no:?}"),
    }
}

fn why(answer: Answer) -> Why {
    match answer {
        Answer::Lent(lent) => panic!("{lent:?}"),
        Answer::NotNow(no) => no.why,
    }
}

fn rung(book: &Book, now: f64) -> Option<u32> {
    book.told(&key(), at(now)).last().and_then(|g| g.rung)
}

#[test]
fn nothing_is_lent_inside_a_hold() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    let no = ask(&mut book, 9.9, 7);
    assert!(matches!(why(no), Why::Held { id: HoldId(1), .. }));
    assert!(lent(ask(&mut book, 10.0, 7)).grants[0].probe);
}

#[test]
fn one_probe_is_out_among_all() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    lent(ask(&mut book, 10.0, 1));
    assert_eq!(why(ask(&mut book, 10.1, 2)), Why::Probing);
    // Whoever has it may ask again: its answer may have been lost on the way.
    assert!(lent(ask(&mut book, 10.2, 1)).grants[0].probe);
    // It lapses.
    assert_eq!(why(ask(&mut book, 40.1, 2)), Why::Probing);
    assert!(lent(ask(&mut book, 40.2, 2)).grants[0].probe);
}

#[test]
fn an_old_probe_given_back_late_frees_no_place() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    let first = lent(ask(&mut book, 10.0, 1));
    let second = lent(ask(&mut book, 11.0, 1));
    book.take_back(at(12.0), 1, &ask_of(&[], 0), &first);
    assert_eq!(why(ask(&mut book, 12.0, 2)), Why::Probing);
    book.take_back(at(13.0), 1, &ask_of(&[], 0), &second);
    assert!(lent(ask(&mut book, 13.0, 2)).grants[0].probe);
}

#[test]
fn a_refusal_from_before_the_probe_lets_no_second_one_out() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    lent(ask(&mut book, 11.0, 1));
    // Sent before anybody knew of the hold, told of only now.
    book.put(at(12.0), 1, refused(2, 0.5, 10.5, 1));
    // Sent before by somebody else, and answered only now.
    book.put(at(12.0), 3, refused(4, 11.8, 12.0, 1));
    assert_eq!(why(ask(&mut book, 12.0, 2)), Why::Probing);
    // That of the probe itself ends its turn.
    book.put(at(13.0), 1, refused(3, 11.5, 14.0, 2));
    assert!(lent(ask(&mut book, 14.0, 2)).grants[0].probe);
}

#[test]
fn a_hold_that_is_no_refusal_lets_no_second_probe_out() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    lent(ask(&mut book, 10.0, 1));
    let mut spent = refused(2, 10.5, 11.0, 1);
    spent.rung = None;
    book.put(at(10.5), 1, spent);
    assert_eq!(why(ask(&mut book, 11.0, 2)), Why::Probing);
}

#[test]
fn two_who_met_one_refusal_climb_one_rung() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    book.put(at(0.1), 1, refused(2, 0.1, 10.1, 1));
    assert_eq!(rung(&book, 1.0), Some(1));
}

#[test]
fn a_sibling_of_a_refused_probe_takes_no_rung_back() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    book.put(at(11.0), 1, refused(2, 11.0, 20.0, 2));
    // It was on the wire meanwhile, and its process has not heard of the second rung.
    book.put(at(11.1), 1, refused(3, 11.1, 20.0, 1));
    assert_eq!(rung(&book, 12.0), Some(2));
}

#[test]
fn an_answer_after_the_hold_ends_the_episode_and_none_before() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 3));
    book.put(at(5.0), 1, healed(5.0));
    book.put(at(11.0), 1, healed(9.0));
    assert_eq!(rung(&book, 11.0), Some(3));
    book.put(at(11.0), 1, healed(11.0));
    assert_eq!(rung(&book, 11.0), None);
    assert!(!lent(ask(&mut book, 11.0, 1)).grants[0].probe);
}

#[test]
fn a_word_of_an_episode_that_is_over_does_not_begin_it_again() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    book.put(at(11.0), 1, healed(11.0));
    book.put(at(12.0), 1, refused(1, 0.0, 10.0, 1));
    assert_eq!(rung(&book, 12.0), None, "the same hold");
    book.put(at(12.0), 1, refused(2, 1.0, 10.0, 1));
    assert_eq!(rung(&book, 12.0), None, "one that ended before the answer");
    book.put(at(12.0), 1, refused(3, 12.0, 20.0, 1));
    assert_eq!(rung(&book, 12.0), Some(1));
}

#[test]
fn a_lifted_hold_does_not_come_back() {
    let mut book = Book::default();
    book.put(at(0.0), 1, refused(1, 0.0, 10.0, 1));
    book.put(at(1.0), 1, lifted(refused(1, 0.0, 10.0, 1)));
    assert!(lent(ask(&mut book, 1.0, 1)).grants[0].probe, "one probe");
    book.put(at(2.0), 1, refused(1, 0.0, 30.0, 1));
    assert!(lent(ask(&mut book, 2.0, 1)).grants[0].probe);
}

#[test]
fn failures_are_counted_outside_an_episode_too() {
    let failed = |failures, ok| StoredGate {
        failures,
        last_success: Some(at(ok)),
        ..gate()
    };
    let mut book = Book::default();
    let failures = |book: &Book| book.told(&key(), at(9.0))[0].failures;
    book.put(at(0.0), 1, healed(0.0));
    book.put(at(1.0), 1, failed(2, 0.0));
    assert_eq!(failures(&book), 2);
    book.put(at(2.0), 1, failed(1, 0.0));
    assert_eq!(failures(&book), 2, "the others' are not forgotten");
    book.put(at(3.0), 1, healed(3.0));
    assert_eq!(failures(&book), 0);
    // Who has not heard of the success counts since the one before.
    book.put(at(4.0), 1, failed(3, 0.0));
    assert_eq!(failures(&book), 0);
}

#[test]
fn an_empty_store_takes_an_episode_whose_hold_has_ended() {
    let mut book = Book::default();
    // It was asked before it was told.
    lent(ask(&mut book, 0.0, 1));
    let mut word = gate();
    word.rung = Some(2);
    book.put(at(1.0), 1, word);
    assert_eq!(rung(&book, 1.0), Some(2));
    assert!(lent(ask(&mut book, 1.0, 1)).grants[0].probe);
    book.put(at(2.0), 1, healed(2.0));
    assert_eq!(rung(&book, 2.0), None);
}

#[test]
fn a_gate_set_is_paid_together_or_not_at_all() {
    let bucket = |burst| Shape::Bucket { interval: S, burst };
    let mut both = ask_of(&[bucket(5)], 0);
    let mut second = both.gates[0].clone();
    (second.gate, second.windows) = ([2; 16], vec![bucket(1)]);
    both.gates.push(second);
    let mut book = Book::default();
    lent(book.ask(at(0.0), 1, &both));
    for _ in 0..3 {
        let no = book.ask(at(0.0), 1, &both);
        assert!(matches!(no, Answer::NotNow(NotNow { gate: 1, .. })));
    }
    let first = ask_of(&[bucket(5)], 9);
    assert_eq!(lent(book.ask(at(0.0), 1, &first)).grants[0].permits, 4);
}

#[test]
fn who_knows_fewer_limits_resets_none() {
    let day = Shape::Sliding {
        limit: 2,
        period: S * 86_400,
    };
    let bucket = Shape::Bucket {
        interval: Duration::from_millis(1),
        burst: 1,
    };
    let (old, new) = (ask_of(&[bucket], 0), ask_of(&[bucket, day], 0));
    let mut book = Book::default();
    let mut times = 0;
    for n in 0..20 {
        let now = at(f64::from(n));
        lent(book.ask(now, 1, &old));
        let now = at(f64::from(n) + 0.5);
        times += u32::from(matches!(book.ask(now, 2, &new), Answer::Lent(_)));
    }
    assert_eq!(times, 2);
}

#[test]
fn two_ways_to_count_reset_one_another_no_more() {
    let bucket = Shape::Bucket {
        interval: S * 3600,
        burst: 2,
    };
    let sliding = Shape::Sliding {
        limit: 2,
        period: S * 3600,
    };
    let mut book = Book::default();
    let lent = (0..20)
        .filter(|n| {
            let shape = if n % 2 == 0 { bucket } else { sliding };
            let answer = book.ask(at(f64::from(*n)), 1, &ask_of(&[shape], 0));
            matches!(answer, Answer::Lent(_))
        })
        .count();
    assert_eq!(lent, 4, "each as much as it knows of");
}

#[test]
fn a_lease_takes_what_is_there_and_a_probe_one() {
    let bucket = [Shape::Bucket {
        interval: S,
        burst: 5,
    }];
    let mut book = Book::default();
    let lease = lent(book.ask(at(0.0), 1, &ask_of(&bucket, 9)));
    assert_eq!((lease.grants[0].permits, lease.grants[0].life), (5, S));
    book.take_back(at(0.0), 1, &ask_of(&bucket, 9), &lease);
    book.put(at(0.0), 1, refused(1, 0.0, 1.0, 1));
    let probe = lent(book.ask(at(1.0), 1, &ask_of(&bucket, 9)));
    assert_eq!((probe.grants[0].permits, probe.grants[0].probe), (1, true));
}

#[test]
fn whoever_says_nothing_is_a_peer_no_more() {
    let mut book = Book::default();
    assert_eq!(book.greet(at(0.0), 1), 1);
    assert_eq!(book.greet(at(5.0), 2), 2);
    assert_eq!(book.greet(at(9.9), 2), 2);
    assert_eq!(book.greet(at(10.0), 2), 1);
}
