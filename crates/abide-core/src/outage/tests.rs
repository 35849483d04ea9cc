use super::*;
use crate::classify::{Phase, TransportKind};

const A: &str = "a.example";
const B: &str = "b.example";

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

fn new() -> Outage {
    Outage::new(OutagePolicy::default())
}

const fn of(kind: TransportKind) -> Transport {
    Transport {
        phase: Phase::Connect,
        kind,
    }
}

fn fails(o: &mut Outage, s: u64, host: &str, kind: TransportKind) -> bool {
    o.failed(at(s), host, &of(kind), None);
    o.is_offline()
}

const OURS: [TransportKind; 4] = [
    TransportKind::Dns,
    TransportKind::NoNetwork,
    TransportKind::Timeout,
    TransportKind::Unreachable,
];
const THEIRS: [TransportKind; 4] = [
    TransportKind::Other,
    TransportKind::Refused,
    TransportKind::Reset,
    TransportKind::Tls,
];

/// Offline since 10 s; the first probe goes at 11 s.
fn offline() -> Outage {
    let mut o = new();
    assert!(!fails(&mut o, 9, A, TransportKind::Timeout));
    assert!(fails(&mut o, 10, B, TransportKind::Dns));
    o
}

fn not_before(o: &Outage, s: u64) -> Instant {
    match o.news(at(s)).network {
        Network::Offline { not_before, .. } => not_before,
        Network::Online => panic!("we are offline"),
    }
}

fn probe(o: &mut Outage, s: u64) -> OutageProbe {
    match o.lease(at(s)) {
        Leave::Probe(p) => p,
        other => panic!("{other:?}"),
    }
}

#[test]
fn inv09_two_hosts_within_the_window_at_a_cold_start() {
    for first in OURS {
        for second in OURS {
            let mut o = new();
            // No way out of here is enough alone where nothing else is known.
            let alone = first == TransportKind::NoNetwork;
            assert_eq!(fails(&mut o, 0, A, first), alone);
            assert!(fails(&mut o, 29, B, second), "{first:?} {second:?}");
        }
    }
}

#[test]
fn inv09_one_dead_host_is_its_own_affair() {
    let mut o = new();
    for s in 0..1000 {
        for kind in [
            TransportKind::Timeout,
            TransportKind::Unreachable,
            TransportKind::Dns,
        ] {
            assert!(!fails(&mut o, s, A, kind));
        }
    }
}

#[test]
fn inv09_what_comes_from_the_other_side_never_counts() {
    let mut o = new();
    for s in 0..100 {
        for kind in THEIRS {
            assert!(!fails(&mut o, s, A, kind));
            assert!(!fails(&mut o, s, B, kind));
        }
    }
    assert!(
        !fails(&mut o, 100, A, TransportKind::Timeout),
        "they left no trace"
    );
}

#[test]
fn inv09_a_body_that_stands_still_is_no_evidence() {
    let mut o = new();
    let cut = Transport {
        phase: Phase::Body,
        kind: TransportKind::Timeout,
    };
    for host in [A, B] {
        assert!(!o.failed(at(0), host, &cut, None));
    }
}

#[test]
fn inv09_hosts_farther_apart_than_the_window_are_two_affairs() {
    let mut o = new();
    assert!(!fails(&mut o, 0, A, TransportKind::Timeout));
    assert!(!fails(&mut o, 31, B, TransportKind::Timeout));
    assert!(fails(&mut o, 61, A, TransportKind::Timeout));
}

#[test]
fn inv09_an_answer_in_between_proves_the_network_well() {
    let mut o = new();
    assert!(!fails(&mut o, 0, A, TransportKind::Timeout));
    o.answered(at(1), "c.example");
    assert!(!fails(&mut o, 2, B, TransportKind::Timeout));
    assert!(fails(&mut o, 3, A, TransportKind::Timeout));
}

#[test]
fn inv09_after_a_quiet_hour_the_first_failure_counts() {
    let mut o = new();
    o.answered(at(0), A);
    assert!(!fails(&mut o, 3600, A, TransportKind::Timeout));
    assert!(fails(&mut o, 3601, B, TransportKind::Timeout));
    let Network::Offline { since, .. } = o.news(at(3601)).network else {
        panic!("we are offline");
    };
    assert_eq!(
        since,
        at(3571),
        "what failed within the window is taken back"
    );
}

#[test]
fn inv09_with_one_host_only_no_way_out_or_a_neutral_name_is_enough() {
    assert!(fails(&mut new(), 0, A, TransportKind::NoNetwork));
    for kind in [TransportKind::Timeout, TransportKind::Unreachable] {
        let mut o = new();
        o.neutral_dns_failed(at(0));
        assert!(!fails(&mut o, 0, A, kind), "{kind:?}");
    }
    for name_first in [false, true] {
        let mut o = new();
        for step in [name_first, !name_first] {
            assert!(!o.is_offline());
            match step {
                true => o.neutral_dns_failed(at(1)),
                false => o.failed(at(1), A, &of(TransportKind::Dns), None),
            };
        }
        assert!(o.is_offline());
    }
}

#[test]
fn inv09_no_way_to_one_host_is_no_outage_while_another_answers() {
    let mut o = new();
    o.answered(at(0), B);
    o.answered(at(5), A);
    assert!(
        !fails(&mut o, 10, A, TransportKind::NoNetwork),
        "an address of the other kind"
    );
    assert!(fails(&mut o, 31, A, TransportKind::NoNetwork));
}

#[test]
fn this_machine_is_neither_evidence_nor_proof() {
    let mut o = new();
    for host in ["127.0.0.1", "localhost", "::1"] {
        assert!(!fails(&mut o, 0, host, TransportKind::NoNetwork));
    }
    let mut o = offline();
    assert!(!o.answered(at(11), "127.0.0.1"));
    assert!(o.is_offline());
}

#[test]
fn one_probe_at_a_time_spaced_by_a_ladder_of_its_own() {
    let mut o = offline();
    assert_eq!(o.lease(at(10)), Leave::Wait);
    let mut now = 11;
    for wait in [2, 4, 8, 16, 30, 30] {
        let p = probe(&mut o, now);
        assert_eq!(o.lease(at(now)), Leave::Wait, "it is out");
        assert!(o.failed(at(now), A, &of(TransportKind::Timeout), Some(p)));
        assert_eq!(not_before(&o, now), at(now + wait));
        assert_eq!(o.lease(at(now + wait - 1)), Leave::Wait);
        now += wait;
    }
}

#[test]
fn what_was_on_the_wire_before_neither_prolongs_nor_ends_it() {
    let mut o = offline();
    for kind in OURS.into_iter().chain(THEIRS) {
        assert!(!o.failed(at(10), A, &of(kind), None));
    }
    assert_eq!(not_before(&o, 10), at(11));
}

#[test]
fn the_first_answer_of_anyone_ends_it() {
    let mut o = offline();
    assert!(o.answered(at(10), "c.example"));
    assert_eq!(o.lease(at(10)), Leave::Online);
    assert!(
        !fails(&mut o, 11, A, TransportKind::Timeout),
        "and it begins anew"
    );
}

#[test]
fn a_probe_that_got_farther_than_our_network_ends_it() {
    for kind in THEIRS {
        let mut o = offline();
        let p = probe(&mut o, 11);
        assert!(o.failed(at(11), A, &of(kind), Some(p)));
        assert!(!o.is_offline(), "{kind:?}");
    }
}

#[test]
fn a_probe_that_nobody_waits_for_makes_room_for_the_next() {
    let mut o = offline();
    let p = probe(&mut o, 11);
    assert!(o.give_back(at(11), p, false));
    let p = probe(&mut o, 11);
    assert!(o.give_back(at(12), p, true));
    assert_eq!(o.lease(at(12)), Leave::Wait);
    let lost = probe(&mut o, 13);
    let next = probe(&mut o, 73);
    assert!(!o.give_back(at(73), lost, true), "its lease has lapsed");
    assert_eq!(o.lease(at(73)), Leave::Wait);
    assert!(o.give_back(at(74), next, false));
}

#[test]
fn news_are_in_order() {
    let mut o = offline();
    let mut last = o.news(at(10)).revision;
    let mut later = |o: &Outage| {
        let revision = o.news(at(11)).revision;
        assert!(revision > last);
        last = revision;
    };
    let p = probe(&mut o, 11);
    later(&o);
    o.failed(at(11), A, &of(TransportKind::Dns), Some(p));
    later(&o);
    o.answered(at(11), A);
    later(&o);
}
